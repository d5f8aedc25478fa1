"""The lock file is complete, current and names no host; a set-up that cannot meet it says so and goes on."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def lock() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lock", ROOT / "tools" / "lock.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["lock"] = module  # data classes look their module up
    spec.loader.exec_module(module)
    return module


def test_the_lock_is_current_and_complete(lock: ModuleType) -> None:
    text = lock.LOCK.read_text(encoding="utf-8")
    assert f"# ranges {lock.ranges_digest()}" in text, "pyproject.toml has changed: make update"
    found = lock.entries(text)
    assert len(found) == len(re.findall("==", text)) > 50
    assert sum(len(entry.hashes) for entry in found) == text.count("--hash=sha256:")
    assert not re.search(r"https?:|file:|index-url|find-links|@", text)
    again = text.splitlines()[:2]
    assert "\n".join([*again, *(entry.text() for entry in found), ""]) == text
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = lock.tomllib.load(file)["project"]
    direct = {lock.normalized(re.match(r"[\w.-]+", line)[0]) for line in project["dependencies"]}
    assert direct <= {entry.name for entry in found if "runtime" in entry.sets}
    assert {"pytest", "hypothesis", "pandas"} <= {entry.name for entry in found if "test" in entry.sets}
    assert not {"pandas", "xarray", "pyarrow", "numba"} & {entry.name for entry in found if "runtime" in entry.sets}


def test_hashes_on_a_page(lock: ModuleType) -> None:
    """All wheels of a version, by whatever spelling of the name; other versions with the same beginning are left out."""
    names = ["A_b-1.0-py3-none-any.whl", "a_b-1.0-cp311-cp311-win_amd64.whl", "a-b-1.0.tar.gz", "a_b-1.0.1-py3-none-any.whl"]
    digests = {name: hashlib.sha256(name.encode()).hexdigest() for name in names}
    page = "\n".join(f'<a href="https://host/x/{name}#sha256={digest}" data-x="y">{name}</a>' for name, digest in digests.items())
    wheels, sources = lock.hashes_of(page, "a-b", "1.0")
    assert wheels == [digests[name] for name in names[:2]] and sources == [digests[names[2]]]
    with pytest.raises(SystemExit, match="no hash of a-b 2"):
        lock.hashes_of(page, "a-b", "2")


def called_instead(lock: ModuleType, monkeypatch: pytest.MonkeyPatch, status: int) -> list[list[str]]:
    calls: list[list[str]] = []

    def run(command: list[str], **how: object) -> SimpleNamespace:
        calls.append(command)
        return SimpleNamespace(
            returncode=status if "--require-hashes" in command else 0, stderr="noise\nERROR: no such wheel", stdout=""
        )

    monkeypatch.setattr(lock.subprocess, "run", run)
    return calls


def test_a_set_is_installed_with_hashes(
    lock: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = called_instead(lock, monkeypatch, 0)
    lock.install("runtime")
    assert ["--require-hashes" in call for call in calls] == [True, False, False]
    assert calls[1][-1] == "check"  # nothing was resolved
    assert all("--no-deps" in calls[k] for k in (0, 2)) and calls[2][-1] == str(ROOT)
    assert capsys.readouterr().err == ""


def test_several_sets_are_shared_out_among_calls(lock: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """What each of them needs, once; calls side by side have no package in common."""
    wanted: list[set[str]] = []
    monkeypatch.setattr(lock.os, "cpu_count", lambda: 3)

    def run(command: list[str], **how: object) -> SimpleNamespace:
        if "--require-hashes" in command:
            wanted.append(set(re.findall(r"^([\w.-]+)==", Path(command[-1]).read_text("utf-8"), re.MULTILINE)))
        return SimpleNamespace(returncode=0, stderr="", stdout="")

    monkeypatch.setattr(lock.subprocess, "run", run)
    found = []
    for names in (("dev",), ("robots",), ("dev", "robots")):
        wanted.clear()
        lock.install(*names)
        assert len(wanted) == 3
        found.append(set.union(*wanted))
        assert len(found[-1]) == sum(map(len, wanted))
    dev, robots, both = found
    assert both == dev | robots and "mypy" in both - robots and "mujoco" in both - dev
    calls = called_instead(lock, monkeypatch, 1)
    lock.install("runtime", "dev", "robots")
    assert calls[-1][-1] == f"{ROOT}[dev,test,robots]"


def test_what_cannot_be_met_is_said(
    lock: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = called_instead(lock, monkeypatch, 1)
    lock.install("test")
    assert calls[-1][-1] == f"{ROOT}[test]" and "--no-deps" not in calls[-1]
    assert re.search(r"cannot be met here \(Python .*\): ERROR: no such wheel\nGoing on with the ranges", capsys.readouterr().err)


def test_a_package_more_is_said(lock: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Another platform may need what the lock does not name."""

    def run(command: list[str], **how: object) -> SimpleNamespace:
        missing = "check" in command
        said = "tqdm 4.67 requires colorama, which is not installed.\n" if missing else ""
        return SimpleNamespace(returncode=int(missing), stderr="", stdout=said)

    monkeypatch.setattr(lock.subprocess, "run", run)
    lock.install("runtime")
    assert "requires colorama, which is not installed.\nGoing on with the ranges" in capsys.readouterr().err


def test_an_old_or_absent_lock_is_said(
    lock: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = called_instead(lock, monkeypatch, 0)
    monkeypatch.setattr(lock, "LOCK", tmp_path / "requirements.lock")
    lock.install("runtime")
    assert "there is no such file; `make update` writes it" in capsys.readouterr().err
    lock.LOCK.write_text("# ranges of another time\n", encoding="utf-8")
    lock.install("runtime")
    assert "other ranges than it was made for; `make update` renews it" in capsys.readouterr().err
    assert not any("--require-hashes" in call for call in calls) and len(calls) == 2


@pytest.mark.long
def test_pip_reads_it(lock: ModuleType, tmp_path: Path) -> None:
    """pip takes the chosen entries as they are written, and finds every package with one of the hashes."""
    if f"with {lock.here()}." not in lock.LOCK.read_text(encoding="utf-8"):
        pytest.skip(f"the lock was made elsewhere, not with {lock.here()}")
    chosen = [entry.text() for entry in lock.entries(lock.LOCK.read_text(encoding="utf-8")) if "runtime" in entry.sets]
    (tmp_path / "chosen.txt").write_text("\n".join(chosen), encoding="utf-8")
    how = ["--dry-run", "--ignore-installed", "--require-hashes", "--only-binary=:all:", "-r", str(tmp_path / "chosen.txt")]
    subprocess.run([*lock.PIP, "install", "--quiet", *how], check=True)
