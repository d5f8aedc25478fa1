"""An event-driven judge of rigid contact: DOP853 between events, modes by complementarity, every event located to rounding.

Plain and slow on purpose, and independent of the package: it knows a `Scene` of functions and nothing of models, derivations
or compiled code. Positions and velocities of closed contacts are projected at events; between them the tolerances of the
integration keep them. Where contact forces are not unique (more sticking rows than freedoms) the least-norm ones stand for
the limits of friction between events; at events the modes themselves decide.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from complementarity import BACK, OPEN, STICK, Law, Solution, solutions
from impact_laws import Ending, Surface, algebraic, path, sequential, two_phase
from numpy.typing import NDArray
from rigid_scene import Scene
from scipy.integrate import DOP853
from scipy.optimize import brentq

Array = NDArray[Any]
Restitution = Literal["newton", "poisson", "sequential", "path newton", "path poisson", "path energetic"]
Sample = tuple[float, dict[tuple[str, int], float]]
CLOSED = 1e-9  # gap below which a contact counts as closed, once an event has been located
REST = 1e-10  # relative velocity below which it is zero; approach below it is no impact
SHORT = 1e-6  # flights shorter than this are followed by their leading terms: positions no longer resolve them


@dataclass(frozen=True)
class Event:
    """What happened: kind (impact, lift off, slip, stick, mode), contact, time, state before and after, impulses by contact."""

    kind: str
    contact: str
    t: float
    q: Array
    before: Array
    after: Array
    impulses: dict[str, Array] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """Where a run ended, and its events. `status`: "end", "inconsistent" (no mode fits) or "indeterminate" (several)."""

    t: float
    q: Array
    v: Array
    status: str
    events: tuple[Event, ...]
    modes: dict[str, str]
    forces: dict[str, Array]

    def of(self, kind: str, contact: str | None = None) -> list[Event]:
        """Events of a kind, and of a contact."""
        return [e for e in self.events if e.kind == kind and contact in (None, e.contact)]


@dataclass(frozen=True)
class Sliding:
    """One closed contact between events: it sticks, or slips in a direction (in space: near this one)."""

    index: int
    sticks: bool
    direction: Array


def contact_laws(
    scene: Scene, t: float, q: Array, v: Array, closed: list[int], forbidden: dict[int, frozenset[str]]
) -> tuple[list[Law], Array, Array]:
    """Delassus matrix, free accelerations and laws of the closed contacts, from the slip velocities they have."""
    W, u, b = scene.contact_rows(t, q, v, closed)
    inverse = np.linalg.inv(scene.mass(q))
    laws, at = [], 0
    for i, size in zip(closed, scene.sizes(closed, q), strict=True):
        slip = u[at + 1 : at + 1 + size]
        speed = float(np.linalg.norm(slip))
        static, kinetic = scene.contacts[i].friction
        direction = slip / speed if size and speed > REST and np.isfinite(kinetic) else None
        laws.append(Law(size, static, kinetic, direction, forbidden=forbidden.get(i, frozenset())))
        at += 1 + size
    return laws, W @ inverse @ W.T, W @ inverse @ scene.force(t, q, v) + b


def accelerations(
    scene: Scene,
    t: float,
    q: Array,
    v: Array,
    closed: list[int] | None = None,
    forbidden: dict[int, frozenset[str]] | None = None,
) -> list[Solution]:
    """All combinations of modes of the closed contacts that fit a state, at acceleration level."""
    closed = touching_contacts(scene, t, q, v) if closed is None else closed
    laws, G, c = contact_laws(scene, t, q, v, closed, forbidden or {})
    return solutions(G, c, laws)


def touching_contacts(scene: Scene, t: float, q: Array, v: Array) -> list[int]:
    """Contacts whose gap is closed and does not open."""
    near = [i for i, contact in enumerate(scene.contacts) if contact.opening(t, q) < CLOSED]
    return [i for i in near if scene.contact_rows(t, q, v, [i])[1][0] < REST]


class Flow:
    """The motion between two events in given modes."""

    def __init__(self, scene: Scene, slidings: list[Sliding], size: int) -> None:
        self.scene, self.slidings, self.size = scene, slidings, size
        self.closed = [s.index for s in slidings]

    def solve(self, t: float, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Acceleration, multipliers and relative velocities of the closed contacts."""
        M, f = self.scene.mass(q), self.scene.force(t, q, v)
        if not self.closed:
            return np.linalg.solve(M, f), np.zeros(0), np.zeros(0)
        W, u, b = self.scene.contact_rows(t, q, v, self.closed)
        columns, equations, at = [], [], 0
        for s, size in zip(self.slidings, self.scene.sizes(self.closed, q), strict=True):
            normal = np.zeros(len(u))
            normal[at] = 1.0
            if size and not s.sticks:
                slip, speed = u[at + 1 : at + 1 + size], float(np.linalg.norm(u[at + 1 : at + 1 + size]))
                direction = s.direction if size == 1 or speed < REST else slip / speed
                direction = direction if direction @ s.direction >= 0 else -direction  # smooth beyond the end of slip
                normal[at + 1 : at + 1 + size] = -self.scene.contacts[s.index].friction[1] * direction
            columns.append(normal)
            equations.append(at)
            if s.sticks:
                for k in range(at + 1, at + 1 + size):
                    columns.append(np.eye(len(u))[k])
                    equations.append(k)
            at += 1 + size
        B = np.array(columns).T
        inverse = np.linalg.inv(M)
        A = (W @ inverse @ W.T @ B)[equations]
        right = -(W @ inverse @ f + b)[equations]
        unique = len(A) <= 2 or np.linalg.cond(A) < 1e11  # one contact: its rows are independent
        force = B @ (np.linalg.solve(A, right) if unique else np.linalg.lstsq(A, right, rcond=1e-11)[0])
        return inverse @ (f + W.T @ force), force, u

    def rates(self, t: float, y: Array) -> Array:
        """State derivative."""
        q, v = y[: self.size], y[self.size :]
        return np.concatenate([v, self.solve(t, q, v)[0]])

    def indicators(self, t: float, y: Array) -> dict[tuple[str, int], float]:
        """Quantities that stay positive within the modes, by kind of event and contact."""
        q, v = y[: self.size], y[self.size :]
        values = {("impact", i): contact.opening(t, q) for i, contact in enumerate(self.scene.contacts) if i not in self.closed}
        _, force, u = self.solve(t, q, v)
        at = 0
        for s, size in zip(self.slidings, self.scene.sizes(self.closed, q), strict=True):
            tangential = slice(at + 1, at + 1 + size)
            values["lift off", s.index] = force[at]
            static = self.scene.contacts[s.index].friction[0]
            if s.sticks and size and np.isfinite(static):
                values["slip", s.index] = static * force[at] - float(np.linalg.norm(force[tangential]))
            if not s.sticks and size:
                values["stick", s.index] = float(u[tangential] @ s.direction)
            at += 1 + size
        return values


def flow_to(flow: Flow, t: float, y: Array, end: float) -> Array:
    """The state at a later time, without events."""
    if end == t:
        return y
    stepper = DOP853(flow.rates, t, y, end, rtol=1e-13, atol=1e-15, first_step=abs(end - t))
    while stepper.status == "running":
        stepper.step()
    return stepper.y


def next_event(flow: Flow, t: float, y: Array, end: float) -> tuple[float, Array, tuple[str, int] | None]:
    """Integrates until an indicator leaves its positive side, or the end; gives time, state and event."""
    stepper = DOP853(flow.rates, t, y, end, rtol=1e-13, atol=1e-15)
    last = flow.indicators(t, y)
    while stepper.status == "running":
        start, begin = stepper.t, stepper.y.copy()
        message = stepper.step()
        if stepper.status == "failed":
            raise RuntimeError(f"DOP853 stopped at t = {stepper.t}: {message}")
        dense = stepper.dense_output()
        span = stepper.t - start
        first = start == t
        earliest: tuple[float, tuple[str, int]] | None = None

        def sampled(fraction: float, start: float = start, span: float = span, dense: Any = dense) -> Sample:
            return start + fraction * span, flow.indicators(start + fraction * span, dense(start + fraction * span))

        samples = [(start, last), *(sampled(k / 8) for k in range(1, 8)), (stepper.t, flow.indicators(stepper.t, stepper.y))]
        if first and any(value < 0 for value in samples[1][1].values()):  # a mode that begins at zero may be short
            samples[1:1] = [sampled(2.0**-k) for k in range(30, 3, -1)]
        for key in last:
            found = _first_crossing(flow, dense, samples, key, first)
            if found is not None and (earliest is None or found < earliest[0]):
                earliest = (found, key)
        if earliest is not None:
            return (*_located(flow, start, begin, earliest[0], earliest[1], stepper.t), earliest[1])
        last = samples[-1][1]
    return stepper.t, stepper.y, None


def _first_crossing(flow: Flow, dense: Callable[[float], Array], samples: list[Sample], key: Any, first: bool) -> float | None:
    """Where an indicator first goes from positive to negative; a mode may begin where it is zero, and end at once."""
    positive = samples[0][1][key] > (1e-12 if first else 0.0)
    for (a, at_a), (b, at_b) in itertools.pairwise(samples):
        positive = positive or at_a[key] > (1e-12 if first else 0.0)
        if positive and at_b[key] < 0 and np.isfinite(at_a[key]):
            if at_a[key] <= 0:
                return a
            return float(brentq(lambda s: flow.indicators(s, dense(s))[key], a, b, xtol=1e-15, rtol=1e-14))
    return samples[0][0] if not positive and samples[-1][1][key] < 0 else None


def _located(flow: Flow, start: float, y: Array, guess: float, key: Any, end: float) -> tuple[float, Array]:
    """The event once more by integration to it instead of interpolation: secant steps from the interpolated place."""

    def value(s: float) -> tuple[float, Array]:
        state = flow_to(flow, start, y, s)
        return flow.indicators(s, state)[key], state

    if guess == start:
        return start, y
    delta = max(1e-7 * (end - start), 4e-16 * abs(guess))
    (a, fa), b = (guess - delta, value(max(guess - delta, start))[0]), guess
    fb, state = value(b)
    for _ in range(6):
        if fb == fa or fb == 0:
            break
        c = b - fb * (b - a) / (fb - fa)
        if not np.isfinite(c) or not start <= c <= end or abs(c - b) < 2e-16 * max(abs(b), 1e-3):
            break
        a, fa = b, fb
        b, (fb, state) = c, value(c)
    return b, state


@dataclass
class Simulation:
    """A run in the making: state, events, and the law of impacts."""

    scene: Scene
    restitution: Restitution
    t: float
    q: Array
    v: Array
    events: list[Event] = field(default_factory=list)

    def collide(self) -> None:
        """The impact of all contacts that are closed, if one of them approaches."""
        scene = self.scene
        near = [i for i, contact in enumerate(scene.contacts) if contact.opening(self.t, self.q) < CLOSED]
        W, u, _ = scene.contact_rows(self.t, self.q, self.v, near)
        sizes = scene.sizes(near, self.q)
        starts = np.cumsum([0] + [1 + size for size in sizes])
        approaching = [i for i, at in zip(near, starts, strict=False) if u[at] < -REST]
        if not approaching:
            return
        inverse = np.linalg.inv(scene.mass(self.q))
        G = W @ inverse @ W.T
        surfaces = []
        for i, size, at in zip(near, sizes, starts, strict=False):
            contact = scene.contacts[i]
            small = u[at] < -REST and contact.restitution * -u[at] < REST  # the end of an accumulation of impacts
            surfaces.append(
                Surface(size, contact.friction[1], 0.0 if small else contact.restitution, contact.tangential_restitution)
            )
        impulse, modes = impact_impulse(G, u, surfaces, self.restitution)
        after = self.v + inverse @ W.T @ impulse
        by_name = {scene.contacts[i].name: impulse[starts[k] : starts[k + 1]] for k, i in enumerate(near)}
        names = {scene.contacts[i].name: mode for i, mode in zip(near, modes, strict=False)}
        first = scene.contacts[approaching[0]].name
        self.events.append(Event("impact", first, self.t, self.q.copy(), self.v.copy(), after, by_name, names))
        self.v = after

    def project(self, closed: list[int], slidings: list[Sliding]) -> None:
        """Closed contacts exactly closed, sticking ones exactly at rest."""
        if not closed:
            return
        scene = self.scene
        for _ in range(2):
            W = np.vstack([scene.contacts[i].kinematics(self.t, self.q, self.v)[0][0] for i in closed])
            gaps = np.array([scene.contacts[i].opening(self.t, self.q) for i in closed])
            inverse = np.linalg.inv(scene.mass(self.q))
            self.q = self.q - inverse @ W.T @ np.linalg.lstsq(W @ inverse @ W.T, gaps, rcond=1e-11)[0]
        W, u, _ = scene.contact_rows(self.t, self.q, self.v, closed)
        rows, at = [], 0
        for s, size in zip(slidings, scene.sizes(closed, self.q), strict=True):
            rows += [at, *(range(at + 1, at + 1 + size) if s.sticks else ())]
            at += 1 + size
        W, u = W[rows], u[rows]
        inverse = np.linalg.inv(scene.mass(self.q))
        self.v = self.v - inverse @ W.T @ np.linalg.lstsq(W @ inverse @ W.T, u, rcond=1e-11)[0]

    def short_flight(self) -> bool:
        """Follows a flight so short that positions do not resolve it: leading terms of one contact's gap."""
        scene = self.scene
        for i, contact in enumerate(scene.contacts):
            if contact.opening(self.t, self.q) >= CLOSED:
                continue
            W, u, b = contact.kinematics(self.t, self.q, self.v)
            if u[0] < REST:
                continue
            acceleration = np.linalg.solve(scene.mass(self.q), scene.force(self.t, self.q, self.v))
            fall = float(W[0] @ acceleration + b[0])
            if fall < 0 and -2 * u[0] / fall < SHORT:
                duration = -2 * u[0] / fall
                flow = Flow(scene, [], len(self.q))
                y = flow_to(flow, self.t, np.concatenate([self.q, self.v]), self.t + duration)
                self.t, self.q, self.v = self.t + duration, y[: len(self.q)], y[len(self.q) :]
                self.project_gap(i)
                return True
        return False

    def project_gap(self, i: int) -> None:
        """One gap exactly zero, by the nearest configuration."""
        row = self.scene.contacts[i].kinematics(self.t, self.q, self.v)[0][0]
        column = np.linalg.solve(self.scene.mass(self.q), row)
        self.q = self.q - column * self.scene.contacts[i].opening(self.t, self.q) / (row @ column)


def impact_impulse(G: Array, u: Array, surfaces: list[Surface], restitution: Restitution) -> tuple[Array, tuple[str, ...]]:
    """Impulses and modes by the chosen law."""
    if restitution == "newton":
        return algebraic(G, u, surfaces)
    if restitution == "poisson":
        return two_phase(G, u, surfaces)
    if restitution == "sequential":
        return sequential(G, u, surfaces)[0], ("sequential",) * len(surfaces)
    if len(surfaces) != 1 or surfaces[0].size != 1:
        raise ValueError(f"the law {restitution!r} is for one planar contact, not for {len(surfaces)}")
    ending: Ending = restitution.split()[1]  # type: ignore[assignment]
    impulse = path(G, u, surfaces[0].friction, surfaces[0].restitution, ending)
    return impulse, ("path",)


def simulate(
    scene: Scene,
    q: Any,
    v: Any,
    until: float,
    *,
    restitution: Restitution = "newton",
    t: float = 0.0,
    stop: str = "",
    limit: int = 2000,
) -> Run:
    """Runs a scene to a time, to the first event whose kind is `stop`, or until no mode or more than one fits."""
    run = Simulation(scene, restitution, t, np.array(q, dtype=float), np.array(v, dtype=float))
    forbidden: dict[int, frozenset[str]] = {}
    names = [contact.name for contact in scene.contacts]
    for _ in range(limit):
        run.collide()
        if stop == "impact" and run.events and run.events[-1].kind == "impact":
            return _ended(run, "end", [], names)
        if run.short_flight():
            continue
        closed = touching_contacts(scene, run.t, run.q, run.v)
        found = accelerations(scene, run.t, run.q, run.v, closed, forbidden) or accelerations(scene, run.t, run.q, run.v, closed)
        if len(found) != 1:
            return _ended(run, "indeterminate" if found else "inconsistent", [], names)
        slidings = _slidings(scene, run, closed, found[0])
        kept = [s.index for s in slidings]
        run.project(kept, slidings)
        for i in closed:
            if i not in kept:
                run.project_gap(i)
        flow = Flow(scene, slidings, len(run.q))
        run.t, y, event = next_event(flow, run.t, np.concatenate([run.q, run.v]), until)
        run.q, run.v = y[: len(run.q)], y[len(run.q) :]
        if event is None:
            return _ended(run, "end", slidings, names)
        kind, i = event
        forbidden = {}
        if kind == "slip":
            forbidden = {i: frozenset({STICK})}
        if kind == "lift off":
            forbidden = {i: frozenset({STICK, "slip", BACK})}
        if kind != "impact":
            run.events.append(Event(kind, names[i], run.t, run.q.copy(), run.v.copy(), run.v.copy(), {}, {}))
        if kind == "stick":
            _rest(run, i)
        if kind == "impact":
            run.project_gap(i)
        if stop == kind and kind != "impact":
            return _ended(run, "end", slidings, names)
    raise RuntimeError(f"the run has not ended after {limit} events: t = {run.t}")


def _slidings(scene: Scene, run: Simulation, closed: list[int], solution: Solution) -> list[Sliding]:
    """The modes of a solution as the flow needs them."""
    sizes = scene.sizes(closed, run.q)
    result = []
    for i, size, mode, direction in zip(closed, sizes, solution.modes, solution.directions, strict=True):
        if mode != OPEN:
            result.append(Sliding(i, mode == STICK, np.zeros(size) if direction is None else direction))
    return result


def _rest(run: Simulation, i: int) -> None:
    """Sets the slip velocity of a contact to zero, if it has come to zero and has not turned by a right angle."""
    W, u, _ = run.scene.contacts[i].kinematics(run.t, run.q, run.v)
    if np.linalg.norm(u[1:]) < 1e-6:
        inverse = np.linalg.inv(run.scene.mass(run.q))
        run.v = run.v - inverse @ W.T @ np.linalg.lstsq(W @ inverse @ W.T, np.concatenate([[0.0], u[1:]]), rcond=1e-11)[0]


def _ended(run: Simulation, status: str, slidings: list[Sliding], names: list[str]) -> Run:
    """The record of a run."""
    flow = Flow(run.scene, slidings, len(run.q))
    _, force, _ = flow.solve(run.t, run.q, run.v)
    sizes = run.scene.sizes(flow.closed, run.q)
    starts = np.cumsum([0] + [1 + size for size in sizes])
    forces = {names[i]: force[starts[k] : starts[k + 1]] for k, i in enumerate(flow.closed)}
    modes = {name: OPEN for name in names} | {names[s.index]: STICK if s.sticks else "slip" for s in slidings}
    return Run(run.t, run.q, run.v, status, tuple(run.events), modes, forces)
