"""Solutions of optimal control problems: states, controls and costates at the nodes, errors, and the simulated motion."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, UnknownNameError
from draisine.expr.expression import did_you_mean
from draisine.numerics.direct_methods import Collocation, Grid, MultipleShooting
from draisine.optimal.adjoint.method import Adjoint
from draisine.optimal.crossed_jumps import Crossing, crossed_jumps
from draisine.optimal.default_limits import ENDLESS, default_limit_reached, with_limits_about
from draisine.optimal.feedforward import Feedforward, feedforward
from draisine.optimal.files import save
from draisine.optimal.first_order_conditions import Kkt, PontryaginConditions
from draisine.optimal.ipopt import NlpSolution, Outcome
from draisine.optimal.mesh_cost import mesh_cost
from draisine.optimal.minimum_principle import better_controls
from draisine.optimal.mode_verification import trajectory_across
from draisine.optimal.optimality import Optimality, optimality
from draisine.optimal.phase import Phase
from draisine.optimal.phase_builder import build_phases
from draisine.optimal.scaling import LEAST_SIZE
from draisine.optimal.verdict import LISTED, OTHER_MODES, TOLERANCE, Verdict, verdict
from draisine.optimal.verification import GROWTH, Simulated, trajectory
from draisine.results.base import Result, figure
from draisine.results.status import Ending, Status
from draisine.results.trajectory import Trajectory

if TYPE_CHECKING:
    import pandas

    from draisine.optimal.maneuver import OptimalControlProblem

Reals = NDArray[np.float64]

STOPPED = "refinement stopped at its limit of"
REFINEMENT_NOTES = ("refinement ", "on a finer mesh ", "interrupted during refinement")
UNATTAINED = "no minimum is attained"  # begins the note that says why
CONSIDERABLE = 1e-3  # of the cost: share that a mesh may cost


@dataclass(frozen=True, eq=False)
class PhaseSolution:
    """One phase at its nodes. Rows are grid points for states, control points for inputs."""

    phase: Phase
    scheme: Collocation | MultipleShooting | Adjoint
    begin: float
    duration: float
    states: Reals  # (points, kept states)
    algebraic: Reals  # (nodes, z)
    controls: Reals  # (control points, controls)
    rates: Reals  # (nodes, kept states), per unit of the grid's time
    costates: Reals  # (costate times, kept states)
    costate_positions: Reals  # in [0, 1]
    errors: Reals  # of the intervals, relative to the sizes of the states
    pontryagin: PontryaginConditions | None = None  # Pontryagin's conditions

    @property
    def grid(self) -> Grid:
        return self.scheme.grid

    @property
    def times(self) -> Reals:
        """Of the states."""
        return self.begin + self.duration * self.grid.points

    @property
    def input_times(self) -> Reals:
        return self.begin + self.duration * self.grid.control_times

    @property
    def costate_times(self) -> Reals:
        return self.begin + self.duration * self.costate_positions

    def state(self, name: str) -> Reals:
        """A state at `times`."""
        return self.states[:, self._state_index(name)]

    def costate(self, name: str) -> Reals:
        """∂(cost to go)/∂(state) at `costate_times`: the Hamiltonian is integrand + costateᵀ rates."""
        return self.costates[:, self._state_index(name)]

    def input(self, name: str) -> Reals:
        """A control at `input_times`."""
        if name not in self.phase.controls:
            raise UnknownNameError(f"{name!r} is not among the controls{did_you_mean(name, self.phase.controls)}")
        return self.controls[:, self.phase.controls.index(name)]

    def _state_index(self, name: str) -> int:
        if name not in self.phase.kept:
            left = name in self.phase.symbols.state_names
            why = (
                "was left out because cost and conditions do not depend on it; see the trajectory"
                if left
                else f"is not a state{did_you_mean(name, self.phase.kept)}"
            )
            raise UnknownNameError(f"{name!r} {why}")
        return self.phase.kept.index(name)

    def node_arguments(self, parameters: Reals) -> Reals:
        """Arguments of `Phase.node` at the nodes; `parameters` are the optimized ones of all phases."""
        grid, count = self.grid, len(self.grid.nodes)
        shared = np.concatenate([[self.begin, self.duration], parameters])
        z = self.algebraic if len(self.algebraic) else np.zeros((count, self.phase.algebraic_size))
        return np.hstack([self.states[grid.node_point], z, self.controls[grid.node_control], np.tile(shared, (count, 1))])

    def excess(self, parameters: Reals) -> float:
        """By how much other controls would lower the cost, to first order: ∫ H(u) − min H over the range of each control."""
        return better_controls(self.phase, self.grid, self.node_arguments(parameters), self.costates, self.controls)[1]

    def states_at(self, times: ArrayLike) -> Reals:
        """Kept states at a time or at times, by the scheme's polynomials."""
        shares = (np.asarray(times, dtype=float) - self.begin) / self.duration
        found = self.grid.states_at(np.atleast_1d(shares), self.states, self.rates)[0]
        return found if shares.ndim else found[0]

    def inputs_at(self, times: ArrayLike) -> Reals:
        """Controls at a time or at times."""
        shares = (np.asarray(times, dtype=float) - self.begin) / self.duration
        found = self.grid.controls_at(np.atleast_1d(shares), self.controls)
        return found if shares.ndim else found[0]


@dataclass(frozen=True, eq=False)
class Solution(Result):
    """The solution of an optimal control problem.

    `solution["lean"]` is a column of its `trajectory`, the motion simulated with the optimal control; `solution.phases` has the
    values at the nodes. `discrepancy` is the deviation of the simulation from them, relative to the sizes of the states.
    """

    maneuver: OptimalControlProblem
    phases: tuple[PhaseSolution, ...]
    answer: NlpSolution
    parameters: Mapping[str, float]  # optimized parameters
    simulated: tuple[Simulated, ...]
    notes: tuple[str, ...]
    conflicts: tuple[str, ...]  # of an infeasible problem: conditions that cannot be satisfied together
    seconds: Mapping[str, float]
    rounds: int = 1  # number of meshes
    kkt: Kkt | None = None
    tolerance: float = TOLERANCE  # of the mesh, and of conditions and bounds relative to the scales of their quantities
    refined: bool = False  # whether the mesh was refined, or was to be
    growth: float = 1.0  # of deviations, if the motion is so unstable that it was simulated in windows

    @property
    def outcome(self) -> Outcome:
        """How the solve ended. SOLVED is a statement about the motion: the control, simulated by itself, meets conditions and
        bounds within `tolerance`, on a mesh whose error is below it; otherwise the outcome is SOLVED_ON_MESH."""
        if any(s.status.kind is Ending.INTERRUPTED for s in self.simulated):
            return Outcome.INTERRUPTED
        if self.converged and self._limit_reached is not None:
            return Outcome.ZERO_DURATION if self._limit_reached[1] else Outcome.UNBOUNDED
        coarse = self._coarse and not self._by_adjoint  # whose pieces are stated
        if self.converged and (coarse or self.crossed or not (self.verdict.holds and self.error <= self.tolerance)):
            return Outcome.SOLVED_ON_MESH
        return self.answer.outcome

    @property
    def solved(self) -> bool:
        """Whether a local minimum was found whose simulated motion meets its conditions; see `outcome` and `verdict`."""
        return self.outcome in (Outcome.SOLVED, Outcome.ACCEPTABLE)

    @property
    def converged(self) -> bool:
        """Whether the optimality conditions hold on the mesh, which says nothing about the motion between its nodes."""
        return self.answer.outcome in (Outcome.SOLVED, Outcome.ACCEPTABLE)

    @cached_property
    def _limit_reached(self) -> tuple[float, bool] | None:
        """A duration that ends at a limit which the statement does not give, and whether it is the shortest."""
        for stated, phase in zip(self.maneuver.phases, self.phases, strict=True):
            side = default_limit_reached(stated, phase.phase, phase.duration)
            if side:
                return phase.duration, side < 0
        return None

    @cached_property
    def verdict(self) -> Verdict:
        """By how much the simulated motion misses conditions and bounds, in the units of their quantities."""
        values = [self._parameters_of(p.phase) for p in self.phases]
        return verdict(self.phases, self.simulated, values, self.tolerance)

    @cached_property
    def mesh_cost(self) -> float | None:
        """By how much the cost may be lower with controls that the mesh does not restrict, to first order: ∫ H(u) − min H dt.
        None where it cannot be estimated: with conditions along the path, bounds of states or algebraic unknowns. After
        refinement also by how much controls elsewhere in their bounds lower it, at the nodes."""
        whole = mesh_cost(self.phases, self.simulated, [self._parameters_of(p.phase) for p in self.phases])
        if not (self.refined or self.rounds > 1):
            return whole
        values = np.array([self.parameters[name] for name in self.phases[0].phase.unknown_parameters])
        return max(sum(p.excess(values) for p in self.phases), whole or 0.0)

    @cached_property
    def crossed(self) -> tuple[Crossing, ...]:
        """Surfaces in the states that the motion crosses and at which rates or cost jump, which transcription does not follow:
        the cost may fall with an earlier or a later crossing. `Adjoint` follows them."""
        pairs = () if self._by_adjoint else zip(self.phases, self.simulated, strict=True)
        return tuple(crossing for p, run in pairs for crossing in crossed_jumps(p.phase, run))

    @property
    def _by_adjoint(self) -> bool:
        return any(isinstance(p.scheme, Adjoint) for p in self.phases)

    @property
    def _coarse(self) -> bool:
        """Whether the cost of a mesh is considerable."""
        if self.mesh_cost is None:
            return False
        size = max(abs(self.objective), *(LEAST_SIZE * p.phase.sizes.cost for p in self.phases))
        return self.mesh_cost > CONSIDERABLE * size

    def _parameters_of(self, phase: Phase) -> Reals:
        values = [self.parameters.get(q.name, value) for q, value in zip(phase.equations.parameters, phase.p, strict=True)]
        return np.array(values, dtype=float)

    @property
    def objective(self) -> float:
        return self.answer.objective

    @property
    def duration(self) -> float:
        """Of all phases."""
        return float(sum(p.duration for p in self.phases))

    @property
    def kkt_error(self) -> float:
        """The larger of the scaled constraint violation and stationarity residual."""
        return max(self.answer.violation, self.answer.stationarity)

    @property
    def error(self) -> float:
        """The largest estimated error of an interval, relative to the sizes of the states."""
        return max(float(p.errors.max(initial=0.0)) for p in self.phases)

    @cached_property
    def optimality(self) -> Optimality:
        """KKT residuals, Hamiltonian, switching functions, and active bounds and path conditions; print it for a report."""
        return optimality(self)

    @cached_property
    def feedforward(self) -> Feedforward:
        """The optimal control as a table of inputs, for `simulate(…, inputs=solution.feedforward)` and for CSV files."""
        return feedforward(self.phases)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a NetCDF file: `draisine.load` reads the trajectory, `maneuver.load` the whole solution."""
        save(self, path)

    def animate(self, **options: Any) -> Any:
        """Animate the simulated motion; see `Trajectory.animate`."""
        return self.trajectory.animate(**{"model": self.maneuver.model, **options})

    def plot(self, *names: str, **options: Any) -> Any:
        """Plot controls with switching functions and the Hamiltonian; with names, these channels of the motion over time."""
        if names:
            return self.trajectory.plot(*names, **options)
        reported = self.optimality
        units = {q.name: q.unit for p in self.phases for q in p.phase.equations.inputs}
        return figure("plots.optimal.optimality_figure", reported.switching, reported.hamiltonian, units=units, **options)

    def to_pandas(self) -> pandas.DataFrame:
        """The simulated motion; see `Trajectory.to_pandas`."""
        return self.trajectory.to_pandas()

    def _overview(self) -> Mapping[str, Any]:
        return self.trajectory._overview()

    def __reduce__(self) -> tuple[Any, ...]:
        # conditions and costs are CasADi expressions, which are rebuilt from the statement
        numbers, runs = (
            [{f.name: getattr(p, f.name) for f in fields(p) if f.name != "phase"} for p in parts]
            for parts in (self.phases, self.simulated)
        )
        rest = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("maneuver", "phases", "simulated")}
        return _stated_again, (self.maneuver, numbers, runs, rest)

    # ---------------------------------------------------------------- the simulated motion

    @cached_property
    def _departures(self) -> tuple[float, str, float]:
        worst = (0.0, "", 0.0)
        for phase, simulated in zip(self.phases, self.simulated, strict=True):
            indices = [phase.phase.symbols.state_indices[i] for i in phase.phase.kept_indices]
            found = phase.states[np.searchsorted(phase.grid.points, phase.grid.breaks)]
            size = np.maximum(np.abs(found).max(axis=0), LEAST_SIZE * phase.phase.sizes.states)
            gap = np.abs(simulated.breaks[:, indices] - found) / size
            gap = np.where(np.isfinite(gap), gap, np.inf)
            k, i = np.unravel_index(int(np.argmax(gap)), gap.shape) if gap.size else (0, 0)
            if gap.size and gap[k, i] > worst[0]:
                worst = (float(gap[k, i]), phase.phase.kept[i], float(phase.begin + phase.duration * phase.grid.breaks[k]))
        return worst

    @property
    def discrepancy(self) -> float:
        """Largest deviation between the nodes and the simulation with the optimal control, over states and time."""
        return self._departures[0]

    @cached_property
    def status(self) -> Status:
        """The outcome, with accuracy and discrepancy; `solution.trajectory.status` says how the simulated motion ended."""
        a = self.answer
        size, name, when = self._departures
        solved = f"{a.objective:.8g} after {a.iterations} iterations" + (f" on {self.rounds} meshes" if self.rounds > 1 else "")
        if self.outcome in (Outcome.ZERO_DURATION, Outcome.UNBOUNDED):
            text = self._no_minimum()
        elif self.converged:
            text = f"minimum {solved}, KKT error {self.kkt_error:.1e}; {self.verdict}"
            if self.error > self.tolerance:
                text += f"; the error of the mesh is {self.error:.1e}, above {self.tolerance:.0e}"
            if self._coarse:
                text += (
                    f"; this is the minimum for controls of this mesh, others may lower the cost by up to {self.mesh_cost:.2g}"
                )
            if self.crossed:
                reported = ", ".join(map(str, self.crossed[:LISTED]))
                text += f"; rates or cost jump where the motion crosses {reported}: an earlier or later crossing may cost less"
            if self.outcome is Outcome.SOLVED_ON_MESH:
                text += f"; {self._advice()}"
        elif self.outcome is Outcome.UNATTAINED:
            text = next((note for note in self.notes if note.startswith(UNATTAINED)), UNATTAINED)
        elif self.outcome is Outcome.SADDLE:
            text = (
                f"{solved} is stationary but no minimum, the cost falls in some direction; give another guess=…, "
                "PerturbedGuess(seed=…), or bounds(…)"
            )
        elif self.conflicts:
            text = f"no motion was found that satisfies all conditions: {'; '.join(self.conflicts)}"
        else:
            text = f"best so far {solved}, violation {a.violation:.1e} ({a.solver_status})"
        if self.outcome in (Outcome.INFEASIBLE, Outcome.FAILED):
            text += self._default_limits()
        kinks = dict.fromkeys(name for p in self.phases for name in p.phase.kinks(p.scheme))
        if kinks and not self.solved:
            text += (
                f"; the cost is not smooth ({', '.join(kinks)}), which solvers need: Collocation replaces magnitudes with which "
                "the cost is known to rise; otherwise write abs(u) as the sum, and u as the difference, of two inputs that are "
                "not negative"
            )
        text += f"; the simulated motion departs by {size:.1e}" + (f" ({name} at t = {when:.4g} s)" if name else "")
        if self.growth > GROWTH:
            count = sum(len(s.windows) for s in self.simulated)
            text += (
                f"; the motion is unstable, a deviation grows {self.growth:.0e}-fold: it was simulated in {count} windows, each "
                "from the nodes; use optimal.tracking to follow it"
            )
        return Status(self.outcome, text)

    @property
    def _status_of_motion(self) -> Status:
        """How the simulated motion ended; its message is the status of the solution."""
        kind = Ending.INTERRUPTED if self.outcome is Outcome.INTERRUPTED else self.simulated[-1].status.kind
        return Status(kind, str(self.status))

    def _advice(self) -> str:
        """What to do about a motion that misses its conditions, a mesh that is too coarse, or jumps that are crossed."""
        if self.crossed:
            return "make a phase of each side, .then(…), which ends at the surface; or use Adjoint, or smooth the jumps"
        if any(m.name.startswith(OTHER_MODES) for m in self.verdict.missed):
            return "contacts take other modes than those stated; state these, modes(…), or bounds that exclude them"
        if not (self.refined or self.rounds > 1):
            return "solve() or refine=Refinement(…) refines the mesh"
        why = next((note for note in self.notes if note.startswith(REFINEMENT_NOTES)), "refinement did not reach its tolerance")
        return (
            why
            if why.startswith(STOPPED)
            else f"{why}; a cost or rates that are not smooth, or scales far apart, may be the reason"
        )

    def _default_limits(self) -> str:
        """The limits of durations that the statement does not give, among which a motion was sought."""
        for stated, phase in zip(self.maneuver.phases, self.phases, strict=True):
            if not all(stated.times_given):
                low, high = phase.phase.times
                return f"; durations from {low:.3g} to {high:.3g} s were allowed, duration(least, most) gives other limits"
        return ""

    def _no_minimum(self) -> str:
        endless = next((note for note in self.notes if note.startswith(ENDLESS)), "")
        if endless:
            return endless
        if self._limit_reached is None or not self.converged:
            return (
                f"the cost falls without bound ({self.objective:.3g} reached); give bounds(…) of the controls and states that it "
                "depends on, or a cost that grows with them"
            )
        at, shortest = self._limit_reached
        if shortest:
            return (
                f"the shorter the motion, the lower the cost: nothing needs time, down to {at:.3g} s, where the search ended; "
                "give finish(…) a condition that the start does not meet, or duration(least, most)"
            )
        return (
            f"{ENDLESS} ({self.objective:.3g} at {at:.4g} s, where the search ended); give "
            "duration(least, most), or a cost of time, minimize(…, time=weight)"
        )

    @cached_property
    def trajectory(self) -> Trajectory:
        """The motion simulated with the optimal control, with all channels of the model."""
        models = {id(p.phase.equations if s.across is None else s.across.stated.source) for p, s in self._pairs}
        if len(models) > 1:
            raise ArgumentError("the phases have different models; use solution.trajectories")
        return self._reported(list(self.simulated), [p.phase for p in self.phases])

    @cached_property
    def trajectories(self) -> tuple[Trajectory, ...]:
        """One for each phase."""
        return tuple(self._reported([s], [p.phase]) for p, s in self._pairs)

    @property
    def _pairs(self) -> list[tuple[PhaseSolution, Simulated]]:
        return list(zip(self.phases, self.simulated, strict=True))

    def _reported(self, simulated: list[Simulated], phases: list[Phase]) -> Trajectory:
        first = phases[0]
        values = dict(zip((q.name for q in first.equations.parameters), first.p.tolist(), strict=True))
        parameters = values | {n: v for n, v in self.parameters.items() if n in values}
        across = [s.across for s in simulated if s.across is not None]
        common = (simulated, phases, self._status_of_motion, parameters, list(self.notes))
        if len(across) < len(simulated):
            return trajectory(*common)
        return trajectory_across(across, lambda pieces: trajectory(*common, pieces))

    def as_start(self) -> dict[str, float]:
        """The end of its trajectory as a start; `solution.trajectory.at(0.0)` is its beginning."""
        return self.trajectories[-1].as_start()

    def __getitem__(self, name: str) -> Reals:
        return self.trajectory[name]

    @property
    def time(self) -> Reals:
        return self.trajectory.time

    # ---------------------------------------------------------------- single-phase solutions

    @property
    def only(self) -> PhaseSolution:
        """The phase of a single-phase maneuver."""
        if len(self.phases) != 1:
            raise ArgumentError(f"there are {len(self.phases)} phases; use one of solution.phases")
        return self.phases[0]

    def costate(self, name: str) -> Reals:
        return self.only.costate(name)

    def __str__(self) -> str:
        return f"{self.phases[0].phase.equations.name}: {self.status}"

    def __repr__(self) -> str:
        return f"<Solution of {self}>"


def _stated_again(
    maneuver: OptimalControlProblem,
    numbers: Sequence[Mapping[str, Any]],
    runs: Sequence[Mapping[str, Any]],
    rest: Mapping[str, Any],
) -> Solution:
    """A solution from its pickled data."""
    _, stated = build_phases(maneuver, [each["scheme"] for each in numbers])
    stated = with_limits_about(maneuver, stated, [each["duration"] for each in numbers])
    phases = tuple(PhaseSolution(phase=phase, **each) for phase, each in zip(stated, numbers, strict=True))
    simulated = tuple(Simulated(phase=phase, **each) for phase, each in zip(stated, runs, strict=True))
    return Solution(maneuver=maneuver, phases=phases, simulated=simulated, **rest)
