"""Consistent starts of many lanes at once: the same equations as `simulation.start`, solved over arrays.

z is the scaled change of the free unknowns, A the rows' slope by it, r their residuals. The iteration z ← A⁺(A z − r) is
Newton's as far as the residuals go, and slides along the solutions to the one closest to the reference: where it stands still,
r = 0 and z lies in the span of the rows. Lanes that it does not settle, or whose rows come close to being dependent, are left
to `consistent_start`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.program.equations import Equations
from draisine.program.implicit import Implicit
from draisine.simulation.start.calm import DECIDED, MANY, REASON
from draisine.simulation.start.level import EXACT, FULFILLED, SAFE
from draisine.simulation.start.problem import StartProblem

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOST_TURNS = 60
STILL = 1e-10  # a change of z below this part of it: the distance is then exact to rounding


@dataclass(frozen=True, eq=False)
class Asked:
    """What lanes wish for: columns by name, and the inputs and parameters of each lane."""

    wishes: Mapping[str, Reals]  # (lanes) each
    near: Mapping[str, float]
    inputs: Reals  # (lanes, m)
    parameters: Reals  # (lanes, p)

    def __len__(self) -> int:
        return len(self.parameters)

    def rows(self, which: NDArray[np.intp]) -> Asked:
        """Some of the lanes."""
        wishes = {name: column[which] for name, column in self.wishes.items()}
        return Asked(wishes, self.near, self.inputs[which], self.parameters[which])


@dataclass(frozen=True, eq=False)
class Begun:
    """Coordinates, all velocities and further states at the start; where not `settled` they mean nothing."""

    q: Reals  # (lanes, coordinates)
    v: Reals  # (lanes, velocities)
    extra: Reals  # (lanes, further states)
    settled: Bools  # (lanes)

    def states(self, equations: Equations) -> Reals:
        """The states in terms of a choice of independent velocities."""
        place = {velocity.name: i for i, velocity in enumerate(equations.velocities)}
        return np.column_stack([self.q, self.v[:, [place[name] for name in equations.independent]], self.extra])


def begin_all(problem: StartProblem, asked: Asked) -> Begun:
    """Starts of all lanes."""
    e, count = problem.equations, len(asked)
    extra = np.array([asked.wishes.get(s.name, np.full(count, s.default)) for s in e.extra_states]).reshape(-1, count).T
    q, v = (
        np.tile(_reference(defaults, names, asked.near), (count, 1))
        for defaults, names in zip(problem.defaults, problem.unknowns, strict=True)
    )
    if isinstance(e.dynamics, Implicit):
        return Begun(q, v, extra, np.zeros(count, dtype=bool))
    with np.errstate(all="ignore"):
        q, settled = _positions(problem, asked)
        if e.velocities:
            v, moving = _velocities(problem, asked, q, v)
            settled &= moving
    return Begun(q, v, extra, settled & np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1))


def _reference(defaults: Reals, names: Sequence[str], near: Mapping[str, float]) -> Reals:
    return np.array([near.get(name, value) for name, value in zip(names, defaults, strict=True)], dtype=float)


# ------------------------------------------------------------------------------------------------------------- levels


@dataclass(frozen=True, eq=False)
class _Rows:
    """Residuals and slopes of one level over lanes, and what they are compared with."""

    residual: Reals  # (lanes, rows)
    slope: Reals  # (lanes, rows, free)
    share: Reals  # (lanes): the largest residual as a part of its weight
    strict: Reals  # the same where wishes are compared with themselves alone


class _Level:
    """One level, positions or velocities, of all lanes: they differ in numbers, not in structure."""

    def __init__(self, problem: StartProblem, name: str, asked: Asked, reference: Reals, other: Reals) -> None:
        self.problem, self.name, self.asked, self.other = problem, name, asked, other
        positions = name == "position"
        unknowns = problem.unknowns[0 if positions else 1]
        home = "coordinates" if positions else "velocities"
        self.free = np.ones(len(unknowns), dtype=bool)
        self.reference = reference.copy()
        for wish, column in asked.wishes.items():
            if problem.homes[wish] == home:
                place = unknowns.index(wish)
                self.reference[:, place], self.free[place] = column, False
        aims = tuple(
            wish
            for wish in asked.wishes
            if problem.homes[wish] == "outputs" and problem.moving[problem.places[wish]] != positions
        )
        constraints = problem.constraints[name]
        self.layout = problem.layout(name, constraints, aims)
        self.target = np.zeros((len(asked), len(self.layout.take)))
        for k, wish in enumerate(aims):
            self.target[:, len(constraints) + k] = asked.wishes[wish]
        self.columns = np.flatnonzero(self.free)
        self.scale, self.leap = _scales(problem, name, asked, reference if positions else None)
        self.spread = self.scale[:, self.columns]
        self.unknowns = unknowns
        self.least = self.scale if positions else self._least()

    def evaluate(self, y: Reals) -> tuple[Reals, Reals]:
        """Residuals and their Jacobian by all unknowns."""
        n = len(y)
        place = {"q": y, "v": self.other} if self.name == "position" else {"q": self.other, "v": y}
        known = {"t": np.zeros((n, 1)), "u": self.asked.inputs, "p": self.asked.parameters, **place}
        arguments = [known[slot.name] for slot in self.problem.equations.motion.inputs]
        values, by_q, by_v = self.problem.kernel.map(*arguments)
        entries = by_q if self.name == "position" else by_v
        jacobian = np.zeros((n, len(self.layout.take) * y.shape[1]))
        jacobian[:, self.layout.place] = entries[:, self.layout.source]
        return values[:, self.layout.take] - self.target, jacobian.reshape(n, -1, y.shape[1])

    def _least(self) -> Reals:
        """Velocities count as at least as large as what is wished for needs, see `start.level`."""
        residual, jacobian = self.evaluate(self.reference)
        rates = np.einsum("lij,lj->li", np.abs(jacobian), self.scale)
        needed = np.where(rates > 0.0, np.maximum(np.abs(residual), np.abs(self.target)) / np.where(rates > 0.0, rates, 1.0), 0.0)
        size = np.maximum(needed.max(axis=1, initial=0.0), (np.abs(self.reference) / self.scale).max(axis=1, initial=0.0))
        return self.scale * np.where((size > 0.0) & np.isfinite(size), size, 1.0)[:, None]

    def everything(self, z: Reals) -> Reals:
        y = self.reference.copy()
        y[:, self.columns] += self.spread * z
        return y

    def at(self, z: Reals) -> _Rows:
        y = self.everything(z)
        residual, jacobian = self.evaluate(y)
        weight = np.abs(self.target) + np.einsum("lij,lj->li", np.abs(jacobian), np.maximum(np.abs(y), self.least))
        weight = np.where(weight == 0.0, 1.0, weight)
        sizes = np.abs(residual)
        share = (sizes / weight).max(axis=1, initial=0.0)
        wished = self.layout.wished & (self.target != 0.0)
        own = np.where(wished, sizes / np.where(wished, np.abs(self.target), 1.0), 0.0).max(axis=1, initial=0.0)
        clean = np.where(np.isnan(share), np.inf, share)
        return _Rows(residual, jacobian[:, :, self.columns] * self.spread[:, None, :], clean, np.fmax(clean, own))


def _scales(problem: StartProblem, name: str, asked: Asked, reference: Reals | None) -> tuple[Reals, Reals]:
    """Scales and leaps of the unknowns of a level, lane by lane where parameters that are lengths differ."""
    scales = problem.scales
    q0 = _reference(problem.defaults[0], problem.unknowns[0], asked.near)
    lengths = asked.parameters[:, scales.lengths]
    kinds, which = np.unique(lengths, axis=0, return_inverse=True)
    made = []
    for row in kinds:
        p = np.zeros(asked.parameters.shape[1])
        p[scales.lengths] = row
        length = scales.typical_length(p, q0)
        made.append(scales.coordinates(q0, length) if reference is not None else scales.velocities(length))
    leap = scales.leaps if reference is not None else np.full(len(problem.unknowns[1]), np.inf)
    return np.array(made, dtype=float)[which.reshape(-1)], leap


def _inverse(slope: Reals) -> tuple[Reals, Bools]:
    """Pseudo-inverses of rows, compared at length one, and where the rows are independent beyond doubt."""
    lanes, rows, width = slope.shape
    if rows > width:
        return np.zeros((lanes, width, rows)), np.zeros(lanes, dtype=bool)
    lengths = np.sqrt(np.einsum("lij,lij->li", slope, slope))
    lengths = np.where(lengths == 0.0, 1.0, lengths)
    unit = slope / lengths[:, :, None]
    products = unit @ unit.transpose(0, 2, 1)
    sound = np.isfinite(products).all(axis=(1, 2))
    products[~sound] = np.eye(rows)
    sound &= np.abs(np.linalg.det(products)) > 1e-30
    products[~sound] = np.eye(rows)
    inverse = np.linalg.inv(products)
    sound &= np.abs(inverse).max(axis=(1, 2), initial=0.0) < SAFE
    return (unit.transpose(0, 2, 1) @ inverse) / lengths[:, None, :], sound


def _closest(level: _Level) -> tuple[Reals, Bools]:
    """The changes that fulfil a level and are smallest, and the lanes for which they were found."""
    lanes = len(level.reference)
    z, sound = np.zeros((lanes, len(level.columns))), np.ones(lanes, dtype=bool)
    if not level.layout.take.size:
        return z, sound
    rows = level.at(z)
    furthest = level.leap[level.columns] / level.spread
    done = np.zeros(lanes, dtype=bool)  # lanes that stand still are left so: no lane depends on its neighbours
    for turn in range(MOST_TURNS):
        inverse, independent = _inverse(rows.slope)
        sound &= independent & np.isfinite(rows.share)
        new = np.einsum("lij,lj->li", inverse, np.einsum("lij,lj->li", rows.slope, z) - rows.residual)
        new = np.where((sound & ~done)[:, None], new, z)
        change = np.abs(new - z)
        sound &= ~(change > furthest).any(axis=1)
        still = change.max(axis=1, initial=0.0) <= STILL * np.abs(new).max(axis=1, initial=0.0) + 1e-15
        z, rows = new, level.at(new)
        if turn > 0:
            done |= ~sound | (still & (rows.strict <= FULFILLED))
        if done.all():
            break
    return z, sound & done & (rows.share <= FULFILLED)


# ---------------------------------------------------------------------------------------------- positions, velocities


def _positions(problem: StartProblem, asked: Asked) -> tuple[Reals, Bools]:
    """Coordinates; solved once where lanes do not differ in what they depend on."""
    mine = [n for n in asked.wishes if problem.homes[n] == "coordinates"]
    mine += [n for n in asked.wishes if problem.homes[n] == "outputs" and not problem.moving[problem.places[n]]]
    key = np.column_stack([asked.inputs, asked.parameters, *(asked.wishes[n] for n in mine)])
    if len(key) > 1 and (key == key[0]).all():
        q, settled = _solve_positions(problem, asked.rows(np.array([0])))
        return np.repeat(q, len(asked), axis=0), np.repeat(settled, len(asked))
    return _solve_positions(problem, asked)


def _solve_positions(problem: StartProblem, asked: Asked) -> tuple[Reals, Bools]:
    q0, v0 = (
        np.tile(_reference(defaults, names, asked.near), (len(asked), 1))
        for defaults, names in zip(problem.defaults, problem.unknowns, strict=True)
    )
    level = _Level(problem, "position", asked, q0, v0)
    z, settled = _closest(level)
    return level.everything(z), settled


def _velocities(problem: StartProblem, asked: Asked, q: Reals, v0: Reals) -> tuple[Reals, Bools]:
    e = problem.equations
    level = _Level(problem, "velocity", asked, v0, q)
    z, settled = _closest(level)
    if len(problem.constraints["velocity"]) < len(e.velocities) - len(e.independent):
        return level.everything(z), np.zeros(len(asked), dtype=bool)  # rows that only the report knows
    calm, fine = _calmed(level, z)
    return level.everything(calm), settled & fine


def _calmed(level: _Level, z: Reals) -> tuple[Reals, Bools]:
    """As few independent velocities moved as will do: `start.calm` over lanes."""
    wanted = set(level.problem.equations.independent)
    chosen = np.array([i for i, k in enumerate(level.columns) if level.unknowns[k] in wanted], dtype=np.intp)
    lanes, width = z.shape
    fine = np.ones(lanes, dtype=bool)
    if not chosen.size or not z[:, chosen].any() or width > MANY:
        return z, fine
    slope = level.at(z).slope
    inverse, _ = _inverse(slope)
    allowed = np.eye(width) - inverse @ slope
    bound = REASON * np.linalg.norm(z, axis=1)
    held = np.zeros((lanes, width), dtype=bool)
    held[:, chosen] = z[:, chosen] == 0.0
    for i in chosen:
        _hold(allowed, np.where(held[:, i])[0], int(i))
    calm = z.copy()
    for _ in chosen:
        best, moved = _next_at_rest(calm, allowed, held, chosen, bound)
        changing = np.flatnonzero(best >= 0)
        if not changing.size:
            break
        calm[changing] = moved[changing]
        held[changing, best[changing]] = True
        for i in chosen:
            _hold(allowed, np.flatnonzero(best == i), int(i))
    calm[held] = 0.0
    return _put_right(level, calm, held, z, bound)


def _hold(allowed: Reals, lanes: NDArray[np.intp], i: int) -> None:
    """Take the changes of one velocity out of those that the rows allow, in some lanes."""
    lanes = lanes[allowed[lanes, i, i] > DECIDED]
    column = allowed[lanes, :, i]
    allowed[lanes] -= column[:, :, None] * column[:, None, :] / column[:, i][:, None, None]


def _next_at_rest(
    z: Reals, allowed: Reals, held: Bools, chosen: NDArray[np.intp], bound: Reals
) -> tuple[NDArray[np.intp], Reals]:
    """Of each lane the velocity whose rest asks least of the others (−1: none), and the changes with it at rest."""
    best, best_size, best_z = np.full(len(z), -1, dtype=np.intp), np.full(len(z), np.inf), z.copy()
    for i in chosen:
        own = allowed[:, i, i]
        able = ~held[:, i] & (own > DECIDED)
        moved = z - np.where(able, z[:, i] / np.where(able, own, 1.0), 0.0)[:, None] * allowed[:, :, i]
        size = np.linalg.norm(moved[:, chosen], axis=1)
        better = able & (size < best_size) & (np.linalg.norm(moved, axis=1) <= bound)
        best[better], best_size[better], best_z[better] = i, size[better], moved[better]
    return best, best_z


def _put_right(level: _Level, calm: Reals, held: Bools, z: Reals, bound: Reals) -> tuple[Reals, Bools]:
    """What rounding left of the rows is taken away without moving what is at rest; lanes that refuse keep nothing."""
    rows = level.at(calm)
    fine = (rows.share <= EXACT) & (rows.strict <= EXACT)
    if not fine.all():
        slope = rows.slope * ~held[:, None, :]
        inverse, _ = _inverse(slope)
        better = calm - np.einsum("lij,lj->li", inverse, rows.residual)
        better[held] = 0.0
        calm = np.where(fine[:, None], calm, better)
        rows = level.at(calm)
        fine |= rows.strict <= FULFILLED
    untouched = ~(held & (z != 0.0)).any(axis=1)
    calm = np.where(untouched[:, None], z, calm)
    return calm, untouched | (fine & (np.linalg.norm(calm, axis=1) <= bound))
