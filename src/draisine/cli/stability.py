"""`draisine modes`, `critical`, `steady`, `linearize` and `map`: steady motions of a model and what small deviations do."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.cli.arguments import TARGETS, motion_of, names_of, sweep_of
from draisine.cli.options import add_json, add_model, add_motion
from draisine.cli.terminal import DONE, bar, print_json, say, table
from draisine.errors import ArgumentError

if TYPE_CHECKING:
    from draisine.model.model import Model
    from draisine.program.equations import Equations
    from draisine.stability.modes import Modes

Action = Callable[[argparse.Namespace, list[str]], int]

SPEEDS = "speed=0:12:121"  # swept where nothing else is said, of models that have a speed


def add(commands: Any) -> None:
    """Add the five commands to the parser's."""
    parser = _parser(commands, "modes", run_modes, "eigenvalues of steady motions over a sweep", "speed=0:10:200")
    parser.add_argument("--plot", type=Path, default=None, metavar="FILE", help="draw them (.png, .pdf, .svg)")
    _parser(commands, "critical", run_critical, "where steady motions gain or lose stability", "speed=0:10:101").add_argument(
        "--gradient", action="store_true", help="also how each value changes with every parameter"
    )
    parser = _plain(commands, "steady", run_steady, "the steady motion with named quantities fixed (--NAME VALUE)")
    parser.add_argument("--free", default="", metavar="NAMES", help="inputs or parameters left free, with commas between")
    _plain(commands, "linearize", run_linearize, "the linear model of small deviations from a motion").add_argument(
        "--full", action="store_true", help="keep states on which nothing depends"
    )
    parser = _plain(commands, "map", run_map, "which steady motions last, over two quantities")
    parser.add_argument(
        "--over",
        required=True,
        action="append",
        metavar="NAME=FROM:TO:COUNT",
        help="given twice, e.g. speed=0:10:200 and trail=0:0.2:100",
    )
    parser.add_argument("--free", default="", metavar="NAMES", help="inputs or parameters left free, with commas between")
    parser.add_argument("--growth", action="store_true", help="also the largest real part at every pair")
    parser.add_argument("--plot", type=Path, default=None, metavar="FILE", help="draw the regions (.png, .pdf, .svg)")


def _plain(commands: Any, name: str, action: Action, description: str) -> Any:
    parser = commands.add_parser(name, help=description, description=f"{description[0].upper()}{description[1:]}; {TARGETS}.")
    add_model(parser)
    add_motion(parser)
    parser.add_argument("--states", default="", metavar="NAMES", help="quantities that tell deviations, with commas between")
    add_json(parser)
    parser.set_defaults(action=action, takes_targets=True)
    return parser


def _parser(commands: Any, name: str, action: Action, description: str, example: str) -> Any:
    parser = _plain(commands, name, action, description)
    parser.add_argument("--over", metavar="NAME=FROM:TO:COUNT", help=f"what is swept, e.g. {example}; by default {SPEEDS}")
    return parser


def _modes(
    given: argparse.Namespace, model: Model | Equations, targets: Mapping[str, float], parameters: Mapping[str, float]
) -> Modes:
    from draisine.stability.modes import modes

    name, values = sweep_of(given.over or _speeds(model))
    return modes(model, {name: values}, fixed=targets, parameters=parameters, states=_reported(given, model))


def _speeds(model: Model | Equations) -> str:
    """The sweep where none is asked for."""
    from draisine.stability.linearization import equations_of

    e = equations_of(model)
    if "speed" not in {q.name for q in (*e.states, *e.outputs)}:
        raise ArgumentError(f"{e.name} has no speed to sweep; say what is swept: --over NAME=FROM:TO:COUNT")
    return SPEEDS


def _reported(given: argparse.Namespace, model: Model | Equations) -> tuple[str, ...]:
    """The names asked for; a two-wheeler's modes are told by lean and steer."""
    from draisine.stability.linearization import equations_of

    asked = names_of(given.states)
    if asked:
        return asked
    e = equations_of(model)
    known = {q.name for q in (*e.coordinates, *e.outputs)}
    return ("lean", "steer") if {"lean", "steer"} <= known else ()


def run_modes(given: argparse.Namespace, extra: list[str]) -> int:
    model, targets, parameters = motion_of(given, extra)
    found = _modes(given, model, targets, parameters)
    if given.plot is not None:
        from draisine.view.plots.figure_files import save_figure

        save_figure(found.plot(), given.plot)
    if given.json:
        print_json(found.as_data())
        return DONE
    say(found)
    for critical in found.critical():
        print(f"{critical.kind}: {critical.over} = {critical.value:.12g}")
    if given.plot is not None:
        print(f"written: {given.plot}")
    return DONE


def run_critical(given: argparse.Namespace, extra: list[str]) -> int:
    model, targets, parameters = motion_of(given, extra)
    found = _modes(given, model, targets, parameters).critical()
    jacobian = [c.gradient() if given.gradient else {} for c in found]
    if given.json:
        print_json([{**c.as_data(), "gradient": g} for c, g in zip(found, jacobian, strict=True)])
        return DONE
    if not found:
        print("no critical value in the sweep")
    for critical, slope in zip(found, jacobian, strict=True):
        z = critical.eigenvalue
        print(f"{critical.kind}: {critical.over} = {critical.value:.14g}, eigenvalue {z.real:.6g} {z.imag:+.6g}i")
        for name, value in sorted(slope.items(), key=lambda item: -abs(item[1])):
            print(f"    d{critical.over}/d{name} = {value:.8g}")
    return DONE


def run_steady(given: argparse.Namespace, extra: list[str]) -> int:
    from draisine.stability.steady import steady

    model, targets, parameters = motion_of(given, extra)
    found = steady(model, targets, free=names_of(given.free), parameters=parameters)
    linear = found.linearize(_reported(given, model)).essential()
    if given.json:
        print_json({"values": found.values, "ignorable": found.ignorable, "linear": linear.as_data()})
        return DONE
    table(("", ""), [(name, f"{value:.9g}") for name, value in found.values.items()])
    say(linear)
    return DONE


def run_linearize(given: argparse.Namespace, extra: list[str]) -> int:
    from draisine.stability.linearization import linearize

    model, targets, parameters = motion_of(given, extra)
    found = linearize(model, targets, parameters=parameters, states=_reported(given, model))
    found = found if given.full else found.essential()
    if given.json:
        print_json(found.as_data())
    else:
        say(found)
    return DONE


def run_map(given: argparse.Namespace, extra: list[str]) -> int:
    from draisine.stability.stability_map import stability_map

    model, targets, parameters = motion_of(given, extra)
    over = dict(sweep_of(text) for text in given.over)
    with bar("map", silent=given.json) as progress:
        found = stability_map(
            model,
            over,
            fixed=targets,
            free=names_of(given.free),
            parameters=parameters,
            states=_reported(given, model),
            growth=given.growth,
            progress=progress,
        )
    if given.plot is not None:
        from draisine.view.plots.figure_files import save_figure

        save_figure(found.plot(), given.plot)
    if given.json:
        print_json(found.as_data())
        return DONE
    say(found)
    if given.plot is not None:
        print(f"written: {given.plot}")
    return DONE
