"""What commands say to people: tables and bars on a terminal, plain text when piped, nothing in color where nobody wants it.

Results go to stdout and everything else to stderr, so that what is piped on is the result alone. NO_COLOR is honored.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 0.7  # seconds before a bar appears


def table(head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print rows in columns: lines and wrapping on a terminal, columns of spaces when piped.

    >>> table(("name", "value"), [("speed", "4.6 m/s"), ("lean", "0.1 rad")])
    name   value
    speed  4.6 m/s
    lean   0.1 rad
    """
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

    made = Table(box=box.SIMPLE_HEAD, show_header=any(head), title=title or None, title_justify="left", pad_edge=False)
    for k, name in enumerate(head):
        made.add_column(name, no_wrap=k == 0, style="bold" if k == 0 else None)
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))  # names may hold brackets, which are no markup
    Console().print(made)


_VERDICTS = {"holds": "green", "FAILS": "bold red", "stable": "green", "unstable": "red"}


def say(what: object) -> None:
    """Print what a result says of itself; on a terminal its headings stand out, and verdicts are colored."""
    text = str(what)
    if not sys.stdout.isatty():
        print(text)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True)
    for line in text.splitlines():
        shown = Text(line, style="" if line.startswith(" ") else "bold")
        for word, look in _VERDICTS.items():
            shown.highlight_regex(rf"\b{word}\b", look)
        console.print(shown)


def print_json(data: Any) -> None:
    """One JSON value on stdout, and nothing else there; what is infinite or not a number is null.

    >>> print_json({"speed": float("inf"), "names": ("a",)})
    {"speed": null, "names": ["a"]}
    """
    import json

    print(json.dumps(finite(data), ensure_ascii=False, allow_nan=False, default=_plain))


def print_written(paths: Sequence[Path], as_json: bool) -> None:
    """The files that a command wrote."""
    if as_json:
        print_json({"written": list(paths)})
        return
    for path in paths:
        print(f"written: {path}")


def finite(data: Any) -> Any:
    """JSON has no infinity; what is off by that much is told as null."""
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not (abs(data) < float("inf")) else data


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy, and paths."""
    return finite(value.tolist()) if hasattr(value, "tolist") else str(value)


class Bar:
    """A bar on the terminal for work that takes longer than a moment; nothing when piped."""

    def __init__(self, title: str, silent: bool = False) -> None:
        self._title, self._began = title, time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._silent = silent or not sys.stderr.isatty()

    def __call__(self, share: float, title: str = "") -> None:
        if self._silent or time.monotonic() - self._began < PATIENCE:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=1.0)
        self._bar.update(self._task, completed=share, description=title or self._title)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@contextmanager
def bar(title: str, silent: bool = False) -> Iterator[Bar]:
    """A bar that is told how much of the work is done."""
    made = Bar(title, silent)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def stages(title: str, silent: bool = False) -> Iterator[Callable[[str, float], None]]:
    """A bar that also says what is being done."""
    with bar(title, silent) as made:
        yield lambda stage, share: made(share, f"{title}: {stage.lower()}" if stage else title)
