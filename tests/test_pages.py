"""The Python of the documentation's pages runs, page by page, in order, and prints what the page says it prints."""

from __future__ import annotations

import re

import pytest

from extensions import DOCS, notebooks, pages
from extensions.snippets import SnippetError, agrees, blocks, execute, python

# `make docs` runs these; what they show has tests of its own
LONG = {"ensembles", "paths", "chains", "report", "studio", "control", "doctor", "export", "howto/bicycle", "howto/data"}
NAMED = {str(page.relative_to(DOCS).with_suffix("")): page for page in pages()}
AS_NOTEBOOKS = set(notebooks.names())  # these run in `test_notebooks.py`
RUN = [name for name, page in NAMED.items() if name not in LONG | AS_NOTEBOOKS and any(block.runs for block in python(page))]


@pytest.mark.long
@pytest.mark.parametrize("name", RUN)
def test_its_python_runs(name, tmp_path):
    execute(NAMED[name], tmp_path)


@pytest.mark.long
def test_its_commands_are_commands(tmp_path, monkeypatch, capsys):
    """Each line of shell on the page, but for PDF, which needs LaTeX."""
    from draisine.cli.main import main

    monkeypatch.chdir(tmp_path)
    text = (DOCS / "equations.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL) for line in block.splitlines()]
    assert len(lines) >= 5
    for line in lines:
        _, *words = line.partition("#")[0].split()
        if not words[-1].endswith(".pdf"):
            assert main(words) == 0, line
    assert {p.name for p in tmp_path.iterdir()} == {
        *("bicycle.svg", "bicycle.html", "bicycle.tex", "bicycle-picture.pdf", "bicycle.py"),
    }


# ---------------------------------------------------------------- what runs them


def test_a_page_that_prints_something_else_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 2\nprint(x + 2)\n```\n\n```output\n5\n```\n")
    with pytest.raises(SnippetError, match=r"(?s)page.md, block at line 2 prints\n4.*the page says\n5"):
        execute(page, tmp_path)


def test_a_page_that_fails_is_refused_with_its_block(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n\n```python\nimport math\n```\n\n```python\nmath.sqrt(-1.0)\n```\n")
    with pytest.raises(SnippetError, match=r"(?s)block at line 8: ValueError.*math.sqrt\(-1.0\)"):
        execute(page, tmp_path)


def test_blocks_that_need_more_than_a_machine_are_left_out(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python notest\nraise SystemExit\n```\n\n```python\nprint('ran')\n```\n")
    assert execute(page, tmp_path) == ["ran\n"]


def test_an_output_without_its_block_is_refused():
    with pytest.raises(SnippetError, match="right behind one marked python"):
        blocks("```python\n1\n```\n\nWords.\n\n```output\n1\n```\n")


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a … b", "a 1\n2 b", True),
        ("1.50", "1.5", False),
        ("x   y\n", "x y", True),
        ("a\nb", "a b", False),
        ("(…)", "[…]", False),
    ],
)
def test_dots_stand_for_anything_and_nothing_else_does(shown, printed, same):
    assert agrees(shown, printed) is same
