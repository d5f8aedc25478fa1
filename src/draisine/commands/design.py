"""`draisine lqr`: the linear regulator of a steady motion, with its gains and what it does to the eigenvalues."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from draisine.commands.stability import names_of
from draisine.commands.terminal import print_json, say

if TYPE_CHECKING:
    from draisine.model import Model
    from draisine.program.equations import Equations


def add(commands: Any, action: Callable[[argparse.Namespace, list[str]], int]) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "lqr",
        help="a linear regulator about a steady motion: gains and closed-loop eigenvalues",
        description="The linear law that holds a steady motion at least cost; its text goes into simulate as --input NAME=LAW.",
        epilog="example: draisine lqr bicycle --at speed=2 --weight lean=10 --weight steer=1 --effort steer_torque=0.1",
    )
    parser.add_argument("model", metavar="MODEL", help="a name of the gallery, or a model file (.toml)")
    pair: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME=VALUE"}
    parser.add_argument("--at", **pair, help="a wish for the motion, e.g. speed=2 (or --speed 2); may repeat")
    parser.add_argument("--weight", **pair, help="what a deviation costs, by state or output, e.g. lean=10; may repeat")
    parser.add_argument("--effort", **pair, help="what an input costs, e.g. steer_torque=0.1; the law sets these; may repeat")
    parser.add_argument("--limit", **pair, help="greatest amount of an input, e.g. steer_torque=5; may repeat")
    parser.add_argument("--set", **pair, help="set a parameter; may repeat")
    parser.add_argument("--states", default="", metavar="NAMES", help="quantities that tell deviations, with commas between")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(action=action)


def run(
    given: argparse.Namespace,
    model: Model | Equations,
    at: Mapping[str, float],
    numbers: Callable[[list[str], str], dict[str, float]],
) -> None:
    """Design and print; `numbers` reads NAME=VALUE."""
    from draisine.control.design.regulator import lqr

    for option, texts, example in (("--weight", given.weight, "lean=10"), ("--effort", given.effort, "steer_torque=0.1")):
        if not texts:
            raise ValueError(f"lqr: give at least one {option} NAME=VALUE, e.g. {option} {example}")
    law = lqr(
        model,
        {**at, **numbers(given.at, "--at")},
        weights=numbers(given.weight, "--weight"),
        effort=numbers(given.effort, "--effort"),
        states=names_of(given.states),
        parameters=numbers(given.set, "--set"),
        limits=numbers(given.limit, "--limit"),
    )
    if given.json:
        print_json(law.as_data())
        return
    say(law)
    for name, expression in law.items():
        print(f"--input '{name}={expression}'")
