"""Random trees of bodies: the recursion against the Lagrangian, virtual power, Euler angles and Pinocchio; rotors merged or not."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from plain import Plain
from trees import RATE_JOINTS, coordinates, parameters, tree

from draisine.equations import derive
from draisine.gallery.entries.bicycle import bicycle
from draisine.model import Model
from draisine.model.items import Ball, Coordinate, Float, Glide, Rotate, System, Translate
from draisine.program.expression import Name, Number

BALL_JOINTS = ("revolute", "prismatic", "spherical", "spherical", "universal", "fixed", "chain", "screw")
FREE_ROOTS = ("free", "free", "glide", "spherical")


def free_tree(seed: int) -> Model:
    """Free bodies and ball joints among the others."""
    return tree(seed, BALL_JOINTS, FREE_ROOTS, most=10)


def size(*arrays: np.ndarray) -> float:
    return max(1.0, *(np.abs(a).max(initial=0.0) for a in arrays))


class Compared:
    """A model with its equations, the plain road, and random states."""

    def __init__(self, model: Model, seed: int) -> None:
        self.system = model.freeze()
        self.equations = derive(model)
        self.plain = Plain(self.system, self.equations)
        self.rng = np.random.default_rng(seed)

    def state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """q, v, v̇, p."""
        n = len(self.equations.velocities)
        return coordinates(self.equations, self.rng), self.rng.normal(size=n), self.rng.normal(size=n), parameters(self.equations, self.rng)

    def accelerations(self, q, v, p) -> np.ndarray:
        e = self.equations
        return e.dynamics([0.0], np.concatenate([q, v]), [], p)[0][len(q) :]


# -------------------------------------------------------------------- velocities that are rates of coordinates: the Lagrangian

RATE_SEEDS = range(100, 120)


@pytest.mark.parametrize("seed", RATE_SEEDS)
def test_efforts_and_accelerations_are_those_of_the_lagrangian(seed):
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
    """A guard of the tests above: the generator reaches all joints of `Model`, trees of one to six bodies, branches, two roots."""
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
    assert any(len(j.coordinates) == 1 and len([s for s in j.chain if _driven(s, j)]) == 2 for s in systems for j in s.joints)  # a screw
    assert {1, 6} <= {len(s.bodies) for s in systems}
    assert any(len([j for j in s.joints if j.parent == "ground"]) > 1 for s in systems)
    assert len(RATE_JOINTS) == 8


def _driven(step, joint) -> bool:
    own = {c.name for c in joint.coordinates}
    parts = (step.angle,) if isinstance(step, Rotate) else step.by if isinstance(step, Translate) else ()
    from draisine.program.expression import names

    return any(names(part) & own for part in parts) or isinstance(step, Ball | Float | Glide)


# -------------------------------------------------------------------- free bodies and ball joints


@pytest.mark.parametrize("seed", range(200, 210))
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
        joints.append(replace(joint, chain=tuple(chain), coordinates=(*(c for c in joint.coordinates if c.name not in moved), *added)))
    return replace(system, joints=tuple(joints))


@pytest.mark.parametrize("seed", range(220, 228))
def test_quaternions_move_as_angles_do(seed):
    """The same state and physical motion described twice: accelerations of all mass centres and all spins agree."""
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
    places = ca.vertcat(*[plain.centre(body) for body in c.system.bodies])
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
                known |= dict(zip(step.quaternion, _quaternion(numbers[0]), strict=True)) | dict(zip(step.rates, numbers[3], strict=True))
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


@pytest.mark.parametrize("make", [*(lambda s=s: tree(s) for s in (300, 301, 302)), *(lambda s=s: free_tree(s) for s in (303, 304, 305))])
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


@pytest.mark.parametrize("seed", range(400, 410))
def test_pinocchio_agrees(seed):
    pin = pytest.importorskip("pinocchio", reason="pinocchio is an optional peer: pip install draisine[pinocchio]")
    kinds = ("revolute", "prismatic", "cylindrical", "universal", "planar", "fixed", "spherical", "spherical")
    model = tree(seed, kinds, ("free", "spherical"), most=12)
    c = Compared(model, seed)
    e = c.equations
    p = e.default_parameters
    theirs, q_names, v_names = _in_pinocchio(pin, c.system, e)
    data = theirs.createData()
    for _ in range(3):
        q, v, a, _ = c.state()
        known = dict(zip([x.name for x in (*e.coordinates, *e.velocities)], [*q, *v], strict=True))
        wanted = dict(zip([x.name for x in e.velocities], a, strict=True))
        state = [np.array([values[n] for n in names]) for values, names in ((known, q_names), (known, v_names), (wanted, v_names))]
        order = [v_names.index(x.name) for x in e.velocities]
        efforts = pin.rnea(theirs, data, *state)[order]
        assert np.abs(e.inverse_dynamics(q, v, a, p)[0] - efforts).max() < 1e-10 * size(efforts)
        moved = pin.aba(theirs, data, state[0], state[1], np.zeros(len(v)))[order]
        assert np.abs(c.accelerations(q, v, p) - moved).max() < 1e-9 * size(moved)


def _in_pinocchio(pin, system: System, equations):
    """The tree as a Pinocchio model, and the names of its configuration and velocity entries in Pinocchio's order."""
    from draisine.program.expression import evaluate_number, names

    values = {q.name: q.default for q in equations.parameters}
    model = pin.Model()
    model.gravity.linear = np.array([0.0, 0.0, -values["gravity"]])
    hung = {"ground": (0, pin.SE3.Identity())}
    q_names: list[str] = []
    v_names: list[str] = []
    for joint in system.joints:  # parents come first in these trees
        at, frame = hung[joint.parent]
        rates = {c.name: c.rate for c in joint.coordinates}
        zero = values | dict.fromkeys(rates, 0.0)

        def add(kind, coordinates, velocities):
            nonlocal at, frame
            at = model.addJoint(at, kind, frame, f"joint{model.njoints}")
            frame = pin.SE3.Identity()
            q_names.extend(coordinates)
            v_names.extend(velocities)

        for step in joint.chain:
            if isinstance(step, Rotate):
                used = sorted(names(step.angle) & set(rates))
                if used:
                    add(getattr(pin, f"JointModelR{step.axis.upper()}")(), used, [rates[n] for n in used])
                else:
                    turn = pin.utils.rotate(step.axis, evaluate_number(step.angle, zero))
                    frame = frame * pin.SE3(turn, np.zeros(3))
            elif isinstance(step, Translate):
                frame = frame * pin.SE3(np.eye(3), np.array([evaluate_number(b, zero) for b in step.by]))
                for axis, component in zip("XYZ", step.by, strict=True):
                    for n in names(component) & set(rates):
                        add(getattr(pin, f"JointModelP{axis}")(), [n], [rates[n]])
            else:
                w, *vector = step.quaternion
                if isinstance(step, Float):
                    add(pin.JointModelFreeFlyer(), [*step.position, *vector, w], [*step.velocity, *step.rates])
                else:
                    add(pin.JointModelSpherical(), [*vector, w], step.rates)
        body = next(b for b in system.bodies if b.name == joint.child)
        number = {k: evaluate_number(getattr(body.inertia, k), values) for k in ("xx", "yy", "zz", "xy", "yz", "zx")}
        tensor = np.array([[number[min(a + b, b + a, key=list(number).index)] if a + b in number or b + a in number else 0 for b in "xyz"] for a in "xyz"])
        centre = np.array([evaluate_number(x, values) for x in body.centre])
        model.appendBodyToJoint(at, pin.Inertia(evaluate_number(body.mass, values), centre, tensor), frame)
        hung[joint.child] = (at, frame)
    return model, q_names, v_names
