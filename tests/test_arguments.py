"""The same argument has the same name, position and meaning in every verb, and every verb explains its arguments.

One table holds the arguments that several verbs share: where each stands, what it is, and what its annotation says. A verb that
deviates fails here, and so does an argument of several verbs that the table does not hold.
"""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

import draisine as dr

KEYWORD = -1  # stands for: by keyword only


@dataclass(frozen=True)
class Argument:
    """Where an argument stands, its meaning, and a pattern of its annotation."""

    at: int | tuple[int, ...]
    meaning: str
    annotation: str = ""

    @property
    def places(self) -> tuple[int, ...]:
        return self.at if isinstance(self.at, tuple) else (self.at,)


# in every verb that takes a model, equations or a result
SHARED = {
    "model": Argument(0, "what is studied: a description, or equations", r"Model|Subject|Described"),
    "linear": Argument(0, "a linear model, in place of `model`", r"^LinearModel$"),
    "input": Argument((1, 2), "name of one input of a linear model", r"^str$"),
    "output": Argument((2, 3), "names of outputs of a linear model", r"str"),
    "width": Argument(KEYWORD, "of a figure, in inches", r"^float$"),
    "until": Argument(1, "duration in seconds", r"^float$"),
    "start": Argument(KEYWORD, "targets by name for the initial state", r"^Mapping\[str, .*\| None$"),
    "parameters": Argument(KEYWORD, "values by name; the others have their defaults", r"^Mapping\[str, .*\| None$"),
    "inputs": Argument(KEYWORD, "constants or laws by name", r"^Mapping\[str, .*\| None$"),
    "outputs": Argument(KEYWORD, "names of the outputs that are kept", r"^Sequence\[str\]$"),
    "samples": Argument(KEYWORD, "output times, or their number", r"ArrayLike.*int|int.*ArrayLike"),
    "method": Argument(
        KEYWORD, "the numerical method, an object with its settings", r"Method|Shooting|Filter|Adjoint|Collocation"
    ),
    "seed": Argument(KEYWORD, "of the random numbers", r"^int$"),
    "progress": Argument(KEYWORD, "called with a `Progress` (`text`, `share`, `values`)", r"^ProgressCallback \| None$"),
    "on": Argument(KEYWORD, "where to run: a client of a cluster, or an executor of processes", r"^Any$"),
    "events": Argument((KEYWORD, 2), "in addition to those of the model", r"^Sequence\[Event\]$|Event"),
    "runs": Argument(KEYWORD, "number of runs that are drawn at random", r"^int"),
    "cases": Argument(KEYWORD, "a table with one row per run", r"^Any$"),
    "fixed": Argument(
        (1, KEYWORD), "quantities of a steady or periodic motion with given values", r"^Mapping\[str, float\] \| None$"
    ),
    "free": Argument(KEYWORD, "inputs or parameters that are solved for", r"^Sequence\[str\]$"),
    "near": Argument(KEYWORD, "a guess of the motion", r"^Mapping\[str, float\] .*None$"),
    "states": Argument(KEYWORD, "names of the states of a linear model", r"^Sequence\[str\]$"),
    "over": Argument((1, 2), "the quantities that are varied, after model and until", r"Mapping|^str$"),
    "at": Argument(
        (1, KEYWORD), "targets by name for the motion that is studied, or a value of the swept quantity", r"Mapping|^float$"
    ),
    "data": Argument(1, "a table, a file, a trajectory, or several", r"^Any$"),
    "unknown": Argument(2, "names of the parameters that are estimated", r"^Sequence\[str\]"),
    "measured": Argument((3, KEYWORD), "columns or quantities with their noise", r"^Mapping\[str, "),
    "priors": Argument(KEYWORD, "prior knowledge by name", r"^Mapping\[str, .*\| None$"),
    "weights": Argument(KEYWORD, "of deviations, by name", r"^Mapping\[str, float\]"),
    "input_weights": Argument(KEYWORD, "of inputs, by name", r"^Mapping\[str, float\]"),
    "controls": Argument(
        (KEYWORD, 1, 2, 3), "names of the inputs that are solved for or set by a law", r"Sequence\[str\]|Mapping"
    ),
    "poles": Argument(KEYWORD, "eigenvalues of the closed loop", r"Poles|complex"),
    "reference": Argument((1, KEYWORD), "quantities with the motion that they follow", r"^Mapping\[str, Amount\]"),
    "limits": Argument(KEYWORD, "largest magnitudes of inputs, or pairs", r"Limits"),
    "period": Argument(KEYWORD, "seconds: of a periodic motion, or between samples", r"^float \| None$"),
    "horizon": Argument(KEYWORD, "seconds ahead that are considered", r"^float$"),
    "time": Argument(KEYWORD, "of the point or start, in seconds", r"^float$"),
    "steps": Argument(KEYWORD, "step lengths of a continuation", r"^Steps \| None$"),
    "step": Argument((1, KEYWORD), "length of a time step in seconds", r"^float( \| None)?$"),
    "names": Argument(
        (2, KEYWORD), "own names for usual ones, or names of what is shown", r"^Mapping\[str, str\] \| None$|^Sequence\[str\]$"
    ),
    "chunk": Argument(KEYWORD, "number of runs computed together", r"^int$"),
    "tolerance": Argument(KEYWORD, "relative and absolute, of the integration", r"^float"),
    "title": Argument(KEYWORD, "name shown or printed for the subject of a document", r"^str"),
    "path": Argument((0, 1, 2, 4), "a file; in prescribed motions, constraints by name", r"str \| (Path|os\.PathLike)|Mapping"),
    "out": Argument((1, 3, KEYWORD), "a file or folder that is written", r"str \| Path"),
    "keep": Argument(KEYWORD, "what is retained", r"^Sequence\["),
    "found": Argument((0, 1), "a result that is shown", r"^Modes$"),
    "program": Argument(0, "a program of equations", r"Program"),
    "lean": Argument(KEYWORD, "name of the lean angle", r"^str$"),
    "steer": Argument(KEYWORD, "name of the steer angle", r"^str$"),
    "speed": Argument(KEYWORD, "name of the speed, or its range", r"^str$|tuple"),
    "gravity": Argument(KEYWORD, "name of the parameter of gravity", r"^str$"),
}

# in every verb that makes equations from formulas: definitions instead of values
BUILDERS = {"first_order", "from_sympy", "implicit", "lagrangian", "semi_explicit"}
DEFINED = {
    "name": Argument((0, KEYWORD), "of the system", r"^str$"),
    "parameters": Argument(KEYWORD, "symbol and default value", r"^Mapping\[Any, float\] \| None$"),
    "inputs": Argument(KEYWORD, "symbols", r"^Sequence\[Any\]$"),
    "outputs": Argument(KEYWORD, "name and expression", r"^Mapping\[str, Any\] \| None$"),
    "start": Argument(KEYWORD, "symbol and default initial value", r"^Mapping\[Any, .*\| None$"),
    "units": Argument(KEYWORD, "symbol or name and its SI unit", r"^Mapping\[Any, str\] \| None$"),
    "stabilization": Argument(KEYWORD, "of the constraints", r"^Baumgarte \| None$"),
}

# in every function that makes a part of a machine: it is mounted on a frame and has physical properties
INERTIA = r"^Mapping\[str, Amount\] \| Sequence\[Amount\]$"
PARTS = {
    "model": Argument(0, "the model to which the part is added", r"^Model$"),
    "name": Argument(1, "of the part, with which the names in it begin", r"^str$"),
    "on": Argument(2, "the frame on which it is mounted", r"^Mount$"),
    "wheel": Argument((2, 3, KEYWORD), "the wheel that is driven or braked", r"^Mount$"),
    "mass": Argument(KEYWORD, "of its body, in kg", r"^Amount$"),
    "center_of_mass": Argument(KEYWORD, "of its body, in design coordinates", r"^Position( \| None)?$"),
    "inertia": Argument(KEYWORD, "of its body about the center of mass, in design axes", INERTIA),
    "axle": Argument(KEYWORD, "where the axle is, in design coordinates", r"^Position$"),
    "points": Argument(
        KEYWORD, "further frames by role, in design coordinates", r"^Mapping\[str, Position\] \| Sequence\[Any\]$"
    ),
    "shapes": Argument(KEYWORD, "for drawings", r"^Sequence\[Any\]$"),
    "stiffness": Argument(KEYWORD, "of its spring; None, that of the default, where no table is given", r"^Amount( \| None)?$"),
    "spring": Argument(KEYWORD, "a table of the force of its spring, in place of the stiffness", r"^Curve \| None$"),
    "preload": Argument(KEYWORD, "force of its spring in the design position", r"^Amount$"),
    "damping": Argument(KEYWORD, "of its damper; None, that of the default, where no table is given", r"^Amount( \| None)?$"),
    "damper": Argument(KEYWORD, "a table of the force of its damper, in place of the damping", r"^Curve \| None$"),
    "travel": Argument(KEYWORD, "bump stops, low and high", r"^Sequence\[Amount \| None\] \| None$"),
    "ratio": Argument(KEYWORD, "of a gear, by which torques are multiplied", r"^Amount$"),
    "steer": Argument((2, KEYWORD), "name of the steer angle", r"^str$"),
    "torque": Argument(KEYWORD, "name of the input that is its torque", r"^str$"),
}

EXCEPTIONS = {  # verb and argument: the reason
    ("consistent_start", "start"): "the start is what it solves for, so that it follows the equations without a keyword",
    ("reduce_index", "inputs"): "laws that are substituted: expressions of SymPy or of the model",
    ("consistent_start", "parameters"): "an array too, for many starts of one problem",
    ("consistent_start", "inputs"): "an array too, for many starts of one problem",
    ("estimate", "start"): "one mapping for all experiments, or one for each",
    ("animate", "model"): "a description for a run read from a file, which is the subject",
    ("animate_mode", "at"): "follows the name of the mode that it locates",
    ("read_mesh", "at"): "a point of the body, as in the builders of a model",
    ("environment", "until"): "an episode may end by termination alone, so that it is optional and by keyword",
    ("wheel", "inertia"): "two moments of a body of revolution",
    ("rider", "mass"): "a number or a text with a unit: girths of the body follow from it, so that it is no expression",
    ("rider", "stiffness"): "by joint, of which a rider has many",
    ("rider", "damping"): "by joint, of which a rider has many",
}

RETIRED = {  # names that meant what another name means in all other verbs
    "fix": "fixed",
    "targets": "start",
    "about": "parameter",
    "called": "title",
    "system": "model",
}


def namespaces() -> dict[str, ModuleType]:
    """The package and its namespaces, except the gallery (its functions have their own physical arguments) and the errors."""
    found = {"dr": dr}
    for name in dr.__all__:
        value = getattr(dr, name)
        if isinstance(value, ModuleType) and name not in ("gallery", "errors"):
            found[f"dr.{name}"] = value
    return found


def verbs() -> dict[str, Callable[..., Any]]:
    """Public functions, each once: those in lists of names; namespaces without a list hold classes."""
    found: dict[str, Callable[..., Any]] = {}
    for place, module in namespaces().items():
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isfunction(value) and value not in found.values():
                found[f"{place}.{name}"] = value
    return found


def table_of(verb: str, function: Callable[..., Any]) -> dict[str, Argument]:
    """What holds for the arguments of a function: builders of equations and parts of machines are families of their own."""
    if verb.rpartition(".")[2] in BUILDERS:
        return DEFINED
    return PARTS if getattr(function, "makes_part", False) or function is dr.parts.replace else SHARED


def deviations(functions: Mapping[str, Callable[..., Any]]) -> list[str]:
    """What differs from the tables, in words."""
    found = []
    for verb, function in functions.items():
        short = verb.rpartition(".")[2]
        table = table_of(verb, function)
        for index, given in enumerate(inspect.signature(function).parameters.values()):
            if given.name in RETIRED:
                found.append(f"{verb}: {given.name!r} is {RETIRED[given.name]!r} in all other verbs")
            expected = table.get(given.name)
            if expected is None or (short, given.name) in EXCEPTIONS or given.kind is given.VAR_KEYWORD:
                continue
            place = KEYWORD if given.kind is given.KEYWORD_ONLY else index
            if place not in expected.places:
                found.append(f"{verb}: {given.name!r} stands at {place}, not at {expected.at}")
            if not re.search(expected.annotation, str(given.annotation)):
                found.append(f"{verb}: {given.name!r} ({expected.meaning}) is {given.annotation}, not {expected.annotation}")
    return found


def unexplained(functions: Mapping[str, Callable[..., Any]]) -> list[str]:
    """Arguments that the text of help() does not mention; the model is what every text is about."""
    found = []
    for verb, function in functions.items():
        text = inspect.getdoc(function) or ""
        names = [name for name in inspect.signature(function).parameters if not re.search(rf"\b{name}\b", text)]
        found += [f"{verb}: {name}" for name in names if name != "model"]
    return found


# ------------------------------------------------------------------------------------------------------------------- verbs


def test_all_verbs_are_inspected() -> None:
    names = {verb.partition(".")[2] for verb in verbs()}
    assert {"simulate", "ensemble", "control.follow", "dae.index_of", "estimation.design_experiment", "view.animate"} <= names
    assert len(names) > 60


def test_arguments_have_one_place_and_one_meaning() -> None:
    assert not deviations(verbs())


@pytest.mark.parametrize("table", [SHARED, PARTS], ids=["verbs", "parts"])
def test_arguments_of_several_verbs_are_in_the_table(table: dict[str, Argument]) -> None:
    users = defaultdict(set)
    for verb, function in verbs().items():
        if table_of(verb, function) is table:
            for name in inspect.signature(function).parameters:
                users[name].add(function)
    assert len(users) > len(table)
    missing = {name: len(found) for name, found in users.items() if len(found) > 2 and name not in table}
    assert not missing, f"add them to the table with their meaning: {missing}"


def test_exceptions_and_tables_are_in_use() -> None:
    used = {(verb.rpartition(".")[2], name) for verb, f in verbs().items() for name in inspect.signature(f).parameters}
    assert set(EXCEPTIONS) <= used
    for table in (SHARED, DEFINED, PARTS):
        used_here = {
            name for verb, f in verbs().items() if table_of(verb, f) is table for name in inspect.signature(f).parameters
        }
        assert set(table) <= used_here


def test_help_explains_every_argument() -> None:
    assert not unexplained(verbs())


# ------------------------------------------------------------------------------------------------------------------- planted


def until_by_keyword(model: dr.Model, *, until: float) -> None:
    """`until`."""


def until_last(model: dr.Model, path: Mapping[str, float], until: float) -> None:
    """`path` and `until`."""


def parameters_by_place(model: dr.Model, parameters: Mapping[str, float] | None = None) -> None:
    """`parameters`."""


def samples_of_runs(model: dr.Model, *, samples: Mapping[str, float] | None = None) -> None:
    """`samples`: a table of runs."""


def fix_for_fixed(model: dr.Model, *, fix: Mapping[str, float] | None = None) -> None:
    """`fix`."""


def seed_as_text(model: dr.Model, *, seed: str = "") -> None:
    """`seed`."""


def model_second(until: float, model: dr.Model) -> None:
    """`until` first."""


@dr.parts.part
def bracket(own: dr.parts.Assembly, arm: str, on: str, *, mass: str = "") -> None:
    """`arm`, `on`, and `mass` as a text."""


@pytest.mark.parametrize(
    ("planted", "count"),
    [
        (until_by_keyword, 1),
        (until_last, 1),
        (parameters_by_place, 1),
        (samples_of_runs, 1),
        (fix_for_fixed, 1),
        (seed_as_text, 1),
        (model_second, 2),
        (bracket, 3),
    ],
)
def test_a_planted_deviation_is_found(planted: Callable[..., Any], count: int) -> None:
    assert len(deviations({f"dr.{planted.__name__}": planted})) == count


def test_a_planted_silence_is_found() -> None:
    def silent(model: dr.Model, *, gain: float) -> None:
        """Computes something."""

    assert unexplained({"dr.silent": silent}) == ["dr.silent: gain"]


BIKE = dr.gallery.bicycle()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dr.simulate(BIKE, 5.0, starts={"speed": 4}), "simulate: there is no argument 'starts'; did you mean 'start'?"),
        (lambda: dr.simulate(BIKE), "simulate: missing a required argument: 'until'; it is called as simulate(model, until, *,"),
        (
            lambda: dr.simulate(BIKE, 5.0, {"speed": 4}),
            "simulate: too many positional arguments; it is called as simulate(model,",
        ),
        (lambda: dr.Model("m").body("arm", mas=1.0), "body: there is no argument 'mas'; did you mean 'mass'?"),
        (
            lambda: dr.Model("m").revolute("arm", axis="z", name="hinge"),
            "revolute: multiple values for argument 'name'; it is called as revolute(name, parent, child, axis, at,",
        ),
    ],
    ids=lambda given: given.partition(";")[0] if isinstance(given, str) else "",
)
def test_a_call_with_a_wrong_argument_is_answered_with_its_form(call, message):
    with pytest.raises(dr.errors.ArgumentError, match=re.escape(message)) as caught:
        call()
    assert isinstance(caught.value, TypeError) and caught.value.__cause__ is None
