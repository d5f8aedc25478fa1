"""`draisine simulate MODEL [--until S] [--method NAME] [--out FILE] [--save FILM] [--json] [--name value …]`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.cli.arguments import laws_of, model_of, names_of, numbers_of, targets_of
from draisine.cli.options import add_json, add_model, add_set, seconds
from draisine.cli.terminal import DONE, ENDED_EARLY, INTERRUPTED, bar, print_json, say
from draisine.errors import ArgumentError

if TYPE_CHECKING:
    from draisine.results.trajectory import Trajectory

CONTROLLED = {"auto": "Auto", "dop853": "DOP853", "radau": "Radau", "esdirk23": "ESDIRK23", "cvode": "CVODE", "ida": "IDA"}
FIXED = {"gauss": "Gauss", "rk4": "RK4", "heun": "Heun", "predictor-corrector": "PredictorCorrector"}  # steps of one length


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "simulate",
        help="move a model from a consistent start",
        description="Move a model from a consistent start. Any quantity may be wished for by name: --speed 4.6 --roll-rate 0.5",
        epilog="example: draisine simulate bicycle --speed 4.6 --roll-rate 0.5 --until 5 --out ride.nc",
    )
    add_model(parser)
    parser.add_argument("--until", type=seconds, default=5.0, metavar="SECONDS", help="how long (default 5)")
    add_set(parser, "m_rear_wheel=2.5")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=LAW",
        help="a number or a law, e.g. 'steer_torque=-2*steer_rate'; may repeat",
    )
    _add_method(parser)
    parser.add_argument(
        "--samples", type=int, default=None, metavar="N", help="how many instants to keep (default 100 per second)"
    )
    parser.add_argument("--out", type=Path, default=None, metavar="FILE", help="write the trajectory: .nc, .parquet or .csv")
    parser.add_argument(
        "--save", type=Path, default=None, metavar="FILM", help="write a film: .html (plays in any browser), .gif, .mp4 or .png"
    )
    parser.add_argument(
        "--charts", default="", metavar="NAMES", help="quantities drawn beside the film, with commas between: lean,steer"
    )
    add_json(parser)
    parser.set_defaults(action=run, takes_targets=True)


def _add_method(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--method",
        choices=(*CONTROLLED, *FIXED),
        default="auto",
        help="integration method (default auto, which says what it took)",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        default=1e-8,
        metavar="REL",
        help="relative tolerance of methods that control their steps (default 1e-8)",
    )
    parser.add_argument(
        "--step",
        type=seconds,
        default=0.005,
        metavar="SECONDS",
        help="step of gauss and of the explicit fixed-step methods (default 0.005)",
    )


def run(given: argparse.Namespace, extra: list[str]) -> int:
    """Move the model, write what is to be written, say how it went."""
    from draisine.results.status import Ending
    from draisine.simulation.simulate import simulate

    model = model_of(given.model)
    _check_targets(given)
    with bar("simulating", silent=given.json) as progress:
        run = simulate(
            model,
            given.until,
            start=targets_of(extra),
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
        say(run.summary())
        for path in (given.out, given.save):
            if path is not None:
                print(f"written: {path}")
    if run.status.kind is Ending.INTERRUPTED:
        return INTERRUPTED
    return DONE if run.status.complete else ENDED_EARLY


def _check_targets(given: argparse.Namespace) -> None:
    """Whether files can be written is found out before the work, not after it."""
    if given.out is not None or given.save is not None:
        from draisine.results.files import check_target

        if given.out is not None:
            check_target(given.out)
        if given.save is not None:
            check_target(given.save, film=True)
    if given.charts and given.save is None:
        raise ArgumentError("--charts draws beside a film; name its file: --save ride.html")


def _method(given: argparse.Namespace) -> Any:
    from draisine.simulation import methods

    if given.method == "gauss":
        return methods.Gauss(step=given.step, stages=2)
    if given.method in FIXED:
        return getattr(methods, FIXED[given.method])(step=given.step)
    return getattr(methods, CONTROLLED[given.method])(rtol=given.tolerance, atol=given.tolerance * 1e-2)


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
