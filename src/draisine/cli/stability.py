"""`draisine modes`, `critical`, `steady`, `linearize`, `map`, `lqr` and `uncertainty`: stability and control of motions."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from draisine.bicycle.measured import read_bicycle
from draisine.cli.arguments import model_of, motion_of, motion_targets, named_once, names_of, numbers_of
from draisine.cli.motion_options import SPEEDS
from draisine.cli.sweeps import Sweeps
from draisine.cli.terminal import DONE, bar, print_json, print_result, print_text, table
from draisine.control.design.regulator import lqr
from draisine.errors import ArgumentError, SolverError
from draisine.model.model import Model
from draisine.program.arguments import refuse_unilateral
from draisine.program.equations import Equations
from draisine.results.controllability import complex_text
from draisine.stability.critical import Critical
from draisine.stability.linearization import explicit_equations_of, linearize
from draisine.stability.modes import Modes, modes
from draisine.stability.stability_map import stability_map
from draisine.stability.steady import steady
from draisine.view.plots.figure_files import save_figure


def _modes(
    given: argparse.Namespace, model: Model | Equations, targets: Mapping[str, float], parameters: Mapping[str, float]
) -> Modes:
    name, values = Sweeps(model).sweep(given.over or _default_sweep(model))
    return modes(model, {name: values}, fixed=targets, parameters=parameters, states=_states(given, model))


def _default_sweep(model: Model | Equations) -> str:
    refuse_unilateral("modes", model)
    e = explicit_equations_of(model)
    if "speed" not in {q.name for q in (*e.states, *e.outputs)}:
        raise ArgumentError(f"{e.name} has no speed to sweep; name the swept quantity: --over NAME=FROM:TO:COUNT")
    return SPEEDS


def _states(given: argparse.Namespace, model: Model | Equations) -> tuple[str, ...]:
    """The states named by --states; by default lean and steer of a two-wheeler."""
    named = names_of(given.states)
    if named:
        return named
    refuse_unilateral(given.command, model)
    e = explicit_equations_of(model)
    known = {q.name for q in (*e.coordinates, *e.outputs)}
    return ("lean", "steer") if {"lean", "steer"} <= known else ()


def run_modes(given: argparse.Namespace, rest: list[str]) -> int:
    model, targets, parameters = motion_of(given, rest)
    found = _modes(given, model, targets, parameters)
    if given.plot is not None:
        save_figure(found.plot(), given.plot)
    if given.json:
        print_json(found.as_data())
        return DONE
    print_text(found)
    for critical in found.critical():
        print(f"{critical.kind}: {critical.over} = {critical.value:.12g} {critical.unit}".rstrip())
    if given.plot is not None:
        print(f"written: {given.plot}")
    return DONE


def run_critical(given: argparse.Namespace, rest: list[str]) -> int:
    model, targets, parameters = motion_of(given, rest)
    found = _modes(given, model, targets, parameters).critical()
    gradients = [_gradient(c) if given.gradient else {} for c in found]
    if given.json:
        print_json(
            [
                {**c.as_data(), "gradient": g, "gradient_units": c.gradient_units if given.gradient else {}}
                for c, g in zip(found, gradients, strict=True)
            ]
        )
        return DONE
    if not found:
        print("no critical value in the sweep")
    for critical, gradient in zip(found, gradients, strict=True):
        at = f"{critical.value:.14g} {critical.unit}".rstrip()
        print(f"{critical.kind}: {critical.over} = {at}, eigenvalue {complex_text(critical.eigenvalue)} 1/s")
        for name, value in sorted(gradient.items(), key=lambda item: -abs(item[1])):
            print(f"    d{critical.over}/d{name} = {value:.8g} {critical.gradient_units[name]}".rstrip())
        if given.gradient and not gradient:
            print("    no derivative: several modes are critical together")
    return DONE


def _gradient(critical: Critical) -> dict[str, float]:
    """The gradient; empty where several modes are critical together."""
    try:
        return critical.gradient()
    except SolverError:
        return {}


def run_steady(given: argparse.Namespace, rest: list[str]) -> int:
    model, targets, parameters = motion_of(given, rest)
    found = steady(model, targets, free=names_of(given.free), parameters=parameters)
    linear = found.linearize(_states(given, model)).essential()
    if given.json:
        print_json({"values": found.values, "ignorable": found.ignorable, "linear": linear.as_data()})
        return DONE
    table(("", ""), [(name, f"{value:.9g}") for name, value in found.values.items()])
    print_text(linear)
    return DONE


def run_linearize(given: argparse.Namespace, rest: list[str]) -> int:
    model, targets, parameters = motion_of(given, rest)
    found = linearize(model, targets, parameters=parameters, states=_states(given, model))
    print_result(found if given.full else found.essential(), given.json)
    return DONE


def run_map(given: argparse.Namespace, rest: list[str]) -> int:
    model, targets, parameters = motion_of(given, rest)
    over = named_once(map(Sweeps(model).sweep, given.over), "--over")
    with bar("map", silent=given.json) as progress:
        found = stability_map(
            model,
            over,
            fixed=targets,
            free=names_of(given.free),
            parameters=parameters,
            states=_states(given, model),
            growth=given.growth,
            progress=progress,
        )
    if given.plot is not None:
        save_figure(found.plot(), given.plot)
    print_result(found, given.json, given.plot)
    return DONE


def run_lqr(given: argparse.Namespace, rest: list[str]) -> int:
    required = (("--weight", given.weight, "lean=10"), ("--input-weight", given.input_weight, "steer_torque=0.1"))
    for option, texts, example in required:
        if not texts:
            raise ArgumentError(f"lqr: give at least one {option} NAME=VALUE, e.g. {option} {example}")
    law = lqr(
        model_of(given.model),
        motion_targets(given, rest),
        weights=numbers_of(given.weight, "--weight"),
        input_weights=numbers_of(given.input_weight, "--input-weight"),
        states=names_of(given.states),
        parameters=numbers_of(given.set, "--set"),
        limits=numbers_of(given.limit, "--limit"),
        period=given.period,
    )
    print_result(law, given.json)
    if given.json:
        return DONE
    if given.period is not None:
        print("to simulate it in Python: dr.simulate(…, control=law.sampled())")
        return DONE
    for name, expression in law.items():
        print(f"--input '{name}={expression}'")
    return DONE


def run_uncertainty(given: argparse.Namespace, _: list[str]) -> int:
    bike = read_bicycle(given.file)
    name, speeds = Sweeps(bike.model()).sweep(given.over)
    if name != "speed":
        raise ArgumentError(f"--over {given.over!r}: this command sweeps the speed, e.g. speed=0:10:101")
    found = bike.modes(speeds, runs=given.samples)
    if given.plot is not None:
        save_figure(bike.figure(speeds), given.plot)
    print_result(found, given.json, given.plot)
    return DONE
