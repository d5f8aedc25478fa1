"""Direct transcription: unknowns, rows and clusters of every phase form one sparse nonlinear program; errors of intervals.

Path conditions hold at the nodes. Where controls are constant in an interval, conditions on forces and controls jump between
intervals: they hold at both edges of the interval too (`_edges`).

Between its points a solution is a polynomial, and its derivative should equal the rate. The difference, integrated over an
interval and relative to the sizes of the states, is the interval's error (Betts 2010, section 4.7). For multiple shooting it is
the change with twice as many steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.plant import stacked
from draisine.errors import ArgumentError
from draisine.numerics.direct_methods import Collocation as Collocation
from draisine.numerics.direct_methods import Grid
from draisine.numerics.direct_methods import MultipleShooting as MultipleShooting
from draisine.numerics.runge_kutta import gauss_nodes, lagrange, quadrature
from draisine.optimal.control_arcs import ControlArcs
from draisine.optimal.nlp import Builder, SparseNLP
from draisine.optimal.node_functions import CompiledCluster, Formula, SingleCluster
from draisine.optimal.phase import Phase, PhaseValues
from draisine.optimal.scaling import LEAST_SIZE, MOST_BOUND, ordinary
from draisine.optimal.shooting import ShootingCluster, steps_of

LEAST_OF_SIZE = 1e-6  # of the size by the statement: below, a guess says nothing about the scale of a quantity

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]
LinkExpressions = Mapping[str, ca.SX]


@dataclass(frozen=True, eq=False)
class PhaseIndices:
    """Indices of a phase's quantities among the unknowns and rows."""

    begin: int
    length: int
    points: Indices  # (points, states)
    algebraic: Indices  # (nodes, z)
    controls: Indices  # (controls, u)
    defects: Indices  # (rows of the grid, states)
    path_rows: Indices  # (nodes, or points when shooting; path conditions)
    edge_rows: Indices  # (edges of the grid, `Phase.path_of_controls`)
    edge_algebraic: Indices  # (edges of the grid, z)
    cluster: CompiledCluster | None  # of nodes; none when shooting
    clocks: Indices  # (intervals, 2): begin and length by which each interval measures time
    clock_rows: Indices  # by which clocks agree at the mesh points that move


@dataclass(frozen=True, eq=False)
class TranscribedProblem:
    """The nonlinear program, its initial guess, and the indices of all quantities."""

    nlp: SparseNLP
    guess: Reals
    indices: tuple[PhaseIndices, ...]
    parameters: Indices


def transcribe(
    phases: Sequence[Phase],
    schemes: Sequence[Collocation | MultipleShooting],
    values: Sequence[PhaseValues],
    ranges: Mapping[str, tuple[float, float]],
    link_expressions: Sequence[LinkExpressions],
    arcs: Sequence[ControlArcs | None] | None = None,
) -> TranscribedProblem:
    """Transcribe all phases; `link_expressions` gives the initial states of all phases but the first by the phase before, and
    `arcs` mesh points that move, and controls at their bounds."""
    b = Builder()
    names = phases[0].unknown_parameters
    first = [_parameter(phases, name) for name in names]
    bounds = np.array([ranges[name] for name in names]).reshape(-1, 2)
    theta = b.unknowns(names, np.array(first), bounds[:, 0], bounds[:, 1], np.abs(bounds).max(axis=1, initial=1e-12)).ravel()
    indices = [
        _phase(b, phase, scheme, v, theta, k, arc)
        for k, (phase, scheme, v, arc) in enumerate(zip(phases, schemes, values, arcs or [None] * len(phases), strict=True))
    ]
    for k in range(1, len(phases)):
        _join(b, phases[k - 1], phases[k], indices[k - 1], indices[k], theta, link_expressions[k - 1], schemes[k - 1].grid)
    nlp, guess = b.build(max(phase.sizes.cost for phase in phases))
    return TranscribedProblem(nlp, np.clip(guess, nlp.low, nlp.high), tuple(indices), theta)


def control_unknowns(transcribed: TranscribedProblem, schemes: Sequence[Collocation | MultipleShooting]) -> tuple[Indices, Reals]:
    """The unknowns that are values of controls, by number, and the share of its phase in which each acts."""
    numbers, shares = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    for indices, scheme in zip(transcribed.indices, schemes, strict=True):
        grid, count = scheme.grid, indices.controls.shape[1]
        lasting = np.bincount(grid.node_control, weights=grid.weights, minlength=len(grid.control_times))
        numbers.append(indices.controls.ravel())
        shares.append(np.repeat(lasting, count))
    return np.concatenate(numbers), np.concatenate(shares)


def _parameter(phases: Sequence[Phase], name: str) -> float:
    for phase in phases:
        for value, q in zip(phase.p, phase.equations.parameters, strict=True):
            if q.name == name:
                return float(value)
    raise AssertionError(name)


def _phase(
    b: Builder,
    phase: Phase,
    scheme: Collocation | MultipleShooting,
    v: PhaseValues,
    theta: Indices,
    number: int,
    arcs: ControlArcs | None,
) -> PhaseIndices:
    grid, weight = scheme.grid, phase.time_weight
    begin = b.unknowns(
        ["t0"],
        np.array([v.begin]),
        *((0.0, 0.0) if number == 0 else (0.0, np.inf)),
        max(v.duration, min(1.0, ordinary(v.duration))),
    )[0]
    low, high = phase.times
    length = b.unknowns(["duration"], np.array([v.duration]), low, high, v.duration)[0]
    if weight:
        b.linear(0, length, weight)
    points, scale = _states(b, phase, grid, v)
    z_scale = np.maximum(np.abs(v.algebraic).max(axis=0, initial=0.0), phase.sizes.algebraic)
    labels = [f"algebraic unknown {i}" for i in range(phase.algebraic_size)]
    algebraic = b.unknowns(labels, v.algebraic, -np.inf, np.inf, z_scale)
    controls = _controls(b, phase, grid, v, arcs)
    shared = np.concatenate([[begin, length], theta])
    clocks, clock_rows = _clocks(b, grid, begin, length, v, arcs)
    timed = np.hstack([clocks, np.tile(theta, (len(clocks), 1))])
    defects = b.rows([f"motion of {name}" for name in phase.kept], grid.rows, 0.0, 0.0, scale)
    row, point, coefficient = grid.linear
    b.linear(defects[row], points[point], coefficient[:, None])
    cluster = None
    if isinstance(scheme, MultipleShooting):
        path_rows = _shooting(b, phase, scheme, v, points, controls, shared, defects)
    else:
        cluster, path_rows = _nodes(b, phase, grid, v, points, algebraic, controls, timed, defects)
    edge_rows, edge_algebraic = _edges(b, phase, scheme, v, points, controls, timed)
    _ends(b, phase, scheme, points, algebraic, controls, shared)
    return PhaseIndices(
        int(begin),
        int(length),
        points,
        algebraic,
        controls,
        defects,
        path_rows,
        edge_rows,
        edge_algebraic,
        cluster,
        clocks,
        clock_rows,
    )


def _clocks(b: Builder, grid: Grid, begin: int, length: int, v: PhaseValues, arcs: ControlArcs | None) -> tuple[Indices, Indices]:
    """(intervals, 2) the unknowns b and L of each interval, in which time is b + L τ, and the rows that join them.

    Where mesh points move, each arc between them has its own b and L: τ at a mesh point stays, the time there changes."""
    count = len(grid.breaks) - 1
    if arcs is None or not arcs.moving:
        return np.tile([begin, length], (count, 1)), np.zeros(0, dtype=np.int64)
    number = len(arcs.moving) + 1
    begins = b.unknowns(["begin of an arc"], np.full((number, 1), v.begin), -np.inf, np.inf, v.duration).ravel()
    lengths = b.unknowns(["length of an arc"], np.full((number, 1), v.duration), 0.0, np.inf, v.duration).ravel()
    first, last = np.append(begin, begins), np.append(begins, begin)
    before, after = np.append(length, lengths), np.append(lengths, length)
    joints = np.array([0.0, *grid.breaks[list(arcs.moving)], 1.0])
    rows = b.rows(["time between arcs"], number + 1, 0.0, 0.0, v.duration).ravel()
    for unknowns, coefficients in ((first, 1.0), (before, joints), (last, -1.0), (after, -joints)):
        b.linear(rows, unknowns, coefficients)
    arc = np.searchsorted(np.array(arcs.moving), np.arange(count), side="right")
    return np.stack([begins[arc], lengths[arc]], axis=1), rows


def _states(b: Builder, phase: Phase, grid: Grid, v: PhaseValues) -> tuple[Indices, Reals]:
    bounds = np.array([phase.limits.get(name, (-np.inf, np.inf)) for name in phase.kept]).reshape(-1, 2)
    finite = np.where(np.isfinite(bounds), np.abs(bounds), 0.0).max(axis=1, initial=0.0)
    scale = np.maximum(np.abs(v.states).max(axis=0, initial=0.0), np.minimum(finite, MOST_BOUND))
    scale = np.where(scale > LEAST_OF_SIZE * phase.sizes.states, scale, phase.sizes.states)
    low, high = (np.tile(bounds[:, k], (len(grid.points), 1)) for k in (0, 1))
    if phase.start_fixed:
        low[0] = high[0] = phase.start[phase.kept_indices]
    return b.unknowns(phase.kept, v.states, low, high, scale), scale


def _controls(b: Builder, phase: Phase, grid: Grid, v: PhaseValues, arcs: ControlArcs | None) -> Indices:
    bounds = np.array([phase.limits.get(name, (-np.inf, np.inf)) for name in phase.controls]).reshape(-1, 2)
    finite = np.where(np.isfinite(bounds), np.abs(bounds), 0.0).max(axis=1, initial=0.0)
    scale = np.maximum(np.abs(v.controls).max(axis=0, initial=0.0), finite)
    scale = np.where(scale > LEAST_OF_SIZE * phase.sizes.controls, scale, phase.sizes.controls)
    low, high = (np.tile(bounds[:, k], (len(v.controls), 1)) for k in (0, 1))
    if arcs is not None:
        bound = np.full(low.shape, np.nan)
        bound[grid.control_of.ravel()] = np.repeat(arcs.bound, grid.control_of.shape[1], axis=0)
        low, high = (np.where(np.isnan(bound), side, bound) for side in (low, high))
    return b.unknowns(phase.controls, v.controls, low, high, scale)


def _nodes(
    b: Builder,
    phase: Phase,
    grid: Grid,
    v: PhaseValues,
    points: Indices,
    z: Indices,
    u: Indices,
    timed: Indices,
    defects: Indices,
) -> tuple[CompiledCluster, Indices]:
    count, nx, nz, nc = len(grid.nodes), len(phase.kept), phase.algebraic_size, len(phase.path)
    interval = np.zeros(count, dtype=np.int64)
    interval[grid.node_of] = np.arange(len(grid.node_of))[:, None]
    where = np.hstack([points[grid.node_point], z, u[grid.node_control], timed[interval]])
    z_values = v.algebraic if len(v.algebraic) else np.zeros((count, nz))
    slacks = _slacks(b, phase, v, np.hstack([v.states[grid.node_point], z_values, v.controls[grid.node_control]]), grid.nodes)
    cluster = CompiledCluster(phase.smooth_node, np.hstack([where, slacks]), phase.node_numbers(grid.nodes))
    c = b.cluster(cluster)
    row, node, coefficient = grid.rates
    b.share(c, defects[row], node[:, None], np.arange(nx), coefficient[:, None])
    every = np.arange(count)[:, None]
    algebraic = b.rows([f"equation {i} at a node" for i in range(nz)], count, 0.0, 0.0, 1.0)
    b.share(c, algebraic, every, nx + np.arange(nz), 1.0)
    path_rows = _path_rows(b, c, phase, range(nc), count, nx + nz + np.arange(nc))
    _slack_rows(b, c, phase, count, nx + nz + nc)
    if phase.integrand is not None:
        b.share(c, 0, np.arange(count), cluster.width - 1, grid.weights)
    return cluster, path_rows


def _slacks(b: Builder, phase: Phase, v: PhaseValues, inner: Reals, tau: Reals) -> Indices:
    """Unknowns (nodes, magnitudes) in place of the magnitudes in the cost; `inner` are (y, z, u) of the guess at the nodes τ."""
    formula, count = phase.magnitudes, len(tau)
    if formula is None:
        return np.zeros((count, 0), dtype=np.int64)
    own = {q.name: value for q, value in zip(phase.equations.parameters, phase.p, strict=True)}
    fixed = [v.begin, v.duration, *(own.get(name, 0.0) for name in phase.unknown_parameters)]  # 0: of another phase
    local = np.hstack([inner, np.tile(fixed, (count, 1))])
    values = formula.value.function.map(count)(local.T, phase.node_numbers(tau).T).full().T
    sizes = np.maximum(np.abs(values).max(axis=0, initial=0.0), phase.sizes.magnitudes)
    guess = np.abs(values) + 0.01 * sizes
    return b.unknowns([f"magnitude {k + 1} of the cost" for k in range(len(sizes))], guess, 0.0, np.inf, sizes)


def _slack_rows(b: Builder, c: int, phase: Phase, count: int, first: int) -> None:
    """Rows s − e ≥ 0 and s + e ≥ 0, the results of a cluster from `first` on."""
    sizes = phase.sizes.magnitudes
    names = [f"magnitude {k + 1} of the cost, {side} side" for side in ("one", "other") for k in range(len(sizes))]
    rows = b.rows(names, count, 0.0, np.inf, np.tile(sizes, 2))
    b.share(c, rows, np.arange(count)[:, None], first + np.arange(len(names)), 1.0)


def _edges(
    b: Builder, phase: Phase, scheme: Collocation | MultipleShooting, v: PhaseValues, points: Indices, u: Indices, timed: Indices
) -> tuple[Indices, Indices]:
    """Conditions at the edges of intervals with a constant control: their rows and algebraic unknowns."""
    grid, which = scheme.grid, phase.path_of_controls
    interval, point, control = grid.edges
    shooting = isinstance(scheme, MultipleShooting)
    if shooting:  # the last edge is among the path rows
        interval, point, control = interval[:-1], point[:-1], control[:-1]
    count, nx, nz = len(point), len(phase.kept), 0 if shooting else phase.algebraic_size
    if not which or not count or phase.implicit:
        return np.zeros((0, len(which)), dtype=np.int64), np.zeros((0, nz), dtype=np.int64)
    first = grid.points[point] == grid.breaks[interval]
    beside = grid.node_of[interval, np.where(first, 0, -1)]
    guess = v.algebraic[beside] if nz else np.zeros((count, 0))
    scale = np.maximum(np.abs(v.algebraic).max(axis=0, initial=0.0), phase.sizes.algebraic) if nz else 1.0
    z = b.unknowns([f"algebraic unknown {i}" for i in range(nz)], guess, -np.inf, np.inf, scale)
    where = np.hstack([points[point], z, u[control], timed[interval]])
    formula, offset = (phase.path_formula, 0) if shooting else (phase.node, nx + nz)
    c = b.cluster(CompiledCluster(formula, where, phase.node_numbers(grid.points[point])))
    every = np.arange(count)[:, None]
    algebraic = b.rows([f"equation {i} at an edge" for i in range(nz)], count, 0.0, 0.0, 1.0)
    b.share(c, algebraic, every, nx + np.arange(nz), 1.0)
    return _path_rows(b, c, phase, which, count, offset + np.array(which)), z


def _path_rows(b: Builder, c: int, phase: Phase, which: Sequence[int], count: int, results: Indices) -> Indices:
    path, sizes = [phase.path[i] for i in which], phase.sizes.path[list(which)]
    rows = b.rows([p.name for p in path], count, [p.low for p in path], [p.high for p in path], sizes)
    b.share(c, rows, np.arange(count)[:, None], results, 1.0)
    return rows


def _shooting(
    b: Builder,
    phase: Phase,
    scheme: MultipleShooting,
    v: PhaseValues,
    points: Indices,
    u: Indices,
    shared: Indices,
    defects: Indices,
) -> Indices:
    grid, nx, count = scheme.grid, len(phase.kept), len(points) - 1
    where = np.hstack([points[:-1], u, np.tile(shared, (count, 1))])
    if phase.constant_magnitudes:
        begins = grid.breaks[:-1]
        where = np.hstack([where, _slacks(b, phase, v, np.hstack([v.states[:-1], v.controls]), begins)])
        rows = b.cluster(CompiledCluster(phase.magnitude_rows, where, phase.node_numbers(begins)))
        _slack_rows(b, rows, phase, count, 0)
    c = b.cluster(ShootingCluster(phase, scheme, where, grid.breaks, phase.smooth_motion))
    b.share(c, defects, np.arange(count)[:, None], np.arange(nx), -1.0)
    if phase.integrand is not None:
        b.share(c, 0, np.arange(count), nx, 1.0)
    if phase.path:
        control = np.append(np.arange(count), count - 1)
        place = np.hstack([points, u[control], np.tile(shared, (count + 1, 1))])
        path = b.cluster(CompiledCluster(phase.path_formula, place, phase.node_numbers(grid.breaks)))
        return _path_rows(b, path, phase, range(len(phase.path)), count + 1, np.arange(len(phase.path)))
    return np.zeros((count + 1, 0), dtype=np.int64)


def _ends(
    b: Builder,
    phase: Phase,
    scheme: Collocation | MultipleShooting,
    points: Indices,
    z: Indices,
    u: Indices,
    shared: Indices,
) -> None:
    formula, grid = phase.boundary, scheme.grid
    if formula is None:
        return
    node = grid.end_node
    if node is None:
        if phase.ends_use:
            raise ArgumentError(
                f"{phase.equations.name}: a condition or cost at the end depends on controls or forces, which this scheme "
                "does not evaluate there; use Collocation('radau') or 'hermite-simpson'"
            )
        node = len(grid.node_control) - 1
    last_z = z[node] if len(z) else np.zeros(0, dtype=np.int64)
    where = np.concatenate([points[0], points[-1], last_z, u[grid.node_control[node]], shared])
    magnitudes = phase.sizes.final_magnitudes
    if len(magnitudes):
        slack_names = [f"magnitude {k + 1} of the cost at the end" for k in range(len(magnitudes))]
        where = np.concatenate([where, b.unknowns(slack_names, magnitudes, 0.0, np.inf, magnitudes).ravel()])
    c = b.cluster(SingleCluster(formula, where, phase.numbers()))
    starts, ends = phase.start_rows, phase.ends
    names = (
        [f"start: {r.name}" for r in starts] + [f"finish: {r.name}" for r in ends] + [f"periodic: {n}" for n, _ in phase.returns]
    )
    bounds = [(r.low, r.high) for r in (*starts, *ends)] + [(0.0, 0.0)] * len(phase.returns)
    names += [f"magnitude {k + 1} of the cost at the end, {s} side" for s in ("one", "other") for k in range(len(magnitudes))]
    bounds += [(0.0, np.inf)] * (2 * len(magnitudes))
    if names:
        low, high = np.array(bounds).T
        sizes = np.concatenate([phase.sizes.starts, phase.sizes.ends, phase.sizes.returns, np.tile(magnitudes, 2)])
        rows = b.rows(names, 1, low, high, sizes)
        b.share(c, rows[0], 0, np.arange(len(names)), 1.0)
    if phase.final is not None:
        b.share(c, 0, 0, len(names), 1.0)


def _join(
    b: Builder,
    one: Phase,
    other: Phase,
    first: PhaseIndices,
    second: PhaseIndices,
    theta: Indices,
    link_expressions: LinkExpressions,
    grid: Grid,
) -> None:
    """Continuity between two phases: initial time and states follow from the end of the phase before, except for jumps."""
    row = b.rows(["time between phases"], 1, 0.0, 0.0, ordinary(one.duration))[0, 0]
    b.linear([row, row, row], [second.begin, first.begin, first.length], [1.0, -1.0, -1.0])
    if not link_expressions:
        return
    inner = ca.vertcat(one.symbols.z, one.symbols.plant.u)
    if inner.numel() and ca.depends_on(stacked(list(link_expressions.values())), inner):
        raise ArgumentError(
            f"{other.equations.name}: a jump depends on controls or forces; write it in terms of states and kinematic outputs"
        )
    index = {name: i for i, name in enumerate(other.kept)}
    value = ca.substitute(stacked(list(link_expressions.values())), one.symbols.plant.t, one.shared[0] + one.shared[1])
    formula = Formula.build(f"{one.equations.name}_joint", ca.vertcat(one.y, one.shared), one._rest[0], value)
    where = np.concatenate([first.points[-1], [first.begin, first.length], theta])
    c = b.cluster(SingleCluster(formula, where, one.numbers()))
    sizes = [ordinary(other.sizes.states[index[name]]) for name in link_expressions]
    rows = b.rows([f"joint: {name}" for name in link_expressions], 1, 0.0, 0.0, sizes)[0]
    b.share(c, rows, 0, np.arange(len(link_expressions)), -1.0)
    b.linear(rows, second.points[0][[index[name] for name in link_expressions]], 1.0)


# ---------------------------------------------------------------- errors of intervals


def interval_errors(
    phase: Phase, scheme: Collocation | MultipleShooting, indices: PhaseIndices, w: Reals, rates: Reals, shared: Reals
) -> Reals:
    """Error of each interval, the largest over the states and the integral of the cost, relative to their sizes."""
    points, controls = w[indices.points], w[indices.controls]
    size = np.maximum(np.abs(points).max(axis=0, initial=0.0), LEAST_SIZE * phase.sizes.states)
    grid = scheme.grid
    if isinstance(scheme, MultipleShooting):
        local = np.hstack([points[:-1], controls, np.tile(shared, (len(points) - 1, 1))])
        two = [
            ShootingCluster(phase, s, np.zeros(local.shape, dtype=np.int64), grid.breaks).values(local)[:, : len(phase.kept)]
            for s in (scheme, replace(scheme, steps=2 * steps_of(scheme)))
        ]
        return np.asarray((np.abs(two[0] - two[1]) / size).max(axis=1, initial=0.0))
    positions = gauss_nodes(len(grid.point_local) + 1)
    h = np.diff(grid.breaks)
    tau = (grid.breaks[:-1, None] + h[:, None] * positions).ravel()
    y, slope = grid.states_at(tau, points, rates)
    u = grid.controls_at(tau, controls)
    k, s = grid.locate(tau)
    z = np.einsum("ij,ijn->in", lagrange(grid.node_local, s), w[indices.algebraic][grid.node_of[k]])
    local = np.hstack([y, z, u, np.tile(shared, (len(tau), 1))])
    cluster = CompiledCluster(phase.node, np.zeros(local.shape, dtype=np.int64), phase.node_numbers(tau))
    reported, nx = cluster.values(local), len(phase.kept)
    if phase.implicit:  # rates are unknowns: with the polynomial's own derivative, the error is the residual of 0 = F
        local[:, nx : 2 * nx] = slope / shared[1]
        missing = np.abs(cluster.values(local)[:, nx : nx + phase.algebraic_size]) * shared[1]
    else:
        missing = np.abs(slope - reported[:, :nx]) / size
    errors = (missing.reshape(len(h), len(positions), -1).mean(axis=1) * h[:, None]).max(axis=1, initial=0.0)
    if phase.integrand is not None:  # the integral of the cost, by more nodes
        assert indices.cluster is not None
        cost = indices.cluster.values(w[indices.cluster.where])[:, -1]
        finer = (reported[:, -1].reshape(len(h), -1) @ quadrature(positions)) * h
        own = (cost[grid.node_of] @ quadrature(grid.node_local)) * h
        errors = np.maximum(errors, np.abs(finer - own) / max(float(np.abs(finer).sum()), LEAST_SIZE * phase.sizes.cost))
    return errors
