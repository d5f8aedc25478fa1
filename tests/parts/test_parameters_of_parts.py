"""Parameters of parts act: gains and ratios at any value, zeros, inertias in axes that are tilted, inputs that parts share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ModelError, UnknownNameError
from draisine.expr.expression import Expr, names

from .random_machines import Draw

parts = dr.parts


def named_in(item: Any) -> Iterator[str]:
    """Names in all expressions of an item."""
    if isinstance(item, Expr):
        yield from names(item)
    elif isinstance(item, tuple | list):
        for part in item:
            yield from named_in(part)
    elif is_dataclass(item):
        for field in fields(item):
            yield from named_in(getattr(item, field.name))


@pytest.mark.parametrize("seed", range(24))
def test_no_parameter_of_a_part_is_without_a_place(seed: int) -> None:
    drawn = Draw(seed)
    system = drawn.model.freeze()
    every = [item for field in fields(system) if field.name != "parts" for item in named_in(getattr(system, field.name))]
    assert not {p.name for p in system.parameters} - set(every), str(drawn)


def braked(seed: int, **options: Any) -> dr.Model:
    """A block on one wheel that rolls ideally, driven and braked."""
    rng = np.random.default_rng(seed)
    m, radius = dr.Model("block"), float(rng.uniform(0.2, 0.4))
    points = {"hub": (0.0, radius), "gearbox": (0.5, 0.4), "pivot": (0.4, radius)}
    frame = parts.frame(
        m, "frame", mass=rng.uniform(50, 90), center_of_mass=(0, 0.4), points=points, motion="none", outputs=False
    )
    m.prismatic("way", "ground", frame["body"], axis="x")
    arm = parts.swing_arm(m, "arm", frame["pivot"], axle=(0, radius), mass=0, inertia=(0, 0, 0), stiffness=1e9)
    parts.wheel(m, "rear", arm["axle"], radius=radius, mass=3, inertia=(0.1, 0.2), tire=dr.contact.Creep(1e5, 0.0, speed=1e-9))
    return m


def rates(m: dr.Model, inputs: dict[str, float], parameters: dict[str, float] | None = None) -> np.ndarray:
    """Accelerations at one state."""
    begin = dr.consistent_start(m, {"way_rate": 5.0, "rear_spin": 20.0}, inputs=inputs, parameters=parameters)
    return np.array(list(begin.accelerations.values()))


@pytest.mark.parametrize("kind", ["brake", "chain", "belt", "shaft"])
def test_gains_and_ratios_multiply_the_input_whatever_their_default(kind: str) -> None:
    """Twice the factor, as option or as parameter of a call, is twice the input; none is no input."""
    key = {"brake": "gain"}.get(kind, "ratio")

    def machine(**option: float) -> dr.Model:
        m = braked(3)
        on = ("rear",) if kind in ("brake", "shaft") else ("frame_gearbox", "rear")
        getattr(parts, kind)(m, "device", *on, **option)
        return m

    (name,) = [u.name for u in machine().freeze().inputs]
    for factor in (0.0, 0.4, 1.0, 2.5):
        wanted = rates(machine(), {name: 30.0 * factor})
        for m, given in ((machine(**{key: factor}), None), (machine(), {f"device_{key}": factor})):
            np.testing.assert_allclose(rates(m, {name: 30.0}, given), wanted, rtol=1e-12, atol=1e-12)
    assert abs(rates(machine(), {name: 30.0}) - rates(machine(), {name: 0.0})).max() > 1.0


@pytest.mark.parametrize("seed", range(3))
def test_a_strut_on_a_tilted_body_goes_up_and_down(seed: int) -> None:
    """M z̈ = −k z − c ż − M g along the vertical of the design position, and T = ω² (I_zz + M r²)/2 when all turns about it."""
    rng = np.random.default_rng(seed)
    tilt, mass, k, c = rng.uniform(0.2, 0.6), rng.uniform(5, 20), rng.uniform(5e3, 2e4), rng.uniform(50, 200)
    x, y, z = rng.uniform(0.2, 0.9, 3)
    inertia = {"xx": 0.3, "yy": rng.uniform(0.3, 0.5), "zz": rng.uniform(0.2, 0.5), "zx": rng.uniform(-0.1, 0.1)}
    m = dr.Model("corner")
    frame = parts.frame(
        m, "frame", mass=1, center_of_mass=(0, 0), inertia=(0, 0, 0), wheelbase=1.0, steer_axis_tilt=tilt, motion="none"
    )
    m.revolute("turn", "ground", frame["body"], axis="z")
    fork = parts.rigid_fork(m, "fork", frame["head"], axle=(1, 0.3), mass=0, center_of_mass=(0, 0), inertia=(0, 0, 0), steer="")
    strut = parts.strut(m, "strut", fork["body"], axle=(x, y, z), mass=mass, inertia=inertia, stiffness=k, damping=c)
    for axis in "xyz":
        m.output(axis, f"position_{axis}({strut['axle']})", "m")
    run = dr.simulate(m, 0.5, samples=101, method=dr.methods.DOP853(rtol=1e-11, atol=1e-12))
    root = np.roots([mass, c, k])
    sag = mass * 9.81 / k
    free = np.linalg.solve(np.array([[1, 1], root]), [sag, 0.0])
    np.testing.assert_allclose(run["z"], z - sag + np.real(free @ np.exp(np.outer(root, run.time))), atol=1e-9)
    np.testing.assert_allclose([run["x"], run["y"]], np.transpose([[x, y]] * 101), atol=1e-12)
    turning = dr.simulate(m, 1e-6, start={"turn_rate": 2.0}, samples=2)
    assert turning["kinetic_energy"][0] == pytest.approx(2.0 * (inertia["zz"] + mass * (x**2 + y**2)), rel=1e-12)


def test_inputs_are_shared_by_what_their_units_mean() -> None:
    m = braked(1)
    m.input("effort", "N m")
    parts.shaft(m, "shaft", "rear", torque="effort")
    parts.brake(m, "brake", "rear", input="effort")
    assert [u.name for u in m.freeze().inputs] == ["effort"]
    m.input("lever")
    with pytest.raises(ModelError, match="give another name, or both the same unit"):
        parts.brake(m, "other", "rear", input="lever")


@pytest.mark.parametrize("role", ["head", "body"])
def test_points_have_names_of_their_own(role: str) -> None:
    with pytest.raises(ModelError, match=f"points of part 'frame': '{role}' is the name of .*; give the point another one"):
        parts.frame(dr.Model("m"), "frame", wheelbase=1.0, points={role: (1.0, 0.5)})


def test_forks_share_a_torque() -> None:
    """Two pins with all of the torque each: I δ̈ = T."""
    m = dr.Model("pins")
    points = {"left": (1.0, 0.3, 0.3), "right": (1.0, -0.3, 0.3)}
    frame = parts.frame(m, "frame", mass=1, points=points, motion="none", outputs=False)
    m.fixed("clamp", "ground", frame["body"])
    for side, at in points.items():
        parts.rigid_fork(m, side, frame[side], axle=at, mass=1, center_of_mass=at, inertia=(1, 1, 0.2), steer=f"{side}_steer")
    run = dr.simulate(m, 1.0, inputs={"steer_torque": 0.3}, samples=3)
    assert run["left_steer"][-1] == pytest.approx(0.75, rel=1e-9) == pytest.approx(run["right_steer"][-1], rel=1e-9)


def test_zeros_of_inner_bodies_are_named_with_the_cure() -> None:
    m = dr.Model("front")
    frame = parts.frame(m, "frame", wheelbase=1.4, trail=0.1, steer_axis_tilt=0.4, motion="none", outputs=False)
    m.fixed("clamp", "ground", frame["body"])
    parts.telescopic_fork(m, "fork", frame["head"], lower_inertia=(0, 0.1, 0.1), stiffness=1e4)
    with pytest.raises(UnknownNameError, match="'fork_lower_ixx': in part 'fork' it is zero and left out"):
        dr.simulate(m, 0.1, parameters={"fork_lower_ixx": 0.1})
