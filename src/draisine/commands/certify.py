"""`draisine certify MODEL [--against MODEL --names A=B,…] [--states N] [--json]`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from draisine.commands.terminal import print_json, say

if TYPE_CHECKING:
    from draisine.model import Model
    from draisine.program.equations import Equations


def add(commands: Any, action: Callable[[argparse.Namespace, list[str]], int]) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "certify",
        help="derive a model by independent roads and compare them",
        description="Derive a model by independent roads and compare them at random admissible states, or compare two "
        "descriptions of one mechanism where their names meet. Exit status 1 when something disagrees.",
        epilog="example: draisine certify delebecque_graph --against delebecque_bicycle "
        "--names rear_wheel_normal_force=rear_height_multiplier",
    )
    parser.add_argument("model", metavar="MODEL", help="a name of the gallery, or a model file (.toml)")
    parser.add_argument("--against", default=None, metavar="MODEL", help="another description of the same mechanism")
    parser.add_argument(
        "--names",
        action="append",
        default=[],
        metavar="A=B",
        help="what the first description calls A the second calls B, or -B where it counts the other way; A= leaves it out; "
        "several with commas",
    )
    parser.add_argument("--states", type=int, default=12, metavar="N", help="random admissible states to compare at (default 12)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(action=action)


def run(given: argparse.Namespace, model: Model | Equations, other: Model | Equations | None) -> bool:
    """Print the certificate; whether it passed."""
    from draisine.verbs import certify

    certificate = certify(model, other, given.states, names=_names(given.names))
    if given.json:
        print_json(certificate.as_data())
    else:
        say(certificate)
    return certificate.passed


def _names(texts: list[str]) -> dict[str, str]:
    found = {}
    for text in (word for words in texts for word in words.split(",") if word.strip()):
        first, sign, second = (part.strip() for part in text.partition("="))
        if not (first and sign) or second == "-":
            raise ValueError(f"--names {text!r}: write A=B, a name of the first description and one of the second")
        found[first] = second
    return found
