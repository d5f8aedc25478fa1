"""Measures of two points (offset, cosine, distance) against matrices, and independence of common ancestors."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from plain import Plain
from trees import coordinates, free_joints_of_every_kind

from draisine.dynamics.derive import derive
from draisine.dynamics.kinematics.measures import Measures
from draisine.dynamics.kinematics.tree import build_tree
from draisine.dynamics.lowering import Scope
from draisine.errors import ModelError
from draisine.expr.expression import Call, Name, parse
from draisine.model.model import Model

NONE = np.zeros(0)
AXES = "xyz"


def measures_of(m: Model) -> Measures:
    scope = Scope(m.freeze())
    return Measures(scope, build_tree(scope.system, scope))


@pytest.mark.parametrize("seed", range(4))
def test_offsets_and_cosines_are_those_of_plain_matrices(seed: int) -> None:
    m, bodies = free_joints_of_every_kind(seed)
    m.point("tip", bodies[-1], at=(0.2, -0.1, 0.3))
    m.frame("nail", "ground", at=(0.5, -0.4, 1.0), orientation=[("y", 0.2)])
    m.frame("port", bodies[1], at=(0.1, 0.2, -0.1), orientation=[("z", 0.4), ("x", m.parameter("port_tilt", -0.7))])
    places = ("tip", "port", "nail", "ground", bodies[0], bodies[2])
    e = derive(m)
    plain, measures = Plain(m.freeze(), e), measures_of(m)
    scope, rng = measures.scope, np.random.default_rng(seed)
    q, v, p = coordinates(e, rng), rng.normal(size=len(e.velocities)), e.default_parameters
    frames = dict(zip(places, plain.function(*map(plain.frame_of, places))(0.5, q, v, 0 * v, NONE, p), strict=True))
    for a in places:
        for b in places:
            named = (Name(a), Name(b))
            reported = [scope.value(Call(f"offset_{i}", named)) for i in AXES]
            reported += [scope.value(Call(f"cosine_{i}{j}", named)) for i in AXES for j in AXES]
            reported.append(scope.value(Call("distance", named)))
            values = ca.Function("reported", [scope.q, scope.p], [ca.vertcat(*reported)])(q, p).full()[:, 0]
            seen = np.linalg.inv(frames[a]) @ frames[b]
            wanted = [*seen[:3, 3], *seen[:3, :3].ravel(), np.linalg.norm(seen[:3, 3])]
            np.testing.assert_allclose(values, wanted, atol=1e-12)


def carried() -> Model:
    """Two arms of a free box."""
    m = Model("arms")
    box = m.body("box", 1.0, inertia=(1, 1, 1))
    m.free(box)
    for name, axis in (("left", "z"), ("right", "y")):
        m.body(name, 1.0, inertia=(1, 1, 1))
        m.revolute(name, box, name, axis=axis, at=(0, 0.3, 0))
        m.point(f"{name}_tip", name, (0.4, 0.1, 0))
    return m


@pytest.mark.parametrize("measure", ["distance", "offset_x", "offset_z", "cosine_xy", "cosine_zz"])
def test_what_carries_both_places_does_not_enter(measure: str) -> None:
    """Not even in its derivatives: rows of a loop on a vehicle leave the vehicle's own motion alone."""
    measures = measures_of(carried())
    scope = measures.scope
    quantity = scope.value(parse(f"{measure}(left_tip, right_tip)"))
    box = ca.vertcat(*[scope.symbol(n) for n in scope.coordinates if n.startswith("box")])
    assert not ca.depends_on(quantity, box)
    joints = ca.vertcat(scope.symbol("left"), scope.symbol("right"))
    assert ca.depends_on(quantity, joints)


def test_the_rest_of_a_plane_vanishes_by_itself() -> None:
    """In a plane mechanism what stands across the plane is zero as a symbol, so that no row is made of it."""
    m = Model("plane")
    for name in ("one", "two"):
        m.body(name, 1.0, inertia=(1, 1, 1))
    m.revolute("hip", "ground", "one")
    m.revolute("knee", "one", "two", at=(1, 0, 0))
    m.point("nail", "ground", (0.5, 0.5, 0))
    m.point("toe", "two", (1, 0, 0))
    scope = measures_of(m).scope
    for zero in ("offset_z", "cosine_xz", "cosine_yz", "cosine_zx", "cosine_zy"):
        assert scope.value(parse(f"{zero}(nail, toe)")).is_zero()
    assert scope.value(parse("cosine_zz(nail, toe)")).is_one()


def test_a_distance_that_vanishes_has_derivatives_of_zero() -> None:
    """Two points that pass through each other: no NaN in the gradient or the second derivative, at any order."""
    m = Model("through")
    m.body("bead", 1.0)
    m.prismatic("slide", "ground", "bead")
    measures = measures_of(m)
    scope = measures.scope
    apart = scope.value(parse("distance(ground, bead)"))
    slope = ca.gradient(apart, scope.q)
    reported = ca.Function("reported", [scope.q], [apart, slope, ca.jacobian(slope, scope.q)])
    assert [float(value) for value in reported(0.0)] == [0.0, 0.0, 0.0]
    assert [float(value) for value in reported(-0.5)] == [0.5, -1.0, 0.0]


@pytest.mark.parametrize("call", ["offset_x(bead)", "cosine_xy(bead, 2)", "distance(bead, ground, bead)"])
def test_pairs_take_two_names(call: str) -> None:
    m = Model("through")
    m.body("bead", 1.0)
    m.prismatic("slide", "ground", "bead")
    with pytest.raises(ModelError, match=rf"{call.partition('(')[0]} takes the names of two points, got \("):
        measures_of(m).scope.value(parse(call))
