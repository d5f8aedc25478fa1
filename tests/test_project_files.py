"""Files for those who join: they agree with the project, run its own gates, and name no person or host that does not exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FILES = (
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
    ".pre-commit-config.yaml",
    ".github/PULL_REQUEST_TEMPLATE.md",
    ".github/ISSUE_TEMPLATE/wrong_result.md",
    ".github/ISSUE_TEMPLATE/new_capability.md",
    ".github/workflows/check.yml",
)


def parsed(name: str):
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra docs")
    return yaml.safe_load((ROOT / name).read_text("utf-8"))


@pytest.mark.parametrize("name", FILES)
def test_no_person_and_no_host_is_invented(name):
    text = (ROOT / name).read_text("utf-8")
    assert text.strip() and not re.search(r"https?://|\w@\w+\.\w", text)


def test_the_citation_is_that_of_the_project():
    citation = parsed("CITATION.cff")
    assert citation["version"] == PROJECT["version"] and citation["license"] == PROJECT["license"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in PROJECT["authors"]]


def test_hooks_run_the_gates_of_make_check():
    hooks = [hook for repository in parsed(".pre-commit-config.yaml")["repos"] for hook in repository["hooks"]]
    gates = re.search(r"^check: (.*?) *##", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert gates is not None
    assert [hook["entry"] for hook in hooks] == [f"make {gate}" for gate in gates[1].split()]


def test_the_workflow_runs_the_entry_of_ci():
    jobs = parsed(".github/workflows/check.yml")["jobs"]
    assert [step["run"] for step in jobs["linux"]["steps"] if "run" in step] == [".ci/run"]
    assert (ROOT / ".ci" / "run").is_file()
    for job in jobs.values():
        assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert jobs["other-platforms"]["continue-on-error"] is True
