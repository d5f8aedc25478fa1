"""`draisine modes`, `critical`, `steady`, `linearize` and `map`: steady motions of a model and what small deviations do."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.commands.terminal import bar, print_json, say, table

if TYPE_CHECKING:
    from draisine.model import Model
    from draisine.program.equations import Equations
    from draisine.stability.modes import Modes

Action = Callable[[argparse.Namespace, list[str]], int]

WISHES = "further --NAME VALUE are wishes for the motion, as in simulate"
SPEEDS = "speed=0:12:121"  # swept where nothing else is said, of models that have a speed


def add(commands: Any, modes: Action, critical: Action, steady: Action, linearize: Action, map: Action) -> None:
    """Add the five commands to the parser's."""
    parser = _parser(commands, "modes", modes, "eigenvalues of steady motions over a sweep", "speed=0:10:200")
    parser.add_argument("--plot", type=Path, default=None, metavar="FILE", help="draw them (.png, .pdf, .svg)")
    _parser(commands, "critical", critical, "where steady motions gain or lose stability", "speed=0:10:101").add_argument(
        "--gradient", action="store_true", help="also how each value changes with every parameter"
    )
    parser = _plain(commands, "steady", steady, "the steady motion with named quantities fixed (--NAME VALUE)")
    parser.add_argument("--free", default="", metavar="NAMES", help="inputs or parameters left free, with commas between")
    _plain(commands, "linearize", linearize, "the linear model of small deviations from a motion").add_argument(
        "--full", action="store_true", help="keep states on which nothing depends"
    )
    parser = _plain(commands, "map", map, "which steady motions last, over two quantities")
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


def _plain(commands: Any, name: str, action: Action, about: str) -> Any:
    parser = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}; {WISHES}.")
    parser.add_argument("model", metavar="MODEL", help="a name of the gallery, or a model file (.toml)")
    add_quantities(parser)
    parser.add_argument("--states", default="", metavar="NAMES", help="quantities that tell deviations, with commas between")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(action=action)
    return parser


def add_quantities(parser: argparse.ArgumentParser) -> None:
    """--set and --at: parameters and quantities of the motion."""
    pair: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME=VALUE"}
    parser.add_argument("--set", **pair, help="set a parameter, or a quantity of the motion; may repeat")
    parser.add_argument("--at", **pair, help="a quantity of the motion, e.g. speed=5 (or --speed 5); may repeat")


def _parser(commands: Any, name: str, action: Action, about: str, example: str) -> Any:
    parser = _plain(commands, name, action, about)
    parser.add_argument("--over", metavar="NAME=FROM:TO:COUNT", help=f"what is swept, e.g. {example}; by default {SPEEDS}")
    return parser


def names_of(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def sweep_of(text: str) -> tuple[str, Any]:
    """`speed=0:10:200` as a name and its values."""
    import numpy as np

    name, sign, numbers = text.partition("=")
    parts = numbers.split(":")
    try:
        first, last = float(parts[0]), float(parts[1])
        count = int(parts[2]) if len(parts) > 2 else 101
    except (ValueError, IndexError):
        count = 0
    if not sign or len(parts) > 3 or count < 2:
        raise ValueError(f"--over {text!r}: write NAME=FROM:TO:COUNT, e.g. speed=0:10:200")
    return name.strip().replace("-", "_"), np.linspace(first, last, count)


def _modes(
    given: argparse.Namespace, model: Model | Equations, wishes: Mapping[str, float], parameters: Mapping[str, float]
) -> Modes:
    from draisine.drawn.stability import modes

    name, values = sweep_of(given.over or _speeds(model))
    return modes(model, {name: values}, fixed=wishes, parameters=parameters, states=_told(given, model))


def _speeds(model: Model | Equations) -> str:
    """The sweep where none is asked for."""
    from draisine.stability.linearisation import equations_of

    e = equations_of(model)
    if "speed" not in {q.name for q in (*e.states, *e.outputs)}:
        raise ValueError(f"{e.name} has no speed to sweep; say what is swept: --over NAME=FROM:TO:COUNT")
    return SPEEDS


def _told(given: argparse.Namespace, model: Model | Equations) -> tuple[str, ...]:
    """The names asked for; a two-wheeler's modes are told by lean and steer."""
    from draisine.stability.linearisation import equations_of

    asked = names_of(given.states)
    if asked:
        return asked
    e = equations_of(model)
    known = {q.name for q in (*e.coordinates, *e.outputs)}
    return ("lean", "steer") if {"lean", "steer"} <= known else ()


def run_modes(
    given: argparse.Namespace, model: Model | Equations, wishes: Mapping[str, float], parameters: Mapping[str, float]
) -> None:
    found = _modes(given, model, wishes, parameters)
    if given.plot is not None:
        from draisine.view.canvas import write

        write(found.plot(), given.plot)
    if given.json:
        print_json(found.as_data())
        return
    say(found)
    for critical in found.critical():
        print(f"{critical.kind}: {critical.over} = {critical.value:.12g}")
    if given.plot is not None:
        print(f"written: {given.plot}")


def run_critical(
    given: argparse.Namespace, model: Model | Equations, wishes: Mapping[str, float], parameters: Mapping[str, float]
) -> None:
    found = _modes(given, model, wishes, parameters).critical()
    slopes = [c.gradient() if given.gradient else {} for c in found]
    if given.json:
        print_json([{**c.as_data(), "gradient": g} for c, g in zip(found, slopes, strict=True)])
        return
    if not found:
        print("no critical value in the sweep")
    for critical, slope in zip(found, slopes, strict=True):
        z = critical.eigenvalue
        print(f"{critical.kind}: {critical.over} = {critical.value:.14g}, eigenvalue {z.real:.6g} {z.imag:+.6g}i")
        for name, value in sorted(slope.items(), key=lambda item: -abs(item[1])):
            print(f"    d{critical.over}/d{name} = {value:.8g}")


def run_steady(
    given: argparse.Namespace, model: Model | Equations, wishes: Mapping[str, float], parameters: Mapping[str, float]
) -> None:
    from draisine.stability.steady import steady

    found = steady(model, wishes, free=names_of(given.free), parameters=parameters)
    linear = found.linearize(_told(given, model)).essential()
    if given.json:
        print_json({"values": found.values, "ignorable": found.ignorable, "linear": linear.as_data()})
        return
    table(("", ""), [(name, f"{value:.9g}") for name, value in found.values.items()])
    say(linear)


def run_linearize(
    given: argparse.Namespace, model: Model | Equations, wishes: Mapping[str, float], parameters: Mapping[str, float]
) -> None:
    from draisine.stability.linearisation import linearize

    found = linearize(model, wishes, parameters=parameters, states=_told(given, model))
    found = found if given.full else found.essential()
    if given.json:
        print_json(found.as_data())
    else:
        say(found)


def run_map(
    given: argparse.Namespace, model: Model | Equations, wishes: Mapping[str, float], parameters: Mapping[str, float]
) -> None:
    from draisine.drawn.stability import stability_map

    over = dict(sweep_of(text) for text in given.over)
    with bar("map", silent=given.json) as progress:
        found = stability_map(
            model,
            over,
            fixed=wishes,
            free=names_of(given.free),
            parameters=parameters,
            states=_told(given, model),
            growth=given.growth,
            progress=progress,
        )
    if given.plot is not None:
        from draisine.view.canvas import write

        write(found.plot(), given.plot)
    if given.json:
        print_json(found.as_data())
        return
    say(found)
    if given.plot is not None:
        print(f"written: {given.plot}")


TASKS = {"modes": run_modes, "critical": run_critical, "steady": run_steady, "linearize": run_linearize, "map": run_map}
