"""`draisine continue`, `turns` and `atlas`: steady motions followed over anything that varies, and maps of turns."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from draisine.cli.arguments import TARGETS, motion_of, names_of, sweep_of
from draisine.cli.options import add_json, add_model, add_motion
from draisine.cli.terminal import DONE, print_json, say
from draisine.errors import ArgumentError

Action = Callable[[argparse.Namespace, list[str]], int]


def add(commands: Any) -> None:
    """Add the three commands to the parser's."""
    parser = _plain(
        commands,
        "continue",
        run_continue,
        "follow a branch of steady motions, its folds, branch points and Hopf points",
        "example: draisine continue bicycle --over speed=0:10 --switch --plot turns.png",
    )
    parser.add_argument("--over", required=True, metavar="NAME[=FROM:TO]", help="what varies, e.g. speed=0:10")
    parser.add_argument("--fix", action="append", default=[], metavar="NAME=VALUE", help="a quantity that keeps its value")
    parser.add_argument("--free", default="", metavar="NAMES", help="inputs or parameters left free, with commas between")
    parser.add_argument("--bound", action="append", default=[], metavar="NAME=FROM:TO", help="the range of another quantity")
    parser.add_argument("--switch", action="store_true", help="also follow the branches that cross this one")
    parser.add_argument("--show", default="", metavar="NAMES", help="quantities to draw, with commas between")

    parser = _plain(
        commands,
        "turns",
        run_turns,
        "families of turns that a two-wheeler rides hands-free",
        "example: draisine turns bicycle --speed 0:10 --plot turns.png",
    )
    parser.add_argument("--speed", default="0:12", metavar="FROM:TO", help="range of speeds (default 0:12)")
    parser.add_argument("--show", default="lean,steer", metavar="NAMES", help="quantities to draw (default lean,steer)")

    parser = _plain(
        commands,
        "atlas",
        run_atlas,
        "what holds each turn of a grid, the friction it needs, wheel loads and stability",
        "example: draisine atlas bicycle --over lean=0:0.8:41 --over speed=1:10:46 --friction 0.8 --plot atlas.png",
    )
    parser.add_argument(
        "--over", action="append", default=[], metavar="NAME=FROM:TO:COUNT", help="an axis; twice (default lean and speed)"
    )
    parser.add_argument(
        "--hold", default=None, metavar="NAMES", help="inputs that hold the turn (default steer and pedal torque)"
    )
    parser.add_argument("--friction", type=float, default=None, metavar="MU", help="veil turns that slip on such ground")


def _plain(commands: Any, name: str, action: Action, description: str, example: str) -> Any:
    text = f"{description[0].upper()}{description[1:]}; {TARGETS}."
    parser = commands.add_parser(name, help=description, description=text, epilog=example)
    add_model(parser)
    add_motion(parser)
    parser.add_argument("--plot", type=Path, default=None, metavar="FILE", help="draw it (.png, .pdf, .svg)")
    add_json(parser)
    parser.set_defaults(action=action, takes_targets=True)
    return parser


def _range(text: str, option: str) -> tuple[float, float]:
    parts = text.split(":")
    try:
        low, high = (float(part) for part in parts)
    except ValueError:
        raise ArgumentError(f"{option} {text!r}: write FROM:TO, e.g. 0:10") from None
    return low, high


def _named_range(text: str, option: str) -> tuple[str, tuple[float, float]]:
    name, sign, limits = text.partition("=")
    if not sign:
        raise ArgumentError(f"{option} {text!r}: write NAME=FROM:TO, e.g. lean=-1.2:1.2")
    return _name(name), _range(limits, option)


def _name(text: str) -> str:
    return text.strip().replace("-", "_")


def _values(texts: list[str], option: str) -> dict[str, float]:
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        try:
            found[_name(name)] = float(value)
        except ValueError:
            sign = ""
        if not sign:
            raise ArgumentError(f"{option} {text!r}: write NAME=VALUE, e.g. speed=5")
    return found


def run_continue(given: argparse.Namespace, extra: list[str]) -> int:
    from draisine.stability.continuation.branch import Branch, continuation

    model, targets, parameters = motion_of(given, extra)
    name, sign, limits = given.over.partition("=")
    branch = continuation(
        model,
        _name(name),
        fix=_values(given.fix, "--fix"),
        free=names_of(given.free),
        start=targets,
        between=_range(limits, "--over") if sign else None,
        bounds=dict(_named_range(text, "--bound") for text in given.bound),
        parameters=parameters,
    )
    found: dict[str, Branch] = {branch.model: branch}
    if given.switch:
        for k, point in enumerate(branch.points("branch point")):
            found[f"crossing at {point.value:.6g}" + (f" ({k + 1})" if k else "")] = branch.switch(point)
    _tell(given, found, names_of(given.show))
    return DONE


def run_turns(given: argparse.Namespace, extra: list[str]) -> int:
    from draisine.bicycle.hands_free_turns import hands_free_turns

    model, targets, parameters = motion_of(given, extra)
    if targets:
        raise ArgumentError(f"draisine turns finds all families and takes no wishes; leave out --{next(iter(targets))}")
    _tell(given, hands_free_turns(model, speed=_range(given.speed, "--speed"), parameters=parameters), names_of(given.show))
    return DONE


def _tell(given: argparse.Namespace, branches: Mapping[str, Any], names: tuple[str, ...]) -> None:
    if given.plot is not None:
        from draisine.view.plots.branches import branch_figure
        from draisine.view.plots.figure_files import save_figure

        save_figure(branch_figure(branches, *names), given.plot)
    if given.json:
        print_json({title: branch.as_data() for title, branch in branches.items()})
        return
    for title, branch in branches.items():
        print(branch if title == branch.model else f"{title}: {branch}")
    if given.plot is not None:
        print(f"written: {given.plot}")


def run_atlas(given: argparse.Namespace, extra: list[str]) -> int:
    from draisine.bicycle.turning_atlas import HOLDING, turning_atlas

    model, targets, parameters = motion_of(given, extra)
    hold = HOLDING if given.hold is None else names_of(given.hold)
    axes = dict(sweep_of(text) for text in given.over)
    found = turning_atlas(model, axes, hold=hold, near=targets or None, parameters=parameters)
    if given.plot is not None:
        from draisine.view.plots.branches import atlas_figure
        from draisine.view.plots.figure_files import save_figure

        save_figure(atlas_figure(found, friction=given.friction), given.plot)
    if given.json:
        print_json(found.as_data())
        return DONE
    say(found)
    if given.friction is not None:
        count = int(found.possible(given.friction).sum())
        print(f"  {count} neither slip on ground of friction {given.friction:g} nor lift a wheel")
    if given.plot is not None:
        print(f"written: {given.plot}")
    return DONE
