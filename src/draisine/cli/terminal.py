"""Output of commands: tables and progress bars on a terminal, plain text when piped, JSON, and exit codes.

Results go to stdout and everything else to stderr, so that a pipe carries the result alone. NO_COLOR is respected.
"""

from __future__ import annotations

import json
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from draisine.errors import SimulationError, SolverError
from draisine.results.control_characters import escaped
from draisine.results.status import Progress

BAR_DELAY = 0.7  # seconds before a progress bar appears

DONE, ENDED_EARLY, WRONG, INFEASIBLE, INTERRUPTED = 0, 1, 2, 3, 130
EXIT_CODES = {
    DONE: "done",
    ENDED_EARLY: "done, with an unfavorable result: a run ended before its time and without an event that stops it, a "
    "certificate disagrees, nothing can move, no solution was found or its motion misses a condition, a chapter of a report "
    "could not be written",
    WRONG: "the arguments, the model or a file is wrong; the message gives the cause and the cure",
    INFEASIBLE: "the maneuver is infeasible; the conflicting conditions are named (optimize)",
    INTERRUPTED: "interrupted from the keyboard; finished results are kept",
}


def code_of(problem: Exception) -> int:
    """The exit status of an error: 1 for a solver or simulation that failed, 2 for wrong arguments, models and files."""
    return ENDED_EARLY if isinstance(problem, SolverError | SimulationError) else WRONG


def table(head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print rows in columns: ruled and wrapped on a terminal, aligned with spaces when piped.

    >>> table(("name", "value"), [("speed", "4.6 m/s"), ("lean", "0.1 rad")])
    name   value
    speed  4.6 m/s
    lean   0.1 rad
    """
    head, rows, title = [*map(escaped, head)], [[*map(escaped, row)] for row in rows], escaped(title)
    if sys.stdout.isatty():
        _rich_table(head, rows, title)
        return
    if title:
        print(title)
    every = [list(head), *map(list, rows)] if any(head) else list(map(list, rows))
    widths = [max((len(row[k]) for row in every), default=0) for k in range(len(head))]
    indent = "  " if title else ""
    for row in every:
        print((indent + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))).rstrip())


def _rich_table(head: Sequence[str], rows: Sequence[Sequence[str]], title: str) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_header=any(head), title=title or None, title_justify="left", pad_edge=False)
    for k, name in enumerate(head):
        table.add_column(name, no_wrap=k == 0, style="bold" if k == 0 else None)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # brackets in names are not markup
    Console().print(table)


_STYLES = {"holds": "green", "FAILS": "bold red", "stable": "green", "unstable": "red"}


def print_text(result: object) -> None:
    """Print the text of a result; on a terminal with bold headings and colored verdicts."""
    text = escaped(str(result))
    if not sys.stdout.isatty():
        print(text)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True)
    for line in wrapped(text, console.width):
        shown = Text(line, style="" if line.startswith(" ") else "bold")
        for word, color in _STYLES.items():
            shown.highlight_regex(rf"\b{word}\b", color)
        console.print(shown)


def wrapped(text: str, width: int) -> Iterator[str]:
    """Lines that fit a terminal: sentences are continued below their beginning, rows of tables and short lines stay as they are.

    >>> print(*wrapped("  a: one two three\\n  b", 12), sep="\\n")
      a: one two
          three
      b
    """
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip()) + 4
        is_row = "  " in line.strip()  # columns
        if len(line) <= width or is_row or width < 2 * indent:
            yield line
        else:
            yield from textwrap.wrap(line, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def print_json(data: Any) -> None:
    """Print one JSON value; infinities and NaN become null.

    >>> print_json({"speed": float("inf"), "names": ("a",)})
    {"speed": null, "names": ["a"]}
    """
    print(json.dumps(finite(data), ensure_ascii=False, allow_nan=False, default=_plain))


def print_result(result: Any, as_json: bool, figure: Path | None = None) -> None:
    """Print a result as JSON, or as text with the file of its figure."""
    if as_json:
        print_json(result.as_data())
        return
    print_text(result)
    if figure is not None:
        print(f"written: {figure}")


def print_written(paths: Sequence[Path], as_json: bool) -> None:
    """Print the files that a command has written."""
    if as_json:
        print_json({"written": list(paths)})
        return
    for path in paths:
        print(f"written: {path}")


def finite(data: Any) -> Any:
    """The same data with null for infinities and NaN, which JSON lacks."""
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not (abs(data) < float("inf")) else data


def _plain(value: Any) -> Any:
    """NumPy numbers and arrays, and paths."""
    return finite(value.tolist()) if hasattr(value, "tolist") else str(value)


class Bar:
    """A progress bar on the terminal for work that takes longer than `BAR_DELAY`; nothing when piped."""

    def __init__(self, title: str, silent: bool = False, stages: bool = False) -> None:
        self._title, self._stages, self._started = title, stages, time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._silent = silent or not sys.stderr.isatty()

    def __call__(self, progress: Progress) -> None:
        if progress.share is None or self._silent or time.monotonic() - self._started < BAR_DELAY:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress as RichProgress

            self._bar = RichProgress(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=1.0)
        self._bar.update(self._task, completed=progress.share, description=self._titled(progress.text))

    def _titled(self, text: str) -> str:
        """The title, with the current stage where the work names one."""
        return f"{self._title}: {text.lower()}" if self._stages and text else self._title

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@contextmanager
def bar(title: str, silent: bool = False, stages: bool = False) -> Iterator[Bar]:
    """A progress bar; with `stages` it names the current one."""
    progress = Bar(title, silent, stages)
    try:
        yield progress
    finally:
        progress.close()
