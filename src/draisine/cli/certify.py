"""`draisine certify MODEL [--against MODEL --names A=B,…] [--states N] [--json]`."""

from __future__ import annotations

import argparse
from typing import Any

from draisine.cli.arguments import model_of
from draisine.cli.options import add_json, add_model
from draisine.cli.terminal import DONE, ENDED_EARLY, print_json, say
from draisine.errors import ArgumentError


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "certify",
        help="derive a model by independent roads and compare them",
        description="Derive a model by independent roads and compare them at random admissible states, or compare two "
        "descriptions of one mechanism where their names meet. Exit status 1 when something disagrees.",
        epilog="example: draisine certify delebecque_graph --against delebecque_bicycle "
        "--names rear_wheel_normal_force=rear_height_multiplier",
    )
    add_model(parser)
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
    add_json(parser)
    parser.set_defaults(action=run)


def run(given: argparse.Namespace, _: list[str]) -> int:
    """Print the certificate."""
    from draisine.diagnostics.certify import certify

    other = model_of(given.against) if given.against is not None else None
    certificate = certify(model_of(given.model), other, given.states, names=_names(given.names))
    if given.json:
        print_json(certificate.as_data())
    else:
        say(certificate)
    return DONE if certificate.passed else ENDED_EARLY


def _names(texts: list[str]) -> dict[str, str]:
    found = {}
    for text in (word for words in texts for word in words.split(",") if word.strip()):
        first, sign, second = (part.strip() for part in text.partition("="))
        if not (first and sign) or second == "-":
            raise ArgumentError(f"--names {text!r}: write A=B, a name of the first description and one of the second")
        found[first] = second
    return found
