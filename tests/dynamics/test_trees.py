"""Random trees of bodies: against the Lagrangian, virtual power, Euler angles and Pinocchio; rotors merged or not."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from brute import Brute, quaternion, reported
from grounded import size
from in_pinocchio import in_pinocchio
from plain import Plain
from trees import RATE_JOINTS, coordinates, parameters, tree

from draisine.dynamics.derive import derive
from draisine.expr.expression import Name, Number, names
from draisine.gallery.entries.bicycle import bicycle
from draisine.model.items import Ball, Coordinate, Float, Glide, Rotate, Translate
from draisine.model.model import Model
from draisine.model.system import System

BALL_JOINTS = ("revolute", "prismatic", "spherical", "spherical", "universal", "fixed", "chain", "screw")
FREE_ROOTS = ("free", "free", "glide", "spherical")


def free_tree(seed: int) -> Model:
    """Free bodies and ball joints among the others."""
    return tree(seed, BALL_JOINTS, FREE_ROOTS, most=10)


class Compared:
    """A model with its equations, the plain derivation, and random states."""

    def __init__(self, model: Model, seed: int) -> None:
        self.system = model.freeze()
        self.equations = derive(model)
        self.plain = Plain(self.system, self.equations)
        self.rng = np.random.default_rng(seed)

    def state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """q, v, v̇, p."""
        n = len(self.equations.velocities)
        return (
            coordinates(self.equations, self.rng),
            self.rng.normal(size=n),
            self.rng.normal(size=n),
            parameters(self.equations, self.rng),
        )

    def accelerations(self, q, v, p) -> np.ndarray:
        e = self.equations
        return e.dynamics([0.0], np.concatenate([q, v]), [], p)[0][len(q) :]


# -------------------------------------------------------------------- velocities that are rates of coordinates: the Lagrangian

RATE_SEEDS = range(100, 116)


@pytest.mark.parametrize("seed", RATE_SEEDS)
def test_forces_and_accelerations_are_those_of_the_lagrangian(seed):
    c = Compared(tree(seed), seed)
    lagrange = c.plain.function(c.plain.lagrange())
    for _ in range(2):
        q, v, a, p = c.state()
        (expected,) = lagrange(0, q, v, a, [], p)
        efforts = c.equations.inverse_dynamics(q, v, a, p)[0]
        assert np.abs(efforts - expected).max() < 1e-10 * size(expected)
        # the accelerations of the free motion need no effort
        moved = c.accelerations(q, v, p)
        (left,) = lagrange(0, q, v, moved, [], p)
        (weight,) = lagrange(0, q, v, np.zeros(len(v)), [], p)
        assert np.abs(left).max() < 1e-10 * size(weight)


def test_the_seeds_bring_every_kind_of_joint():
    """A guard of the tests above: all joints of `Model`, trees of one to six bodies, branches, two roots."""
    systems = [tree(seed).freeze() for seed in RATE_SEEDS]
    kinds = {tuple(type(step).__name__ for step in j.chain if _driven(step, j)) for s in systems for j in s.joints}
    named = {
        "revolute": ("Rotate",),
        "prismatic": ("Translate",),
        "cylindrical, screw": ("Rotate", "Translate"),
        "universal": ("Rotate", "Rotate"),
        "planar": ("Translate", "Rotate"),
        "fixed": (),
        "free by angles": ("Translate", "Rotate", "Rotate", "Rotate"),
        "chain": ("Rotate", "Translate", "Rotate"),
    }
    assert set(named.values()) <= kinds
    assert any(
        len(j.coordinates) == 1 and len([s for s in j.chain if _driven(s, j)]) == 2 for s in systems for j in s.joints
    )  # a screw
    assert {1, 6} <= {len(s.bodies) for s in systems}
    assert any(len([j for j in s.joints if j.parent == "ground"]) > 1 for s in systems)
    assert len(RATE_JOINTS) == 8


def _driven(step, joint) -> bool:
    own = {c.name for c in joint.coordinates}
    parts = (step.angle,) if isinstance(step, Rotate) else step.by if isinstance(step, Translate) else ()
    return any(names(part) & own for part in parts) or isinstance(step, Ball | Float | Glide)


# -------------------------------------------------------------------- free bodies and ball joints


@pytest.mark.parametrize("seed", range(200, 206))
def test_quasi_velocities_obey_virtual_power(seed):
    c = Compared(free_tree(seed), seed)
    power = c.plain.function(c.plain.virtual_power())
    for _ in range(2):
        q, v, a, p = c.state()
        (expected,) = power(0, q, v, a, [], p)
        efforts = c.equations.inverse_dynamics(q, v, a, p)[0]
        assert np.abs(efforts - expected).max() < 1e-10 * size(expected)
        moved, _ = c.plain.accelerations(0, q, v, [], p)
        assert np.abs(c.accelerations(q, v, p) - moved).max() < 1e-10 * size(moved)


def by_angles(system: System) -> System:
    """The same mechanism with quaternions and planar motion replaced by elementary turns and shifts."""

    def named(stem: str, count: int) -> list[Coordinate]:
        return [Coordinate(f"{stem}{i}", f"{stem}{i}_rate", "rad") for i in range(count)]

    joints = []
    for joint in system.joints:
        chain, added = [], []
        for step in joint.chain:
            if isinstance(step, Float | Glide):
                position = named(f"{joint.child}_at", len(step.position))
                chain.append(Translate((*(Name(c.name) for c in position), *[Number(0.0)] * (3 - len(position)))))
                added += position
            if isinstance(step, Float | Ball):
                turns = named(f"{joint.child}_turn", 3)
                chain += [Rotate(axis, Name(c.name)) for axis, c in zip("xyz", turns, strict=True)]
                added += turns
            elif isinstance(step, Glide):
                chain.append(Rotate("z", Name(step.heading)))
            else:
                chain.append(step)
        moved = {n for step in joint.chain if isinstance(step, Float | Ball | Glide) for n in step.moved}
        joints.append(
            joint._replace(chain=tuple(chain), coordinates=(*(c for c in joint.coordinates if c.name not in moved), *added))
        )
    return replace(system, joints=tuple(joints))


@pytest.mark.parametrize("seed", range(220, 226))
def test_quaternions_move_as_angles_do(seed):
    """The same state and physical motion described twice: accelerations of all mass centers and all spins agree."""
    c = Compared(free_tree(seed), seed)
    twin = Compared(Model.of(by_angles(c.system)), seed)
    q, v, _, p = twin.state()
    moved = np.linalg.solve(*_mass_and_side(twin, q, v, p))
    q_free, v_free = _same_state(c, twin, q, v, p)
    expected = _body_accelerations(twin)(0, q, v, moved, [], p)
    found = _body_accelerations(c)(0, q_free, v_free, c.accelerations(q_free, v_free, p), [], p)
    for ours, theirs in zip(found, expected, strict=True):
        assert np.abs(ours - theirs).max() < 1e-9 * size(theirs)


def _mass_and_side(twin: Compared, q, v, p) -> tuple[np.ndarray, np.ndarray]:
    """From the Lagrangian alone."""
    plain = twin.plain
    efforts = plain.lagrange()
    mass, bias = plain.function(ca.jacobian(efforts, plain.a), efforts)(0, q, v, np.zeros(len(v)), [], p)
    return mass.reshape(len(v), len(v)), -bias


def _body_accelerations(c: Compared):
    plain = c.plain
    places = ca.vertcat(*[plain.center(body) for body in c.system.bodies])
    spins = ca.vertcat(*[plain.frames[body.name][:3, :3] @ plain.spin(body.name) for body in c.system.bodies])
    return plain.function(places, plain.rate(places), spins, plain.rate(plain.rate(places)), plain.rate(spins))


def _same_state(c: Compared, twin: Compared, q, v, p) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of the tree with quaternions at the state of its twin."""
    known = dict(zip([x.name for x in (*twin.equations.coordinates, *twin.equations.velocities)], [*q, *v], strict=True))
    plain = twin.plain
    for joint, other in zip(c.system.joints, twin.system.joints, strict=True):
        relative = ca.SX.eye(4)
        for step in other.chain[-6:] if any(isinstance(s, Float) for s in joint.chain) else other.chain[-3:]:
            relative = relative @ plain._step(step, {})
        turn, place = relative[:3, :3], relative[:3, 3]
        spin = ca.inv_skew(turn.T @ ca.reshape(plain.rate(ca.vec(turn)), 3, 3))
        numbers = plain.function(turn, place, turn.T @ plain.rate(place), spin)(0, q, v, np.zeros(len(v)), [], p)
        for step in joint.chain:
            if isinstance(step, Float | Ball):
                known |= dict(zip(step.quaternion, _quaternion(numbers[0]), strict=True)) | dict(
                    zip(step.rates, numbers[3], strict=True)
                )
            if isinstance(step, Float | Glide):
                known |= dict(zip(step.position, numbers[1], strict=False)) | dict(zip(step.velocity, numbers[2], strict=False))
    e = c.equations
    return np.array([known[x.name] for x in e.coordinates]), np.array([known[x.name] for x in e.velocities])


def _quaternion(r: np.ndarray) -> np.ndarray:
    """The unit quaternion of a rotation: eigenvector of Bar-Itzhack's symmetric matrix for its largest eigenvalue."""
    k = np.array(
        [
            [np.trace(r), r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]],
            [0, r[0, 0] - r[1, 1] - r[2, 2], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0]],
            [0, 0, r[1, 1] - r[0, 0] - r[2, 2], r[1, 2] + r[2, 1]],
            [0, 0, 0, r[2, 2] - r[0, 0] - r[1, 1]],
        ]
    )
    return np.linalg.eigh(k, UPLO="U")[1][:, -1]


# -------------------------------------------------------------------- mass matrix


@pytest.mark.parametrize(
    "make", [*(lambda s=s: tree(s) for s in (300, 301, 302)), *(lambda s=s: free_tree(s) for s in (303, 304, 305))]
)
def test_mass_matrix_is_the_curvature_of_the_kinetic_energy(make):
    """Column by column from unit accelerations (Mauny et al. 2017, section 6.1): ∂²T/∂v² of the report, symmetric, positive."""
    c = Compared(make(), 1)
    e = c.equations
    q, v, _, p = c.state()
    rest = e.inverse_dynamics(q, v, np.zeros(len(v)), p)[0]
    mass = np.column_stack([e.inverse_dynamics(q, v, unit, p)[0] - rest for unit in np.eye(len(v))])
    t, x, u, parameter = e.report.symbols()
    kinetic = e.report.function.call([t, x, u, parameter])[[s.name for s in e.report.outputs].index("energy")][0]
    curvature = ca.Function("curvature", [t, x, u, parameter], [ca.hessian(kinetic, x)[0]])
    expected = curvature(0, np.concatenate([q, v]), [], p).full()[len(q) :, len(q) :]
    assert np.abs(mass - expected).max() < 1e-12 * size(expected)
    assert np.abs(mass - mass.T).max() < 1e-12 * size(expected)
    assert np.linalg.eigvalsh((mass + mass.T) / 2).min() > 0


# -------------------------------------------------------------------- Pinocchio


@pytest.mark.parametrize("seed", range(400, 406))
def test_pinocchio_agrees(seed):
    pin = pytest.importorskip("pinocchio", reason="pinocchio is an optional peer: pip install draisine[pinocchio]")
    kinds = ("revolute", "prismatic", "cylindrical", "universal", "planar", "fixed", "spherical", "spherical")
    model = tree(seed, kinds, ("free", "spherical"), most=12)
    c = Compared(model, seed)
    e = c.equations
    p = e.default_parameters
    theirs, q_names, v_names = in_pinocchio(pin, c.system, e)
    data = theirs.createData()
    ours_q, ours_v = [x.name for x in e.coordinates], [x.name for x in e.velocities]
    into_q, into_v = [ours_q.index(n) for n in q_names], [ours_v.index(n) for n in v_names]
    back = [v_names.index(n) for n in ours_v]
    for _ in range(3):
        q, v, a, _ = c.state()
        efforts = pin.rnea(theirs, data, q[into_q], v[into_v], a[into_v])[back]
        assert np.abs(e.inverse_dynamics(q, v, a, p)[0] - efforts).max() < 1e-10 * size(efforts)
        moved = pin.aba(theirs, data, q[into_q], v[into_v], np.zeros(len(v)))[back]
        assert np.abs(c.accelerations(q, v, p) - moved).max() < 1e-9 * size(moved)


# -------------------------------------------------------------------- rotors


def gyros(split: bool) -> Model:
    """A free body and an arm on it with rotors about every axis: at offsets, on turned hubs, with the mass along the axle."""
    m = Model("gyros")
    across, again = m.parameter("across", 0.05), m.parameter("again", 0.05)
    other = again if split else across
    m.body(
        "hull",
        mass=4.0,
        center_of_mass=(0.1, -0.05, 0.02),
        inertia={"xx": 0.5, "yy": 0.6, "zz": 0.4, "xy": 0.03, "yz": -0.02, "zx": 0.05},
    )
    m.free("hull")
    m.body("arm", mass=1.5, center_of_mass=(0.2, 0.0, 0.1), inertia={"xx": 0.05, "yy": 0.08, "zz": 0.07, "zx": 0.01})
    m.revolute("elbow", "hull", "arm", axis="x", at=(0.3, 0.1, 0.0), orientation=[("y", 0.4)])
    moments = {"x": (0.08, across, other), "y": (across, 0.08, other), "z": (across, other, 0.08)}
    for k, (carrier, axis, turned) in enumerate(
        [
            ("hull", "x", ()),
            ("hull", "y", [("z", 0.7)]),
            ("hull", "z", ()),
            ("arm", "y", ()),
            ("arm", "z", [("x", -0.3), ("y", 0.2)]),
        ]
    ):
        along = [0.1 if a == axis else 0 for a in "xyz"]
        m.body(f"rotor{k}", mass=0.7 + 0.1 * k, center_of_mass=along, inertia=moments[axis])
        m.revolute(f"angle{k}", carrier, f"rotor{k}", axis=axis, at=(0.1 * k, -0.1, 0.05), orientation=turned, rate=f"spin{k}")
        m.generalized_force(f"angle{k}", m.input(f"motor{k}"))
    # a wrench on a point of a rotor off its axle brings the angle in, and must do so in both
    m.point("rim", "rotor3", at=(0.1, 0.02, 0.05))
    m.wrench("rim", force=(0.0, m.input("pull"), 0.3), torque=(0.1, 0.0, m.input("twist")))
    m.wrench("rim", force=(0.2, 0.0, 0.0), torque=(0.0, 0.3, 0.0), axes="body")
    return m


def rolling(split: bool) -> Model:
    """The bicycle with its wheels' two transverse moments from one parameter or from two of equal value."""
    m = Model.of(bicycle().freeze())
    again = {
        wheel: m.parameter(f"again_{wheel}", next(p.default for p in m.freeze().parameters if p.name == f"ixx_{wheel}"))
        for wheel in WHEELS
    }
    system = m.freeze()
    bodies = [
        b._replace(inertia=b.inertia._replace(zz=again[b.name])) if split and b.name in WHEELS else b for b in system.bodies
    ]
    return Model.of(replace(system, bodies=tuple(bodies)))


WHEELS = ("rear_wheel", "front_wheel")


@pytest.mark.parametrize("make", [gyros, rolling])
def test_merged_rotors_move_as_bodies_of_their_own(make):
    merged, apart = derive(make(split=False), work=False), derive(make(split=True), work=False)
    apart = apart.with_independent(merged.independent)
    brute = Brute(make(split=False))
    rng = np.random.default_rng(4)
    p = merged.default_parameters
    for _ in range(5):
        q = coordinates(merged, rng)
        if make is rolling:
            names_q = [c.name for c in merged.coordinates]
            q[names_q.index("frame_qw") : names_q.index("frame_qz") + 1] = quaternion(rng.uniform(-3, 3), rng.uniform(-1, 1), 0.0)
            q = brute.settle(q, p, held=("steer",))
        x, u = np.concatenate([q, rng.normal(size=len(merged.independent)) * 3]), rng.normal(size=len(merged.inputs))
        first, second = reported(merged, x, u, p), reported(apart, x, u, p)
        assert first["vdot"] == pytest.approx(second["vdot"], rel=1e-11, abs=1e-11 * size(second["vdot"]))
        assert first["multipliers"] == pytest.approx(second["multipliers"], rel=1e-11, abs=1e-11 * size(second["multipliers"]))
        assert merged.dynamics([0.0], x, u, p)[0] == pytest.approx(apart.dynamics([0.0], x, u, p)[0], rel=1e-11, abs=1e-10)
        assert first["energy"] == pytest.approx(second["energy"], rel=1e-13)
        assert first["outputs"] == pytest.approx(second["outputs"], rel=1e-10, abs=1e-10)
    assert merged.dynamics.operations < apart.dynamics.operations


def test_an_unbalanced_wheel_is_noted_and_its_angle_enters():
    merged, apart = derive(rolling(split=False)), derive(rolling(split=True))
    assert not merged.notes
    for wheel in WHEELS:
        assert any(f"{wheel!r}" in note and "spin angle enters" in note for note in apart.notes)
        assert not _enters(merged, f"{wheel}_angle")
        assert _enters(apart, f"{wheel}_angle")


def _enters(equations, coordinate: str) -> bool:
    column = [s.name for s in equations.states].index(coordinate)
    return bool(ca.DM(equations.dynamics.function.jac_sparsity(0, 1), 1).full()[:, column].any())


@pytest.mark.parametrize("change", ["center", "product", "child", "blade"])
def test_what_spoils_a_rotor_keeps_its_angle(change):
    """A mass off the axle, a product of inertia, a body carried, a blade: each is seen, and the motion is right."""
    m = Model("spoiled")
    m.body("hull", mass=4.0, center_of_mass=(0.1, 0.0, 0.3), inertia=(0.5, 0.6, 0.4))
    m.free("hull")
    body = {
        "center": {"center_of_mass": (0.03, 0, 0)},
        "product": {"inertia": {"xx": 0.05, "yy": 0.08, "zz": 0.05, "zx": 0.01}},
    }.get(change, {})
    m.body("rotor", **({"mass": 1.0, "inertia": (0.05, 0.08, 0.05)} | body))
    m.revolute("angle", "hull", "rotor", axis="y", at=(0.1, 0.2, 0.0))
    if change == "child":
        m.body("crank", mass=0.3, inertia=(0.01, 0.01, 0.01))
        m.revolute("pedal", "rotor", "crank", axis="y", at=(0.2, 0.0, 0.0))
    if change == "blade":
        m.knife_edge("rotor", at=(0.1, 0.0, 0.2), along="x")
    c = Compared(m, 6)
    assert _enters(c.equations, "angle")
    q, _, _, p = c.state()
    x = np.concatenate([q, c.rng.normal(size=len(c.equations.independent))])
    report = reported(c.equations, x, np.zeros(0), p)
    moved, _ = c.plain.accelerations(0, q, report["v"], [], p)
    assert np.abs(report["vdot"] - moved).max() < 1e-11 * size(moved)
