"""`draisine continue`, `turns` and `atlas`: branches of steady motions, and atlases of turns."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping

from draisine.bicycle.hands_free_turns import hands_free_turns
from draisine.bicycle.turning_atlas import TURN_INPUTS, turning_atlas
from draisine.cli.arguments import identifier, motion_of, named_once, names_of, numbers_of
from draisine.cli.sweeps import Sweeps
from draisine.cli.terminal import DONE, print_json, print_result
from draisine.errors import ArgumentError
from draisine.stability.continuation.branch import Branch, continuation
from draisine.view.plots.branches import atlas_figure, branch_figure
from draisine.view.plots.figure_files import save_figure


def run_continue(given: argparse.Namespace, rest: list[str]) -> int:
    model, targets, parameters = motion_of(given, rest)
    sweeps, (name, sign, limits) = Sweeps(model), given.over.partition("=")
    branch = continuation(
        model,
        identifier(name),
        fixed=numbers_of(given.fix, "--fix"),
        free=names_of(given.free),
        start=targets,
        between=sweeps.limits(identifier(name), limits, "--over") if sign else None,
        bounds=named_once((sweeps.range(text, "--bound") for text in given.bound), "--bound"),
        parameters=parameters,
    )
    found: dict[str, Branch] = {branch.model: branch}
    if given.switch:
        for k, point in enumerate(branch.points("branch point")):
            found[f"crossing at {point.value:.6g}" + (f" ({k + 1})" if k else "")] = branch.switch(point)
    _print_branches(given, found)
    return DONE


def run_turns(given: argparse.Namespace, rest: list[str]) -> int:
    model, targets, parameters = motion_of(given, rest)
    if targets:
        raise ArgumentError(
            f"draisine turns finds all families and takes no initial conditions; leave out --{next(iter(targets))}"
        )
    _print_branches(
        given, hands_free_turns(model, speed=Sweeps(model).limits("speed", given.speed, "--speed"), parameters=parameters)
    )
    return DONE


def _print_branches(given: argparse.Namespace, branches: Mapping[str, Branch]) -> None:
    if given.plot is not None:
        save_figure(branch_figure(branches, *names_of(given.show)), given.plot)
    if given.json:
        print_json({title: branch.as_data() for title, branch in branches.items()})
        return
    for title, branch in branches.items():
        print(branch if title == branch.model else f"{title}: {branch}")
    if given.plot is not None:
        print(f"written: {given.plot}")


def run_atlas(given: argparse.Namespace, rest: list[str]) -> int:
    model, targets, parameters = motion_of(given, rest)
    hold = TURN_INPUTS if given.hold is None else names_of(given.hold)
    axes = named_once(map(Sweeps(model).sweep, given.over), "--over")
    if given.friction is not None and not 0.0 < given.friction < math.inf:
        raise ArgumentError(f"--friction {given.friction:g}: a coefficient of friction is a positive number, e.g. 0.8")
    found = turning_atlas(model, axes, hold=hold, near=targets or None, parameters=parameters)
    if given.plot is not None:
        save_figure(atlas_figure(found, friction=given.friction), given.plot)
    print_result(found, given.json)
    if given.json:
        return DONE
    if given.friction is not None:
        count = int(found.possible(given.friction).sum())
        print(f"  {count} neither slip on ground of friction {given.friction:g} nor lift a wheel")
    if given.plot is not None:
        print(f"written: {given.plot}")
    return DONE
