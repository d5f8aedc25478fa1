"""Poses of bodies as a program: against closed forms and the measures."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine.dynamics.kinematics.twists import body_poses
from draisine.model.model import Model


def test_double_pendulum():
    model = dr.gallery.double_pendulum_graph()
    program, p = body_poses(model), {q.name: q.default for q in model.freeze().parameters}
    assert [slot.name for slot in program.outputs] == ["first", "second"]
    first, second = 0.4, -1.1
    upper, lower = program([0.0], [first, second], list(p.values()))
    elbow = p["l_upper"] * np.array([-np.sin(first), 0.0, -np.cos(first)])  # z down turned about y
    assert upper[:, 3] == pytest.approx(np.zeros(3), abs=1e-15)
    assert lower[:, 3] == pytest.approx(elbow, rel=1e-14)
    turn = first + second
    expected = np.array([[np.cos(turn), 0, np.sin(turn)], [0, 1, 0], [-np.sin(turn), 0, np.cos(turn)]])
    assert lower[:, :3] == pytest.approx(expected, abs=1e-15)


def test_every_kind_of_joint_agrees_with_the_measures():
    m = Model("chain")
    bodies = [m.body(name, mass=1.0, inertia=(1, 1, 1)) for name in ("a", "b", "c", "d", "e")]
    m.free(bodies[0])
    m.spherical("ball", bodies[0], bodies[1], at=(0.1, 0.2, 0.3), orientation=[("x", 0.4)])
    m.universal("cross", bodies[1], bodies[2], at=(0, 0.5, 0))
    m.screw("thread", bodies[2], bodies[3], lead=m.parameter("lead", 0.3, "m"), axis="x")
    m.prismatic("slide", bodies[3], bodies[4], axis="y", at=(0, 0, 1))
    for body in bodies:
        m.point(f"{body.name}_tip", body, (0.3, -0.2, 0.7))
        for axis in "xyz":
            m.output(f"{body.name}_tip_{axis}", f"position_{axis}({body.name}_tip)", "m")
    equations, program = dr.derive(m), body_poses(m)
    rng = np.random.default_rng(3)
    q = rng.normal(size=len(equations.coordinates)) * 0.5
    names = [c.name for c in equations.coordinates]
    for stem in ("a", "ball"):
        four = [names.index(f"{stem}_{part}") for part in ("qw", "qx", "qy", "qz")]
        q[four] /= np.linalg.norm(q[four])
    p = [0.4]
    reported = dict(
        zip(
            equations.motion.output("outputs").labels,
            equations.motion([0.0], q, np.zeros(len(equations.velocities)), [], p)[1],
            strict=True,
        )
    )
    for slot, matrix in zip(program.outputs, program([0.0], q, p), strict=True):
        assert matrix[:, :3] @ matrix[:, :3].T == pytest.approx(np.eye(3), abs=1e-14)
        tip = matrix[:, :3] @ [0.3, -0.2, 0.7] + matrix[:, 3]
        assert tip == pytest.approx([reported[f"{slot.name}_tip_{axis}"] for axis in "xyz"], rel=1e-13)
