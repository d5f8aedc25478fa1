"""Wrong types give errors of the package with the cure, never those of Python's internals: a table of verbs and arguments."""

# ruff: noqa: E501
from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import draisine as dr
from draisine.errors import DraisineError


class _Strange:
    def __repr__(self) -> str:
        return "<strange>"


WRONG: dict[str, Any] = {
    "number": 5,
    "float": 2.5,
    "true": True,
    "text": "a",
    "empty text": "",
    "list of numbers": [1, 2],
    "list with a number": [3],
    "list of texts": ["a", "b"],
    "list of lists": [[1], [2, 3]],
    "mapping": {"a": 1},
    "mapping of texts": {"q": "a"},
    "mapping of lists": {"q": [1, 2]},
    "mapping by numbers": {1: 2},
    "set": {1, 2},
    "array": np.zeros((2, 2)),
    "function": lambda *_: 0,
    "object": _Strange(),
    "complex": 1j,
    "bytes": b"a",
    "not a number": float("nan"),
}


@cache
def pendulum() -> dr.Model:
    m = dr.Model("p")
    m.parameter("l", 1.0, "m")
    m.input("T", "N*m")
    m.body("b", 1.0, (0, 0, "-l"), (1, 1, 1))
    m.revolute("q", "ground", "b", axis="y")
    m.generalized_force("q", "T")
    m.output("angle", "q", "rad")
    return m


@cache
def run() -> dr.Trajectory:
    return dr.simulate(pendulum(), 0.1, start={"q": 0.3})


P = pendulum
VERBS: dict[str, tuple[Callable[..., Any], dict[str, Any], tuple[str, ...]]] = {
    "simulate": (
        lambda **k: dr.simulate(**k),
        {"model": P, "until": 0.05},
        ("model", "until", "start", "parameters", "inputs", "method", "samples", "events", "drift", "formulation", "sensitivity"),
    ),
    "consistent_start": (lambda **k: dr.consistent_start(**k), {"model": P}, ("model", "start", "parameters", "inputs", "time")),
    "linearize": (lambda **k: dr.linearize(**k), {"model": P}, ("model", "at", "parameters", "inputs", "states")),
    "modes": (lambda **k: dr.modes(**k), {"model": P, "over": {"l": [1.0, 2.0]}}, ("model", "fixed", "free", "near", "parameters", "states")),
    "steady": (lambda **k: dr.steady(**k), {"model": P}, ("model", "fixed", "free", "near", "parameters", "inputs")),
    "ensemble": (
        lambda **k: dr.ensemble(**k),
        {"model": P, "until": 0.05, "over": {"l": [1.0, 1.1]}},
        ("model", "until", "over", "outputs", "start", "parameters", "inputs", "events", "method", "runs", "seed"),
    ),
    "derive": (lambda **k: dr.derive(**k), {"model": P}, ("model", "laws", "events", "formulation")),
    "certify": (lambda **k: dr.certify(**k), {"model": P}, ("model",)),
    "diagnose": (lambda **k: dr.diagnose(**k), {"model": P}, ("model", "at", "parameters")),
    "draw": (lambda **k: dr.draw(**k), {"model": P}, ("model", "at", "parameters")),
    "lqr": (
        lambda **k: dr.lqr(**k),
        {"model": P, "weights": {"q": 1.0}, "input_weights": {"T": 1.0}},
        ("model", "at", "weights", "input_weights", "states", "parameters", "inputs", "limits"),
    ),
    "estimate": (
        lambda **k: dr.estimate(**k),
        {"model": P, "data": lambda: {"time": run().time, "angle": run()["angle"]}, "unknown": ["l"], "measured": ["angle"]},
        ("model", "unknown", "measured", "guess", "parameters", "inputs", "priors"),
    ),
    "compare_drift": (lambda **k: dr.compare_drift(**k), {"model": P, "until": 0.05}, ("model", "start", "parameters")),
    "continuation": (
        lambda **k: dr.stability.continuation(**k),
        {"model": P, "over": "l", "between": (0.9, 1.1)},
        ("model", "over", "fixed", "free", "between", "parameters"),
    ),
    "stability_map": (
        lambda **k: dr.stability.stability_map(**k),
        {"model": P, "over": {"l": [1.0, 1.1]}},
        ("model", "fixed", "free", "near", "parameters", "states"),
    ),
    "read_model": (lambda **k: dr.read_model(**k), {}, ("path",)),
    "read_urdf": (lambda **k: dr.read_urdf(**k), {"path": "absent.urdf"}, ("path", "base", "joint_limits", "friction", "roots")),
    "read_mjcf": (lambda **k: dr.read_mjcf(**k), {"path": "absent.xml"}, ("path", "joint_limits", "friction", "roots")),
    "load": (lambda **k: dr.load(**k), {}, ("path",)),
    "DOP853": (lambda **k: dr.methods.DOP853(**k), {}, ("rtol", "atol", "first_step", "max_step", "max_steps")),
    "Radau": (lambda **k: dr.methods.Radau(**k), {}, ("rtol", "atol", "step", "max_steps")),
    "RK4": (lambda **k: dr.methods.RK4(**k), {"step": 0.01}, ("step", "max_steps")),
    "Event": (lambda **k: dr.simulate(P(), 0.05, events=[dr.Event(**k)]), {"name": "e", "expression": "q"}, ("name", "expression", "action", "direction")),
}  # fmt: skip

BUILDERS: dict[str, tuple[Callable[..., Any], dict[str, Any], tuple[str, ...]]] = {
    "parameter": (lambda m, **k: m.parameter(**k), {"name": "n", "default": 1.0}, ("name", "default", "unit")),
    "input": (lambda m, **k: m.input(**k), {"name": "n"}, ("name", "unit")),
    "gravity": (lambda m, **k: m.gravity(**k), {}, ("amount",)),
    "ground": (lambda m, **k: m.ground(**k), {}, ("slope", "bank", "height", "velocity")),
    "body": (lambda m, **k: m.body(**k), {"name": "n", "mass": 1}, ("name", "mass", "center_of_mass", "inertia", "shapes")),
    "point": (lambda m, **k: m.point(**k), {"name": "n", "body": "b"}, ("name", "body", "at")),
    "frame": (lambda m, **k: m.frame(**k), {"name": "n", "body": "b"}, ("orientation",)),
    "wheel": (lambda m, **k: m.wheel(**k), {"name": "w", "body": "b", "radius": 0.3}, ("name", "body", "radius", "tube", "center", "axis", "contact")),
    "knife_edge": (lambda m, **k: m.knife_edge(**k), {"body": "b"}, ("body", "at", "along", "name")),
    "generalized_force": (lambda m, **k: m.generalized_force(**k), {"measure": "q", "amount": 1}, ("measure", "amount", "name")),
    "spring": (lambda m, **k: m.spring(**k), {"measure": "q", "stiffness": 1}, ("measure", "stiffness", "rest", "damping", "name")),
    "wrench": (lambda m, **k: m.wrench(**k), {"point": "b"}, ("point", "force", "torque", "axes", "name")),
    "potential": (lambda m, **k: m.potential(**k), {"name": "n", "energy": "q"}, ("name", "energy")),
    "output": (lambda m, **k: m.output(**k), {"name": "n", "expression": "q"}, ("name", "expression", "unit")),
    "event": (lambda m, **k: m.event(**k), {"name": "n", "expression": "q"}, ("name", "expression", "action", "direction")),
    "revolute": (
        lambda m, **k: (m.body("c", 1.0, inertia=(1, 1, 1)), m.revolute(**k)),
        {"name": "j", "parent": "b", "child": "c"},
        ("name", "parent", "child", "axis", "at", "orientation", "rate", "default", "span"),
    ),
    "prismatic": (
        lambda m, **k: (m.body("c", 1.0, inertia=(1, 1, 1)), m.prismatic(**k)),
        {"name": "j", "parent": "b", "child": "c"},
        ("axis", "default", "span"),
    ),
    "universal": (lambda m, **k: (m.body("c", 1.0, inertia=(1, 1, 1)), m.universal(**k)), {"name": "j", "parent": "b", "child": "c"}, ("axes",)),
    "screw": (lambda m, **k: (m.body("c", 1.0, inertia=(1, 1, 1)), m.screw(**k)), {"name": "j", "parent": "b", "child": "c", "lead": 0.1}, ("lead",)),
    "free": (lambda m, **k: (m.body("c", 1.0, inertia=(1, 1, 1)), m.free(**k)), {"body": "c"}, ("body", "name", "at")),
    "free_euler": (lambda m, **k: (m.body("c", 1.0, inertia=(1, 1, 1)), m.free_euler(**k)), {"body": "c"}, ("order", "angles")),
    "rod": (lambda m, **k: m.rod(**k), {"name": "r", "a": "b", "b": "ground", "length": 1.0}, ("name", "a", "b", "length")),
    "cable": (lambda m, **k: m.cable(**k), {"name": "r", "points": ["b", "ground"], "length": 1.0}, ("points", "length")),
    "gear": (lambda m, **k: m.gear(**k), {"name": "r", "first": "q", "second": "q", "ratio": 2.0}, ("first", "second", "ratio", "phase")),
    "prescribe": (lambda m, **k: m.prescribe(**k), {"name": "r", "measure": "q", "law": "t"}, ("measure", "law", "level", "unit")),
    "constrain": (lambda m, **k: m.constrain(**k), {"name": "r", "residual": "q"}, ("residual", "level", "unit")),
    "close_point": (lambda m, **k: m.close_point(**k), {"name": "r", "a": "b", "b": "ground"}, ("a", "b", "axes")),
    "close_hinge": (lambda m, **k: m.close_hinge(**k), {"name": "r", "a": "b", "b": "ground"}, ("axis",)),
    "referred_to": (lambda m, **k: m.referred_to(**k), {}, ("body",)),
    "independent": (lambda m, velocity: m.independent(velocity), {}, ("velocity",)),
}  # fmt: skip


def _cases(table: dict[str, Any]) -> list[tuple[str, str]]:
    return [(verb, argument) for verb, (_, _, arguments) in table.items() for argument in arguments]


def _check(call: Callable[[], Any], where: str) -> None:
    try:
        call()
    except DraisineError as problem:
        assert len(str(problem)) > 15 and "object at 0x" not in str(problem).replace("<function", ""), f"{where}: {problem}"
    except OSError:
        pass  # files that do not exist, by the errors of Python
    except Exception as problem:
        raise AssertionError(f"{where}: {type(problem).__name__}: {problem}") from problem


@pytest.mark.parametrize(("verb", "argument"), _cases(VERBS))
def test_verbs(verb: str, argument: str) -> None:
    call, given, _ = VERBS[verb]
    base = {name: value() if callable(value) else value for name, value in given.items()}
    for kind, wrong in WRONG.items():
        if verb in ("draw", "ensemble") and argument in ("runs", "seed") and kind == "number":
            continue
        _check(lambda wrong=wrong: call(**{**base, argument: wrong}), f"{verb}({argument}={kind})")


@pytest.mark.parametrize(("builder", "argument"), _cases(BUILDERS))
def test_builders(builder: str, argument: str) -> None:
    call, given, _ = BUILDERS[builder]
    for kind, wrong in WRONG.items():
        m = dr.Model.of(pendulum().freeze())

        def build(m=m, wrong=wrong) -> None:
            call(m, **{**given, argument: wrong})
            m.freeze()

        _check(build, f"{builder}({argument}={kind})")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: dr.linearize(pendulum(), at={"q": "0 deg"}, inputs={"T": "0 N*m"}, parameters={"l": "120 cm"}), None),
        (lambda: dr.simulate(pendulum(), "50 ms", inputs={"T": "1 N*m"}), None),
        (lambda: dr.simulate(pendulum(), 0.1, inputs={"T": "1 kg"}), "input 'T'.*1 kg"),
        (lambda: dr.linearize(pendulum(), states="angle"), None),
        (lambda: dr.steady(pendulum(), {"q": "0 deg"}, free="T"), None),
        (lambda: dr.ensemble(pendulum(), 0.05, {"l": [1.0, 1.1]}, outputs="angle"), None),
        (lambda: dr.simulate(pendulum(), 0.1, events=dr.Event("e", "q - 1")), None),
        (lambda: dr.simulate(pendulum(), 0.1, sensitivity="l"), None),
        (lambda: dr.simulate(pendulum(), 0.1, start=[1, 2]), r"start must be values by name, such as \{'lean': 0.1\}, got \[1, 2\]"),
        (lambda: dr.simulate(pendulum(), 0.1, inputs="T"), "inputs must be values by name"),
        (lambda: dr.simulate(pendulum(), 0.1, sensitivity=[3]), "sensitivity must be a list of names.*3 is no name"),
        (lambda: dr.simulate(pendulum(), 0.1, samples="a"), "samples: give their number"),
        (lambda: dr.methods.DOP853(rtol="a"), "DOP853: rtol must be a positive number, got 'a'"),
        (lambda: dr.read_model(5), "expected the name of a file"),
    ],
)  # fmt: skip
def test_units_and_single_names_are_accepted_alike(call: Callable[[], Any], expected: str | None) -> None:
    if expected is None:
        call()
        return
    with pytest.raises(DraisineError, match=expected):
        call()


def test_units_of_inputs_convert() -> None:
    one = dr.simulate(pendulum(), 0.5, inputs={"T": "1 kN*mm"})
    two = dr.simulate(pendulum(), 0.5, inputs={"T": 1.0})
    np.testing.assert_array_equal(one["q"], two["q"])
    assert dr.simulate(pendulum(), "500 ms").time[-1] == 0.5


def test_joint_defaults_have_units() -> None:
    m = dr.Model("m")
    m.body("b", 1.0)
    joint = m.revolute("j", "ground", "b", default="20 deg", span=("-90 deg", 2))
    assert joint.coordinates[0].default == pytest.approx(np.radians(20))
    assert joint.coordinates[0].low == pytest.approx(-np.pi / 2)


def test_messages() -> None:
    with pytest.raises(AttributeError, match=re.escape("module 'draisine' has no attribute 'simulat'; did you mean 'simulate'?")):
        dr.simulat  # noqa: B018
    m = dr.Model.of(pendulum().freeze())
    with pytest.raises(dr.errors.ModelError, match=r"^output 'z': expression 'a \+': unexpected end"):
        m.output("z", "a +")
    m.input("U", "kN")
    with pytest.raises(
        dr.errors.ModelError, match=r"^input 'U': values are in SI units, but its unit is 'kN'; give the unit 'N'$"
    ):
        m.freeze()
    from draisine.expr.expression import did_you_mean

    assert did_you_mean("xxxxx", ["p_rate", "p_rate"]) == "; known are p_rate"
