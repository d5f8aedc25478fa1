"""The command line, `draisine COMMAND …`: its parser, and the commands that have no file of their own in `commands/`.

Arguments are parsed before anything heavy is loaded, so that help is immediate. Results go to stdout, everything else to stderr;
with --json there is one JSON value on stdout and nothing else. `EXIT_CODES` says what the exit status means.
"""

from __future__ import annotations

import argparse
import logging
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.commands import (
    certify,
    compare_drift,
    completion,
    continuation,
    design,
    doctor,
    draw,
    ensemble,
    equations,
    estimate,
    export,
    filter,
    optimise,
    report,
    stability,
    studio,
    uncertainty,
)
from draisine.commands.terminal import bar, print_json, say, table

if TYPE_CHECKING:
    from draisine.model import Model
    from draisine.program.equations import Equations
    from draisine.results import Trajectory

DONE, ENDED_EARLY, WRONG, INFEASIBLE, INTERRUPTED = 0, 1, 2, 3, 130
EXIT_CODES = {
    DONE: "done",
    ENDED_EARLY: "done, but it did not come out as it should: a run ended early, a certificate disagrees, nothing can move, "
    "no solution was found, a chapter of a report could not be written",
    WRONG: "the call, the model or a file is wrong; the message says what and how to cure it",
    INFEASIBLE: "the manoeuvre is infeasible; the conditions that fight are named (optimise)",
    INTERRUPTED: "interrupted from the keyboard; what was finished is kept",
}
METHODS = ("auto", "dop853", "radau", "esdirk23", "gauss", "cvode", "ida", "rk4", "heun", "predictor-corrector")


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser(words[0] if words else None)
    given, wishes = parser.parse_known_args(words)
    wishing = (
        "simulate",
        "compare-drift",
        "doctor",
        "export",
        "equations",
        "draw",
        "lqr",
        "ensemble",
        "report",
        *stability.TASKS,
        *continuation.TASKS,
    )
    if wishes and given.command not in wishing:
        parser.error(f"unrecognised: {' '.join(wishes)}")
    _speak()
    try:
        code: int = given.action(given, wishes)
        return code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # the reader of our output went away, as `| head` does; nothing is wrong
        sys.stderr.close()
        return DONE
    except (ValueError, KeyError, OSError) as problem:
        # what our own checks raise: the message names the thing and the cure
        logging.getLogger("draisine").debug("where it was raised", exc_info=True)
        print(f"draisine: {problem.args[0] if isinstance(problem, KeyError) and problem.args else problem}", file=sys.stderr)
        return WRONG


def _speak() -> None:
    """Say on the terminal what the package notes on its way, such as that something is being compiled for the first time."""
    logger = logging.getLogger("draisine")
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("draisine: %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)


class _Chosen:
    """Of all commands the one that was asked for: making the parsers of all takes as long as a run."""

    def __init__(self, commands: Any, wanted: str) -> None:
        self._commands, self._wanted = commands, wanted

    def add_parser(self, name: str, **described: Any) -> Any:
        return self._commands.add_parser(name, **described) if name == self._wanted else _Ignored()


class _Ignored:
    """The parser of a command that was not asked for: whatever is added to it is not there."""

    def __getattr__(self, name: str) -> Callable[..., _Ignored]:
        return lambda *_, **__: self


def _parser(wanted: str | None = None) -> argparse.ArgumentParser:
    """The parser of one command; of all of them if none is named, or none of that name is known."""
    parser = argparse.ArgumentParser(
        prog="draisine",
        description="Constrained mechanical systems: describe, derive, simulate, look.",
        epilog="exit status:\n"
        + "\n".join(textwrap.fill(f"{code:>5}  {what}", 100, subsequent_indent=" " * 7) for code, what in EXIT_CODES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    every = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands: Any = every if wanted is None else _Chosen(every, wanted)

    listing = commands.add_parser("list", help="models and studies of the gallery")
    listing.add_argument("--json", action="store_true", help="print one JSON object")
    listing.set_defaults(action=_list)

    show = commands.add_parser("show", help="what a model is made of")
    show.add_argument("model", metavar="MODEL", help="a name of the gallery, or a model file (.toml)")
    show.add_argument("--json", action="store_true", help="print one JSON object")
    show.set_defaults(action=_show)

    simulate = commands.add_parser(
        "simulate",
        help="move a model from a consistent start",
        description="Move a model from a consistent start. Any quantity may be wished for by name: --speed 4.6 --roll-rate 0.5",
        epilog="example: draisine simulate bicycle --speed 4.6 --roll-rate 0.5 --until 5 --out ride.nc",
    )
    simulate.add_argument("model", metavar="MODEL", help="a name of the gallery, or a model file (.toml)")
    simulate.add_argument("--until", type=float, default=5.0, metavar="SECONDS", help="how long (default 5)")
    simulate.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter, e.g. m_rear_wheel=2.5; may repeat"
    )
    simulate.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=LAW",
        help="a number or a law, e.g. 'steer_torque=-2*steer_rate'; may repeat",
    )
    simulate.add_argument(
        "--method", choices=METHODS, default="auto", help="integration method (default auto, which says what it took)"
    )
    simulate.add_argument(
        "--tolerance",
        type=float,
        default=1e-8,
        metavar="REL",
        help="relative tolerance of methods that control their steps (default 1e-8)",
    )
    simulate.add_argument(
        "--step",
        type=float,
        default=0.005,
        metavar="SECONDS",
        help="step of gauss and of the explicit fixed-step methods (default 0.005)",
    )
    simulate.add_argument(
        "--samples", type=int, default=None, metavar="N", help="how many instants to keep (default 100 per second)"
    )
    simulate.add_argument("--out", type=Path, default=None, metavar="FILE", help="write the trajectory: .nc, .parquet or .csv")
    simulate.add_argument(
        "--save", type=Path, default=None, metavar="FILM", help="write a film: .html (plays in any browser), .gif, .mp4 or .png"
    )
    simulate.add_argument(
        "--charts", default="", metavar="NAMES", help="quantities drawn beside the film, with commas between: lean,steer"
    )
    simulate.add_argument("--json", action="store_true", help="print one JSON object")
    simulate.set_defaults(action=_simulate)

    certify.add(commands, _certify)
    doctor.add(commands, _doctor)
    compare_drift.add(commands, _compare_drift)
    export.add(commands, _export)
    equations.add(commands, _equations)
    draw.add(commands, _draw)
    stability.add(commands, *(_stability(task) for task in ("modes", "critical", "steady", "linearize", "map")))
    design.add(commands, _lqr)
    continuation.add(commands, *(_stability(task) for task in ("continue", "turns", "atlas")))
    uncertainty.add(commands, _uncertainty)
    ensemble.add(commands, _ensemble)
    estimate.add(commands, _estimate)
    filter.add(commands, _filter)
    optimise.add(commands, _optimise)
    studio.add(commands, _studio)
    report.add(commands, _report)

    run = commands.add_parser("run", help="run a study of the gallery and save its figures")
    run.add_argument("study", metavar="STUDY")
    run.add_argument(
        "--out", type=Path, default=Path("out"), metavar="DIR", help="folder for figures and trajectories (default out)"
    )
    run.add_argument("--json", action="store_true", help="print one JSON object")
    run.set_defaults(action=_run)
    completion.add(commands, _completion)
    return parser if wanted is None or wanted in every.choices else _parser()


# ---------------------------------------------------------------- commands


def _list(given: argparse.Namespace, _: list[str]) -> int:
    from draisine import gallery

    models, studies = gallery.models(), gallery.studies()
    if given.json:
        print_json({"models": models, "studies": studies})
        return DONE
    table(("", ""), list(models.items()), "models (draisine show MODEL, draisine simulate MODEL)")
    table(("", ""), list(studies.items()), "studies (draisine run STUDY)")
    return DONE


def _show(given: argparse.Namespace, _: list[str]) -> int:
    from draisine.equations import derive
    from draisine.equations.writing.text import describe, describe_as_data
    from draisine.program.equations import Equations

    model = _model(given.model)
    system = None if isinstance(model, Equations) else model.freeze()
    equations = model if isinstance(model, Equations) else derive(model)
    if given.json:
        print_json(describe_as_data(equations, system))
    else:
        say(describe(equations, system))
    return DONE


def _simulate(given: argparse.Namespace, extra: list[str]) -> int:
    from draisine.results.files import check_target
    from draisine.results.status import Ending
    from draisine.verbs import simulate

    model = _model(given.model)
    if given.out is not None:
        check_target(given.out)  # before the work, not after it
    if given.save is not None:
        check_target(given.save, film=True)
    elif given.charts:
        raise ValueError("--charts draws beside a film; name its file: --save ride.html")
    with bar("simulating", silent=given.json) as progress:
        run = simulate(
            model,
            given.until,
            start=_wishes(extra),
            parameters={name: _number(name, value) for name, value in _pairs(given.set, "--set")},
            inputs={name: _law(value) for name, value in _pairs(given.input, "--input")},
            method=_method(given),
            samples=given.samples,
            progress=progress,
        )
    if given.out is not None:
        run.save(given.out)
    if given.save is not None:
        run.save(given.save, charts=[word.strip() for word in given.charts.split(",") if word.strip()])
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


def _certify(given: argparse.Namespace, _: list[str]) -> int:
    other = _model(given.against) if given.against is not None else None
    return DONE if certify.run(given, _model(given.model), other) else ENDED_EARLY


def _compare_drift(given: argparse.Namespace, extra: list[str]) -> int:
    parameters = {name: _number(name, value) for name, value in _pairs(given.set, "--set")}
    compare_drift.run(given, _model(given.model), _wishes(extra), parameters)
    return DONE


def _export(given: argparse.Namespace, extra: list[str]) -> int:
    export.run(given, _model(given.model), _wishes(extra))
    return DONE


def _equations(given: argparse.Namespace, extra: list[str]) -> int:
    equations.run(given, _model(given.model), _wishes(extra))
    return DONE


def _doctor(given: argparse.Namespace, extra: list[str]) -> int:
    parameters = {name: _number(name, value) for name, value in _pairs(given.set, "--set")}
    return DONE if doctor.run(given, _model(given.model), _wishes(extra), parameters) else ENDED_EARLY


def _draw(given: argparse.Namespace, extra: list[str]) -> int:
    parameters = {name: _number(name, value) for name, value in _pairs(given.set, "--set")}
    draw.run(given, _model(given.model), _wishes(extra), parameters)
    return DONE


def _lqr(given: argparse.Namespace, extra: list[str]) -> int:
    def numbers(texts: list[str], option: str) -> dict[str, float]:
        return {name: _number(name, value) for name, value in _pairs(texts, option)}

    design.run(given, _model(given.model), _wishes(extra), numbers)
    return DONE


def _stability(task: str) -> Callable[[argparse.Namespace, list[str]], int]:
    def act(given: argparse.Namespace, extra: list[str]) -> int:
        from draisine.program.equations import Equations

        model = _model(given.model)
        wishes = {**_wishes(extra), **{name: _number(name, value) for name, value in _pairs(given.at, "--at")}}
        parameters: dict[str, float] = {}
        own = {p.name for p in (model if isinstance(model, Equations) else model.freeze()).parameters}
        for name, value in _pairs(given.set, "--set"):
            (parameters if name in own else wishes)[name] = _number(name, value)
        {**stability.TASKS, **continuation.TASKS}[task](given, model, wishes, parameters)
        return DONE

    return act


def _ensemble(given: argparse.Namespace, extra: list[str]) -> int:
    parameters = {name: _number(name, value) for name, value in _pairs(given.set, "--set")}
    inputs = {name: _law(value) for name, value in _pairs(given.input, "--input")}
    return ensemble.run(given, _model(given.model), _wishes(extra), parameters, inputs)


def _estimate(given: argparse.Namespace, _: list[str]) -> int:
    estimate.run(given, _model)
    return DONE


def _filter(given: argparse.Namespace, _: list[str]) -> int:
    filter.run(given, _model, _pairs)
    return DONE


def _uncertainty(given: argparse.Namespace, _: list[str]) -> int:
    uncertainty.run(given)
    return DONE


def _optimise(given: argparse.Namespace, _: list[str]) -> int:
    return optimise.run(given, _model)


def _report(given: argparse.Namespace, extra: list[str]) -> int:
    parameters = {name: _number(name, value) for name, value in _pairs(given.set, "--set")}
    return DONE if report.run(given, _model(given.model), _wishes(extra), parameters) else ENDED_EARLY


def _studio(given: argparse.Namespace, _: list[str]) -> int:
    return DONE if studio.run(given, _model) else ENDED_EARLY


def _run(given: argparse.Namespace, _: list[str]) -> int:
    from draisine import gallery

    study = gallery.study(given.study)()
    folder = given.out if given.out is not None else Path("out") / given.study
    written = study.save(folder)
    if given.json:
        print_json({"study": given.study, "title": study.title, "findings": study.findings, "written": written})
        return DONE
    say(study.summary())
    print(f"written to {folder}: {', '.join(path.name for path in written)}")
    return DONE


def _completion(given: argparse.Namespace, _: list[str]) -> int:
    print(completion.script(given.shell, _parser()))
    return DONE


# ---------------------------------------------------------------- reading the call


def _model(name: str) -> Model | Equations:
    """A gallery model by name, or a model file or bicycle's parameter file by path."""
    from draisine import gallery

    if name.endswith(".txt"):
        from draisine.measured_bicycle import read_bicycle

        return read_bicycle(name).model()
    if name.endswith(".toml") or "/" in name:
        from draisine.model.files import read_model

        return read_model(Path(name))
    return gallery.model(name)


def _pairs(texts: list[str], option: str) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name or not value:
            raise ValueError(f"{option} {text!r}: write NAME=VALUE")
        pairs.append((name.strip().replace("-", "_"), value.strip()))
    return pairs


def _wishes(extra: list[str]) -> dict[str, float]:
    """`--roll-rate 0.5` or `--roll-rate=0.5` as a wish {roll_rate: 0.5}."""
    wishes: dict[str, float] = {}
    waiting = list(extra)
    while waiting:
        word = waiting.pop(0)
        if not word.startswith("--") or len(word) < 3:
            raise ValueError(f"unexpected {word!r}; wishes for the start are written --name value")
        name, sign, value = word[2:].partition("=")
        if not sign:
            if not waiting:
                raise ValueError(f"--{name} needs a number, e.g. --{name} 1.0")
            value = waiting.pop(0)
        wishes[name.replace("-", "_")] = _number(f"--{name}", value)
    return wishes


def _number(name: str, text: str) -> float:
    """A number, or a number with a unit or an expression of numbers ("18 deg", "pi/10")."""
    from draisine.model.units import quantity
    from draisine.program.expression import evaluate_number, parse

    try:
        return float(text)
    except ValueError:
        with_unit = quantity(text)
        return with_unit[0] if with_unit is not None else evaluate_number(parse(text))


def _law(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _method(given: argparse.Namespace) -> Any:
    from draisine import simulation

    fixed = {"rk4": simulation.RK4, "heun": simulation.Heun, "predictor-corrector": simulation.PredictorCorrector}
    if given.method in fixed:
        return fixed[given.method](step=given.step)
    if given.method == "gauss":
        return simulation.Gauss(step=given.step, stages=2)
    controlled = {
        "auto": simulation.Auto,
        "dop853": simulation.DOP853,
        "radau": simulation.Radau,
        "esdirk23": simulation.ESDIRK23,
        "cvode": simulation.CVODE,
        "ida": simulation.IDA,
    }
    return controlled[given.method](rtol=given.tolerance, atol=given.tolerance * 1e-2)


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
