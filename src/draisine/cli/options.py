"""Options that many commands share, in the same words."""

from __future__ import annotations

import argparse


def seconds(text: str) -> float:
    """How long, as a number of seconds or with a unit.

    >>> seconds("2"), seconds("200 ms")
    (2.0, 0.2)
    """
    from draisine.simulation.named_values import number_in

    try:
        found = number_in(text, "s", "a time")
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return found


def add_model(parser: argparse.ArgumentParser) -> None:
    """The model a command is about."""
    parser.add_argument("model", metavar="MODEL", help="a name of the gallery, or a model file (.toml)")


def add_set(parser: argparse.ArgumentParser, example: str = "") -> None:
    """--set: parameters by name."""
    description = f"a parameter, e.g. {example}; may repeat" if example else "a parameter; may repeat"
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=description)


def add_motion(parser: argparse.ArgumentParser) -> None:
    """--set and --at: parameters and quantities of the motion."""
    description = {
        "--set": "set a parameter, or a quantity of the motion; may repeat",
        "--at": "a quantity of the motion, e.g. speed=5 (or --speed 5); may repeat",
    }
    for option, words in description.items():
        parser.add_argument(option, action="append", default=[], metavar="NAME=VALUE", help=words)


def add_json(parser: argparse.ArgumentParser) -> None:
    """--json: the result for machines."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
