"""`draisine simulate MODEL`: a trajectory from initial conditions, as numbers, files or a film."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from draisine.cli.arguments import laws_of, model_of, names_of, numbers_of, targets_of
from draisine.cli.model_options import FIXED_STEP
from draisine.cli.terminal import DONE, ENDED_EARLY, INTERRUPTED, bar, print_json, print_text
from draisine.errors import ArgumentError
from draisine.results.files import check_target
from draisine.results.status import Ending
from draisine.results.trajectory import Trajectory
from draisine.simulation import methods
from draisine.simulation.simulate import simulate

METHODS = {  # names in `methods`, which loads each when it is used
    "auto": "Auto",
    "dop853": "DOP853",
    "radau": "Radau",
    "esdirk23": "ESDIRK23",
    "cvode": "CVODE",
    "ida": "IDA",
    "gauss": "Gauss",
    "rk4": "RK4",
    "heun": "Heun",
    "predictor-corrector": "PredictorCorrector",
}
DEFAULT_STEP, DEFAULT_TOLERANCE = 0.005, 1e-8  # as the help says


def run_simulate(given: argparse.Namespace, rest: list[str]) -> int:
    """Simulate, write the files, print a summary."""
    model = model_of(given.model)
    _check_files(given)
    with bar("simulating", silent=given.json) as progress:
        run = simulate(
            model,
            given.until,
            start=targets_of(rest, vars(given)),
            parameters=numbers_of(given.set, "--set"),
            inputs=laws_of(given.input, "--input"),
            method=_method(given),
            samples=given.samples,
            progress=progress,
        )
    if given.out is not None:
        run.save(given.out)
    if given.save is not None:
        run.save(given.save, charts=names_of(given.charts))
    if given.json:
        print_json(_as_data(run, given.out, given.save))
    else:
        print(run.scene["start"])
        print_text(run.summary())
        for path in (given.out, given.save):
            if path is not None:
                print(f"written: {path}")
    if run.status.kind is Ending.INTERRUPTED:
        return INTERRUPTED
    return DONE if run.status.complete else ENDED_EARLY


def _check_files(given: argparse.Namespace) -> None:
    """Whether the files can be written, checked before the simulation."""
    if given.out is not None:
        check_target(given.out)
    if given.save is not None:
        check_target(given.save, film=True)
    if given.charts and given.save is None:
        raise ArgumentError("--charts draws beside a film; name its file: --save ride.html")


def _method(given: argparse.Namespace) -> Any:
    method = getattr(methods, METHODS[given.method])
    fixed = given.method in FIXED_STEP
    if given.step is not None and not fixed:
        raise ArgumentError(
            f"--step: {given.method} chooses its steps; --tolerance sets them, or name a method with a fixed step: "
            f"{', '.join(FIXED_STEP)}"
        )
    if given.tolerance is not None and fixed:
        raise ArgumentError(f"--tolerance: {given.method} has a fixed step; --step sets it")
    step = DEFAULT_STEP if given.step is None else given.step
    if given.method == "gauss":
        return method(step=step, stages=2)
    if fixed:
        return method(step=step)
    rtol = DEFAULT_TOLERANCE if given.tolerance is None else given.tolerance
    return method(rtol=rtol, atol=rtol * 1e-2)


def _as_data(run: Trajectory, out: Path | None, film: Path | None) -> dict[str, Any]:
    return {
        "status": str(run.status.kind),
        "message": run.status.message,
        "warnings": list(run.status.warnings),
        "final": {name: float(value) for name, value in run.final.items()},
        "energy_drift": run.energy_drift,
        "constraint_residual": run.constraint_residual,
        "evaluations": run.statistics.evaluations,
        "events": [{"name": e.name, "time": e.time} for e in run.events],
        "seconds": dict(run.seconds),
        **({"written": str(out)} if out is not None else {}),
        **({"film": str(film)} if film is not None else {}),
    }
