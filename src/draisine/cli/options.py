"""Options that many commands share, with the same names and help texts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from draisine.expr.units import Measured

TARGETS = "further --NAME VALUE set initial conditions by name, as in simulate"
FIGURES = (".png", ".pdf", ".svg")
REPEATED: dict[str, Any] = {"action": "append", "default": []}


def seconds(text: str) -> float:
    """A duration, as a number of seconds or with a unit.

    >>> seconds("2"), seconds("200 ms")
    (2.0, 0.2)
    """
    measured = Measured.read(text)
    if measured is not None:
        try:
            return measured.checked("s", "a time")
        except ValueError as problem:
            raise argparse.ArgumentTypeError(str(problem)) from None
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None


def figure_file(text: str) -> Path:
    """The file of a figure; its suffix is checked before anything is computed."""
    path = Path(text)
    if path.suffix.lower() not in FIGURES:
        raise argparse.ArgumentTypeError(f"{text!r} is not the file of a figure; its suffix must be one of {', '.join(FIGURES)}")
    return path


def add_model(parser: argparse.ArgumentParser) -> None:
    """The model that a command works on."""
    parser.add_argument("model", metavar="MODEL", help="a name from the gallery, or a model file (.toml)")


def add_set(parser: argparse.ArgumentParser, example: str = "") -> None:
    """--set: parameters by name."""
    text = f"set a parameter, e.g. {example}; may repeat" if example else "set a parameter; may repeat"
    parser.add_argument("--set", **REPEATED, metavar="NAME=VALUE", help=text)


def add_motion(parser: argparse.ArgumentParser) -> None:
    """--set and --at: parameters, and quantities of the motion."""
    texts = {
        "--set": "set a parameter, or a quantity of the motion; may repeat",
        "--at": "set a quantity of the motion, e.g. speed=5 (or --speed 5); may repeat",
    }
    for option, text in texts.items():
        parser.add_argument(option, **REPEATED, metavar="NAME=VALUE", help=text)


def add_plot(parser: argparse.ArgumentParser, what: str) -> None:
    """--plot: a figure of the result."""
    parser.add_argument("--plot", type=figure_file, default=None, metavar="FILE", help=f"draw {what} (.png, .pdf, .svg)")


def add_json(parser: argparse.ArgumentParser, text: str = "print one JSON object") -> None:
    """--json: machine-readable output."""
    parser.add_argument("--json", action="store_true", help=text)
