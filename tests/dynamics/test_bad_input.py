"""Errors for bad input of Lagrangians, SymPy's methods and models: the thing, the cause and the cure."""

from __future__ import annotations

import pytest
import sympy as sp
from sympy.physics.mechanics import KanesMethod, LagrangesMethod, Particle, Point, ReferenceFrame, dynamicsymbols

import draisine as dr
from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import parse
from draisine.model.items import Coordinate, Rotate
from draisine.model.model import Model

x, y = dynamicsymbols("x y")
m, k = sp.symbols("m k")
FREE = x.diff() ** 2 + y.diff() ** 2
t = dynamicsymbols._t


def lagrangian(energy=FREE, coordinates=(x, y), **options):
    return lambda: dr.lagrangian("system", list(coordinates), energy, **options)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        # rank-deficient, more than there are freedoms, contradictory
        (
            lagrangian(holonomic={"a": x + y, "b": 2 * x + 2 * y}),
            "the constraints 'a', 'b' depend on each other; remove one of them",
        ),
        (lagrangian(holonomic={"a": x - 1, "b": x - 2}), "the constraints 'a', 'b' depend on each other; remove one of them"),
        (
            lagrangian(holonomic={"a": x, "b": y, "c": x * y - 1}),
            r"'a', 'b', 'c' depend on each other \(3 constraints for 2 velocities\)",
        ),
        (
            lagrangian(holonomic={"a": x + y}, nonholonomic={"b": x.diff() + y.diff()}),
            "the constraints 'a', 'b' depend on each other",
        ),
        # constraints that constrain nothing
        (
            lagrangian(holonomic={"a": t - 1}),
            r"constraint 'a' has no effect: no velocity enters it \(or, for f\(q, t\) = 0, no coord",
        ),
        (lagrangian(nonholonomic={"a": x - y}), r"constraint 'a' has no effect.* Write f\(q, t\) = 0 as holonomic"),
        # not linear in velocity
        (lagrangian(nonholonomic={"a": x.diff() ** 2 - 1}), "'a' is not linear in the velocities; write it as g"),
        (lagrangian(nonholonomic={"a": sp.sin(x.diff())}), "'a' is not linear in the velocities"),
        # singular mass matrices
        (
            lagrangian(x.diff() ** 2 - y**2),
            "the mass matrix does not determine the acceleration of 'y_rate': add kinetic energy",
        ),
        (lagrangian((x.diff() + y.diff()) ** 2 - y**2), "does not determine the acceleration of 'x_rate', 'y_rate'"),
        (lagrangian(x.diff() ** 4 + y.diff() ** 2), "the mass matrix or a constraint row depends on x_rate"),
        # unknown symbols
        (lagrangian(m * FREE), "the Lagrangian uses 'm', which is neither a coordinate.*known are t, x, x_rate, y, y_rate$"),
        (lagrangian(holonomic={"a": x - k}), "constraint 'a' uses 'k'"),
        (lagrangian(forces={x: k}), "the force on 'x' uses 'k'"),
        (lagrangian(outputs={"reported": k}), "output 'reported' uses 'k'"),
        (lagrangian(FREE - dynamicsymbols("z")), "uses 'z'"),
        # a coordinate that never appears
        (lagrangian(x.diff() ** 2), "coordinate 'y' does not appear; leave it out, or use it in the Lagrangian"),
        # what is no formula, and names that clash
        (lagrangian("x**2"), "the Lagrangian is 'x\\*\\*2', of type str; type it as a SymPy expression"),
        (
            lagrangian(holonomic={"a": sp.Eq(x, y)}),
            r"constraint 'a' is Eq\(x\(t\), y\(t\)\), an equation; write the residual",
        ),
        (lagrangian(parameters={m: float("nan")}), "parameter 'm' is nan; give a finite number"),
        (lagrangian(parameters={sp.Symbol("x"): 1.0}), "'x' is both a coordinate and a parameter; names must differ"),
        (lagrangian(parameters={m: 1.0}, inputs=[m]), "'m' is both an input and a parameter"),
        (lagrangian(outputs={"x_rate": x}), "'x_rate' is both a velocity and an output"),
        (
            lagrangian(holonomic={"a": x - y}, nonholonomic={"a": x * x.diff()}),
            "'a' is both a holonomic constraint and a nonholonomic constraint",
        ),
    ],
)
def test_lagrangians(spoil, said):
    with pytest.raises(ModelError, match=said):
        spoil()


# ---------------------------------------------------------------- SymPy's methods


def kane(velocity=None, load=None):
    q, u = dynamicsymbols("q1 q2"), dynamicsymbols("u1 u2")
    ground, point = ReferenceFrame("N"), Point("P")
    point.set_vel(ground, u[0] * ground.x + u[1] * ground.y if velocity is None else u[velocity] * ground.x)
    force = (-k * q[0] if load is None else load) * ground.x
    rates = [a.diff() - b for a, b in zip(q, u, strict=True)]
    return KanesMethod(ground, q, u, kd_eqs=rates, bodies=[Particle("bob", point, m)], forcelist=[(point, force)])


@pytest.mark.parametrize(
    ("method", "parameters", "said"),
    [
        (kane(), {m: 1.0}, "system has constants without a value: k; give each a default: parameters="),
        (kane(), {m: float("nan"), k: 1.0}, "parameter 'm' is nan; give a finite number"),
        (kane(velocity=0), {m: 1.0, k: 1.0}, "the mass matrix does not determine the acceleration of 'u2'"),
        (
            kane(load=dynamicsymbols("push")),
            {m: 1.0, k: 1.0},
            "functions of time that are neither coordinates nor speeds: push; decl",
        ),
        (LagrangesMethod(m * x.diff() ** 2, [x, y]), {m: 1.0}, "coordinate 'y' does not appear"),
        (LagrangesMethod(m * x.diff() ** 2 - y, [x, y]), {m: 1.0}, "does not determine the acceleration of 'y_rate'"),
        (LagrangesMethod(m * FREE, [x, y]), {}, "system has constants without a value: m"),
        (LagrangesMethod(m * FREE, [x, y], hol_coneqs=[x + y, 2 * x + 2 * y]), {m: 1.0}, "'f1', 'f2' depend on each other"),
        (
            LagrangesMethod(m * FREE, [x, y], nonhol_coneqs=[x.diff() ** 2]),
            {m: 1.0},
            "constraint 'g1' is not linear in the velocit",
        ),
        ("text", {}, "from_sympy takes a KanesMethod, a LagrangesMethod or a System, got str"),
    ],
)
def test_sympys_methods(method, parameters, said):
    with pytest.raises((ModelError, ArgumentError), match=said):
        dr.from_sympy(method, parameters=parameters)


# ---------------------------------------------------------------- models


def block() -> Model:
    model = Model("block")
    model.free(model.body("stone", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    return model


def tied(residual, level="position") -> Model:
    model = block()
    model.constrain("held", residual, level=level)
    return model


def hinged(**inertia) -> Model:
    """A point mass on its own hinge, and another beyond it."""
    model = Model("hinged")
    model.revolute("first", "ground", model.body("upper", mass=1.0, **inertia))
    model.revolute("second", "upper", model.body("lower", mass=1.0, center_of_mass=(1, 0, 0)))
    return model


def idle_coordinate() -> Model:
    model = Model("idle")
    body = model.body("stone", mass=1.0, inertia=(1.0, 1.0, 1.0))
    spans = (Coordinate("a", "a_rate", "rad"), Coordinate("c", "c_rate", "rad"))
    model.joint("hinge", "ground", body, (Rotate("z", parse("a")),), spans)
    return model


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            lambda: tied("stone_vx^2 - 1", level="velocity"),
            "residual 'held' of constraint 'held' is not linear in the velocities; write it",
        ),
        (lambda: tied("stone_x*stone_vx"), "constraint 'held' may depend on .*only, but 'stone_vx' is a velocity"),
        (lambda: tied("stne_x - 1"), "constraint 'held': unknown name 'stne_x'; did you mean 'stone_x'"),
        (lambda: tied("t - 1"), "constraint 'held': its residual 'held' .* no coordinate can change it"),
        (
            hinged,
            "model 'hinged': 'first_rate', 'second_rate' can change without moving any mass.*'upper', 'lower'.*moments of inert",
        ),
        (idle_coordinate, "joint 'hinge': no displacement uses its coordinate 'c'; use it in the chain or leave it out"),
    ],
)
def test_models(model, said):
    with pytest.raises(ModelError, match=said):
        dr.derive(model())


def test_the_cure_for_a_motion_without_mass():
    assert dr.certify(hinged(inertia=(0.1, 0.1, 0.1)), count=3).passed


@pytest.mark.parametrize("given", ["augmented", 3, dr.formulations.Augmented, dr.stabilization.GGL()])
def test_what_is_no_formulation_is_refused(given):
    with pytest.raises(dr.errors.ArgumentError, match=r"is not a formulation; give Reduced\(\), Recursive\(\) or Augmented\(\)"):
        dr.derive(dr.gallery.bicycle(), formulation=given)
