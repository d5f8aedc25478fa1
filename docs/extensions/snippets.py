"""The Python and the shell of Markdown pages: found, run, and held to the output that the page shows.

Blocks marked `python` run from top to bottom, in one namespace per page and in an empty folder; those marked `python notest`
(they need a cluster, say) need only be Python. A block marked `output` right behind one is what it prints; `…` in it stands for
anything. Lines of blocks marked `sh` that begin with `draisine` must be commands that exist.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```[ \t]*$", flags=re.DOTALL | re.MULTILINE)


class SnippetError(Exception):
    """A block of a page does not do what the page says."""


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int  # of its first line of code
    output: str | None = None  # what the page says it prints
    runs: bool = True  # not those marked `notest`, which need what a machine may lack


def blocks(text: str) -> tuple[Block, ...]:
    """The fenced blocks of a page; those marked `output` belong to the block before.

    >>> [(b.language, b.output) for b in blocks("```python\\nprint(1)\\n```\\n\\n```output\\n1\\n```\\n")]
    [('python', '1\\n')]
    """
    found: list[Block] = []
    end = 0
    for fence in FENCE.finditer(text):
        line = text.count("\n", 0, fence.start()) + 2
        if fence[1] == "output":
            if not found or text[end : fence.start()].strip() or found[-1].language != "python":
                raise SnippetError(f"line {line}: a block marked output must stand right behind one marked python")
            found[-1] = replace(found[-1], output=fence[3])
        else:
            found.append(Block(fence[1], fence[3], line, runs="notest" not in fence[2]))
        end = fence.end()
    return tuple(found)


def python(page: Path) -> tuple[Block, ...]:
    return _python(page.read_text(encoding="utf-8"))


def _python(text: str) -> tuple[Block, ...]:
    return tuple(block for block in blocks(text) if block.language == "python")


def parses(page: Path) -> None:
    """Every Python block is Python."""
    for block in python(page):
        try:
            compile(block.text, f"{page.name}, line {block.line}", "exec")
        except SyntaxError as wrong:
            raise SnippetError(f"{page.name}, line {block.line + (wrong.lineno or 1) - 1}: {wrong.msg}") from wrong


def execute(page: Path, folder: Path) -> list[str]:
    """Run a page in a folder; what each block printed."""
    return [printed for _, printed, _ in executed(page, folder)]


def executed(page: Path, folder: Path) -> Iterator[tuple[Block, str, dict[str, Any]]]:
    """Run a page block by block: the block, what it printed, and the page's names after it."""
    names: dict[str, Any] = {"__name__": "__page__"}
    for block in [found for found in python(page) if found.runs]:
        # blank lines in front: the line numbers of a traceback are those of the page
        code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
        said = io.StringIO()
        where = f"{page.name}, block at line {block.line}"
        try:
            with chdir(folder), redirect_stdout(said):
                exec(code, names)  # our own page, never text from elsewhere
        except Exception as wrong:
            raise SnippetError(f"{where}: {type(wrong).__name__}: {wrong}\n{block.text}") from wrong
        if block.output is not None and not agrees(block.output, said.getvalue()):
            raise SnippetError(f"{where} prints\n{said.getvalue()}\nbut the page says\n{block.output}")
        yield block, said.getvalue(), names


def with_outputs(text: str, printed: list[str]) -> str:
    """A page whose outputs are what was printed just now, which may say more than the page does.

    >>> print(with_outputs("```python\\nprint(1.5)\\n```\\n\\n```output\\n1…\\n```\\n", ["1.5\\n"]))
    ```python
    print(1.5)
    ```
    <BLANKLINE>
    ```output
    1.5
    ```
    <BLANKLINE>
    """
    left = iter(
        [said for block, said in zip([b for b in _python(text) if b.runs], printed, strict=True) if block.output is not None]
    )
    return FENCE.sub(lambda fence: f"```output\n{next(left).rstrip()}\n```" if fence[1] == "output" else fence[0], text)


def agrees(shown: str, printed: str) -> bool:
    """Whether an output is the one shown, in which `…` stands for anything.

    >>> agrees("it took … s", "it took 0.3 s \\n"), agrees("1.5", "1.6")
    (True, False)
    """
    pattern = ".*?".join(re.escape(part) for part in _tidy(shown).split("…"))
    return re.fullmatch(pattern, _tidy(printed), flags=re.DOTALL) is not None


def _tidy(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def run_page(page: str, folder: str) -> list[str]:
    """`execute` for another process: no window is opened, and figures do not pile up."""
    os.environ["MPLBACKEND"] = "Agg"
    try:
        return execute(Path(page), Path(folder))
    finally:
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close("all")


# ---------------------------------------------------------------- shell


def commands(page: Path) -> list[list[str]]:
    """The words of every line of shell that begins with `draisine`, without comments, pipes and what comes after `&&`."""
    found = []
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "sh":
            for line in block.text.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words and words[0] == "draisine":
                    ends = [i for i, word in enumerate(words) if word in ("|", "||", "&&", ";", ">", "&")]
                    found.append(words[1 : ends[0] if ends else None])
    return found


def understood(page: Path) -> None:
    """Every `draisine …` of a page is a command with arguments that the command line takes, on a model or study that exists."""
    given_here = commands(page)
    if not given_here:
        return
    from draisine.cli.parser import parser

    known = _known()
    for words in given_here:
        said = io.StringIO()
        try:
            with redirect_stderr(said), redirect_stdout(said):
                given, _ = parser().parse_known_args(words)
        except SystemExit as end:
            if end.code not in (0, None):  # --help ends well
                raise SnippetError(f"{page.name}: draisine {shlex.join(words)}: {said.getvalue().strip()}") from None
            continue
        # `draisine estimate STUDY` takes further names
        name = getattr(given, "study", None) if given.command == "run" else getattr(given, "model", None)
        elsewhere = getattr(given, "machines", None) is not None  # measured bicycles of a folder
        if isinstance(name, str) and not Path(name).suffix and name not in known and not elsewhere:
            raise SnippetError(f"{page.name}: draisine {shlex.join(words)}: the gallery has no {name!r}")


@cache
def _known() -> frozenset[str]:
    from draisine import gallery

    return frozenset({*gallery.models(), *gallery.studies()})
