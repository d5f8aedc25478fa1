"""Maneuvers in TOML or JSON files: the methods of a maneuver are the tables of the file.

    model = "bicycle"
    duration = [0.3, 5]

    [start]
    speed = 8

    [finish]
    heading = "pi/4"
    lean = 0
    steer = 0
    rates = 0

    [bounds]
    steer_torque = [-5, 5]
    lean = [-1, 1]

    [minimize]
    time = 1

    [method]
    intervals = 60

Numbers may be written with units or as expressions of numbers ("18 deg", "pi/4"); an open side of a bound is "inf" or "-inf".
Further phases follow as [[then]]; where contacts stick, slip and open, each has its [modes], foot = "stick". Files are data:
texts are parsed as expressions, and nothing in a file is executed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from draisine.errors import ArgumentError, DataError, ModelError, UnitError
from draisine.model.model import Model
from draisine.model.quantities import Entry
from draisine.model.system import System
from draisine.model.toml_files import parse_json, parse_toml, with_line
from draisine.numerics.direct_methods import Collocation, MultipleShooting
from draisine.optimal.guess import ConstantGuess, Guess, LinearGuess, PerturbedGuess
from draisine.optimal.ipopt import Ipopt
from draisine.optimal.maneuver import DirectMethod, OptimalControlProblem
from draisine.optimal.refinement import Refinement
from draisine.optimal.solution import Solution
from draisine.optimal.stated_numbers import checked_number, stated_number
from draisine.program.equations import Equations
from draisine.results.files import read_text
from draisine.results.status import ProgressCallback

FindModel = Callable[[str], Model | System | Equations]

_PHASE_KEYS = (
    "start", "finish", "bounds", "along", "minimize", "duration", "optimize", "parameters", "inputs", "controls", "periodic",
    "modes",
)  # fmt: skip
_SOLVE_KEYS = ("method", "guess", "solver", "refine")


@dataclass(frozen=True, eq=False)
class OptimizationStudy:
    """A maneuver with the method and settings of its solution."""

    maneuver: OptimalControlProblem
    method: DirectMethod | None
    guess: Guess | None = None
    solver: Ipopt | None = None
    refine: Refinement | None = None

    def on(self, intervals: int) -> OptimizationStudy:
        """The same with another number of intervals."""
        return replace(self, method=replace(self.method or Collocation(), intervals=intervals))

    def solve(self, progress: ProgressCallback | None = None) -> Solution:
        return self.maneuver.solve(self.method, guess=self.guess, solver=self.solver, refine=self.refine, progress=progress)


def read_study(path: str | Path, model: FindModel) -> OptimizationStudy:
    """Read a maneuver from a file; `model` finds models by name."""
    source, text = Path(path), read_text(path, DataError)
    if source.suffix.lower() == ".json":
        content, lines = parse_json(text, str(source), DataError), ""
    else:
        content, lines = parse_toml(text, str(source), DataError), text
    try:
        return study_of(content, model)
    except (ModelError, ArgumentError, DataError, UnitError) as problem:
        raise DataError(with_line(str(source), lines, str(problem))) from None


def study_of(content: Any, model: FindModel) -> OptimizationStudy:
    """The maneuver in the content of a file.

    >>> import draisine as dr
    >>> stated = study_of({"model": "cart_pole", "start": {"pole": "pi"}, "finish": {"pole": 0}, "bounds": {"push": [-9, 9]},
    ...                        "minimize": {"time": 1}, "method": {"intervals": 30}}, dr.gallery.model)
    >>> stated.maneuver.limits
    (('push', (-9.0, 9.0)),)
    """
    top = Entry.of("the maneuver", content).only("model", "description", "then", *_PHASE_KEYS, *_SOLVE_KEYS)
    name = top.text("model")
    problem = _phase(OptimalControlProblem(model(name)), top)
    for number, table in enumerate(top.items("then", []), 2):
        entry = Entry.of(f"phase {number}", table).only("model", "joined", "jump", "impact", *_PHASE_KEYS)
        second = _phase(OptimalControlProblem(model(entry.text("model", name))), entry)
        joined = tuple(entry.texts("joined")) if entry.has("joined") else None
        jump = {n: entry.entry("jump").amount(n) for n in entry.table.get("jump", {})}
        impact = _texts(entry.entry("impact")) if entry.has("impact") else None
        problem = problem.then(second, joined=joined, jump=jump, impact=impact)
    guess = _guess(top.entry("guess")) if top.has("guess") else None
    return OptimizationStudy(problem, _method(top), guess, _solver(top), _refine(top))


def _phase(m: OptimalControlProblem, top: Entry) -> OptimalControlProblem:
    if top.has("start"):
        given = top.entry("start")
        free = given.texts("free", [])
        m = m.start(free=free, **{n: _number(given, n) for n in given.table if n != "free"})
    if top.has("finish"):
        m = _finish(m, top.entry("finish"))
    if top.has("bounds"):
        given = top.entry("bounds")
        m = m.bounds(**{n: _pair(given, n) for n in given.table})
    if top.has("along"):
        given = top.entry("along")
        m = m.along(**{n: given.text(n) for n in given.table})
    if top.has("minimize"):
        given = top.entry("minimize").only("time", "integral", "final")
        integral, final = (given.amount(n) if given.has(n) else None for n in ("integral", "final"))
        m = m.minimize(time=_number(given, "time") if given.has("time") else 0.0, integral=integral, final=final)
    if top.has("duration"):
        both = top.table["duration"]
        m = m.duration(*(_pair(top, "duration") if isinstance(both, list) else (_number(top, "duration", "s"),)))
    if top.has("optimize"):
        given = top.entry("optimize")
        m = m.optimize(**{n: _pair(given, n) for n in given.table})
    if top.has("parameters"):
        m = m.parameters(**_numbers(top.entry("parameters")))
    if top.has("inputs"):
        m = m.inputs(**_numbers(top.entry("inputs")))
    if top.has("controls"):
        m = m.controls(*top.texts("controls"))
    if top.has("periodic"):
        given = top.entry("periodic").only("names", "displaced")
        m = m.periodic(*given.texts("names", []), displaced=given.texts("displaced", []))
    if top.has("modes"):
        m = m.modes(**_texts(top.entry("modes")))
    return m


def _finish(m: OptimalControlProblem, given: Entry) -> OptimalControlProblem:
    """`rates` applies to the quantities of the table; `conditions` are texts."""
    values = {
        n: _pair(given, n) if isinstance(v, list) else _number(given, n)
        for n, v in given.table.items()
        if n not in ("rates", "conditions")
    }
    rates = _number(given, "rates") if given.has("rates") else None
    return m.finish(*given.texts("conditions", []), rates=rates, **values)


def _method(top: Entry) -> DirectMethod | None:
    if not top.has("method"):
        return None
    given = top.entry("method")
    kind = given.text("kind", "collocation", ("collocation", "multiple_shooting"))
    given.only(
        "kind", *(("scheme", "degree", "intervals", "constant_controls") if kind == "collocation" else ("intervals", "steps"))
    )
    intervals = _integer(given, "intervals", 60)
    if kind == "multiple_shooting":
        return MultipleShooting(intervals, _integer(given, "steps", 4))
    scheme = given.text("scheme", "radau")
    return Collocation(scheme, _integer(given, "degree", 3), intervals, given.flag("constant_controls", False))  # type: ignore[arg-type]


def _guess(given: Entry) -> LinearGuess | ConstantGuess | PerturbedGuess:
    kind = given.text("kind", "linear", ("linear", "constant", "perturbed"))
    given.only("kind", "duration", "inputs", *(("seed", "amplitude") if kind == "perturbed" else ()))
    duration = _number(given, "duration", "s") if given.has("duration") else None
    inputs = _numbers(given.entry("inputs")) if given.has("inputs") else {}
    if kind == "constant":
        return ConstantGuess(duration, inputs)
    linear = LinearGuess(duration, inputs)
    if kind == "linear":
        return linear
    return PerturbedGuess(linear, _integer(given, "seed", 0), _number(given, "amplitude", "") if given.has("amplitude") else 0.3)


def _solver(top: Entry) -> Ipopt | None:
    if not top.has("solver"):
        return None
    given = top.entry("solver").only("tolerance", "iterations")
    return Ipopt(_number(given, "tolerance", "") if given.has("tolerance") else 1e-8, _integer(given, "iterations", 1000))


def _refine(top: Entry) -> Refinement | None:
    if not top.has("refine"):
        return None
    own, given = Refinement(), top.entry("refine").only("tolerance", "rounds", "most", "seconds")
    tolerance, seconds = (
        _number(given, n, unit) if given.has(n) else getattr(own, n) for n, unit in (("tolerance", ""), ("seconds", "s"))
    )
    return Refinement(tolerance, _integer(given, "rounds", own.rounds), _integer(given, "most", own.most), seconds)


# -------------------------------------------------------------------------------------------------------- numbers


def _numbers(given: Entry) -> dict[str, float]:
    return {n: _number(given, n) for n in given.table}


def _texts(given: Entry) -> dict[str, str]:
    return {n: given.text(n) for n in given.table}


def _number(given: Entry, key: str, unit: str | None = None) -> float:
    """A number; one with a unit keeps it until its quantity is known, unless the `unit` is given."""
    where = f"{key} of {given.where}"
    number = stated_number(given.amount(key), where)
    return number if unit is None else checked_number(number, unit, where)


def _pair(given: Entry, key: str) -> tuple[float, float]:
    both = given.items(key)
    if len(both) != 2 or not all(isinstance(v, str | int | float) and not isinstance(v, bool) for v in both):
        raise DataError(f"{key} of {given.where}: give a lower and an upper bound, such as [-5, 5] or [0, 'inf'], got {both!r}")
    low, high = (stated_number(v, f"{key} of {given.where}") for v in both)
    return low, high


def _integer(given: Entry, key: str, default: int) -> int:
    value = given.amount(key, default)
    if not isinstance(value, int):
        raise DataError(f"{key} of {given.where}: give a whole number, got {value!r}")
    return value
