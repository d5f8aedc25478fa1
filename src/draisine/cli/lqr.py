"""`draisine lqr`: the linear regulator of a steady motion, with its gains and what it does to the eigenvalues."""

from __future__ import annotations

import argparse
from typing import Any

from draisine.cli.arguments import model_of, names_of, numbers_of, targets_of
from draisine.cli.options import add_json, add_model, seconds
from draisine.cli.terminal import DONE, print_json, say
from draisine.errors import ArgumentError


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "lqr",
        help="a linear regulator about a steady motion: gains and closed-loop eigenvalues",
        description="The linear law that holds a steady motion at least cost; its text goes into simulate as --input NAME=LAW.",
        epilog="example: draisine lqr bicycle --at speed=2 --weight lean=10 --weight steer=1 --input-weight steer_torque=0.1",
    )
    add_model(parser)
    pair: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME=VALUE"}
    parser.add_argument("--at", **pair, help="a wish for the motion, e.g. speed=2 (or --speed 2); may repeat")
    parser.add_argument("--weight", **pair, help="what a deviation costs, by state or output, e.g. lean=10; may repeat")
    parser.add_argument(
        "--input-weight", **pair, help="what an input costs, e.g. steer_torque=0.1; the law sets these; may repeat"
    )
    parser.add_argument("--limit", **pair, help="greatest amount of an input, e.g. steer_torque=5; may repeat")
    parser.add_argument("--set", **pair, help="set a parameter; may repeat")
    parser.add_argument("--states", default="", metavar="NAMES", help="quantities that tell deviations, with commas between")
    parser.add_argument(
        "--period",
        type=seconds,
        default=None,
        metavar="SECONDS",
        help="for a computer that answers so often and holds its answer",
    )
    add_json(parser)
    parser.set_defaults(action=run, takes_targets=True)


def run(given: argparse.Namespace, extra: list[str]) -> int:
    """Design and print."""
    from draisine.control.design.regulator import lqr

    for option, texts, example in (
        ("--weight", given.weight, "lean=10"),
        ("--input-weight", given.input_weight, "steer_torque=0.1"),
    ):
        if not texts:
            raise ArgumentError(f"lqr: give at least one {option} NAME=VALUE, e.g. {option} {example}")
    law = lqr(
        model_of(given.model),
        {**targets_of(extra), **numbers_of(given.at, "--at")},
        weights=numbers_of(given.weight, "--weight"),
        input_weights=numbers_of(given.input_weight, "--input-weight"),
        states=names_of(given.states),
        parameters=numbers_of(given.set, "--set"),
        limits=numbers_of(given.limit, "--limit"),
        period=given.period,
    )
    if given.json:
        print_json(law.as_data())
        return DONE
    say(law)
    if given.period is not None:
        print("in Python, dr.simulate(…, control=law.sampled()) runs it")
        return DONE
    for name, expression in law.items():
        print(f"--input '{name}={expression}'")
    return DONE
