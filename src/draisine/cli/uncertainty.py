"""`draisine uncertainty FILE`: modes and critical speeds of a measured bicycle, with standard deviations."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from draisine.cli.arguments import sweep_of
from draisine.cli.options import add_json
from draisine.cli.terminal import DONE, print_json, say
from draisine.errors import ArgumentError


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "uncertainty",
        help="modes and critical speeds of a measured bicycle, with standard deviations",
        description="Modes and critical speeds of a bicycle from a parameter file of the BicycleParameters project, with "
        "standard deviations; errors of the parameters are taken as independent.",
        epilog="example: draisine uncertainty BrowserBenchmark.txt --over speed=0:10:101 --plot bands.png",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a parameter file (.txt)")
    parser.add_argument("--over", default="speed=0:10:101", metavar="speed=FROM:TO:COUNT", help="speeds (default speed=0:10:101)")
    parser.add_argument("--samples", type=int, default=0, metavar="N", help="check by so many random sets of parameters")
    parser.add_argument("--plot", type=Path, default=None, metavar="FILE", help="draw the bands (.png, .pdf, .svg)")
    add_json(parser)
    parser.set_defaults(action=run)


def run(given: argparse.Namespace, _: list[str]) -> int:
    """Read, propagate, say."""
    from draisine.bicycle.measured import read_bicycle

    name, speeds = sweep_of(given.over)
    if name != "speed":
        raise ArgumentError(f"--over {given.over!r}: what is swept here is speed, e.g. speed=0:10:101")
    bike = read_bicycle(given.file)
    found = bike.modes(speeds, samples=given.samples)
    if given.plot is not None:
        from draisine.view.plots.figure_files import save_figure

        save_figure(bike.figure(speeds), given.plot)
    if given.json:
        print_json(found.as_data())
        return DONE
    say(found)
    if given.plot is not None:
        print(f"written: {given.plot}")
    return DONE
