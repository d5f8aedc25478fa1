"""Solution by the adjoint method: build the phase, guess, descend, verify by simulation."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, DataError, SolverError
from draisine.optimal.adjoint.attainment import attained_by_descent
from draisine.optimal.adjoint.descent import DescentResult, Search, Unknowns
from draisine.optimal.adjoint.functional import Functional, step_error
from draisine.optimal.first_order_conditions import Kkt, PontryaginConditions
from draisine.optimal.guess import Guess, guesses
from draisine.optimal.interruption import keeping_the_best
from draisine.optimal.ipopt import NlpSolution, Outcome
from draisine.optimal.phase_builder import PhaseBuilder, build_phases, parameter_ranges
from draisine.optimal.scaling import LEAST_SIZE
from draisine.optimal.solution import UNATTAINED, PhaseSolution, Solution
from draisine.optimal.solve import check_dropped
from draisine.optimal.verification import simulate_phase
from draisine.program.arguments import refuse_unilateral
from draisine.results.status import ProgressCallback

if TYPE_CHECKING:
    from draisine.optimal.adjoint.method import Adjoint
    from draisine.optimal.maneuver import OptimalControlProblem
    from draisine.optimal.phase import Phase

Reals = NDArray[np.float64]


@keeping_the_best
def solve_by_adjoint(
    maneuver: OptimalControlProblem, method: Adjoint, *, guess: Guess | None = None, progress: ProgressCallback | None = None
) -> Solution:
    """See `Maneuver.solve`. The guess gives controls and duration; states follow from the equations."""
    began = time.perf_counter()
    refuse_unilateral("Adjoint", maneuver.model)
    if len(maneuver.phases) > 1:
        raise ArgumentError(f"Adjoint: the maneuver has {len(maneuver.phases)} phases, only one is supported; use Collocation")
    (builder,), (phase,) = build_phases(maneuver, [method])
    _check(builder, phase)
    seconds = {"pose": time.perf_counter() - began}
    (values,) = guesses(guess, (phase,), [method.grid])
    functional = Functional.of(phase, builder.start, method, phase.unknown_parameters)
    compiling = time.perf_counter()
    _ = functional.motion.kernels
    seconds["compile"] = time.perf_counter() - compiling
    functional = functional.with_settled_steps(values.duration, values.controls, phase.p)
    unknowns = Unknowns.of(functional, values.duration, parameter_ranges(maneuver))
    search = Search(functional, unknowns, phase.p, method.descent, progress)
    first = [phase.p[i] for i in functional.motion.varied_indices]
    begin = unknowns.packed(values.controls, values.duration, np.array(first))
    found, why = attained_by_descent(search, search.run(begin), begin)
    made = _SolutionBuilder(maneuver, builder, functional, search, found).solution(seconds, began)
    return replace(made, notes=(*made.notes, f"{UNATTAINED}: {why}")) if why else made


def restored_by_adjoint(maneuver: OptimalControlProblem, method: Adjoint, answer: NlpSolution) -> Solution:
    """The solution of this maneuver from a stored result, simulated again without a search."""
    began = time.perf_counter()
    (builder,), (phase,) = build_phases(maneuver, [method])
    _check(builder, phase)
    functional = Functional.of(phase, builder.start, method, phase.unknown_parameters)
    count = (len(method.breaks) - 1) * len(phase.controls)
    given, own = (len(answer.w), len(answer.row_multipliers)), (count + 1 + len(phase.unknown_parameters), len(phase.ends))
    if given != own:
        raise DataError(
            f"{phase.equations.name}: the stored result has {given[0]} unknowns and {given[1]} conditions, this maneuver "
            f"{own[0]} and {own[1]}; state the maneuver that was solved"
        )
    unknowns = Unknowns.of(functional, float(answer.w[count]), parameter_ranges(maneuver))
    w = answer.w / unknowns.sizes
    controls, duration, values = unknowns.unpacked(w)
    search = Search(functional, unknowns, phase.p, method.descent, None)
    functional = functional.with_settled_steps(duration, controls, search.parameters(values))
    reported = answer.objective, answer.violation, answer.stationarity, answer.outcome, answer.solver_status, answer.iterations
    found = DescentResult(w, answer.row_multipliers, *reported, 0, {})
    return _SolutionBuilder(maneuver, builder, functional, search, found).solution({}, began)


def _check(builder: PhaseBuilder, phase: Phase) -> None:
    """Refuse conditions that only direct transcription supports."""
    name, why = (
        phase.equations.name,
        "the adjoint method supports bounds of controls and conditions at the end only; use Collocation",
    )
    if not builder.start_fixed:
        raise ArgumentError(f"{name}: the start is partly free, or depends on optimized parameters; {why}")
    if phase.returns:
        raise ArgumentError(f"{name}: the motion is periodic; {why}")
    along = [c.name for c in phase.path] + [n for n in phase.limits if n not in phase.controls]
    if along:
        raise ArgumentError(f"{name}: {', '.join(along)} must hold along the path; {why}")


class _SolutionBuilder:
    """Builds the solution from the result of the descent."""

    def __init__(
        self,
        maneuver: OptimalControlProblem,
        builder: PhaseBuilder,
        functional: Functional,
        search: Search,
        found: DescentResult,
    ) -> None:
        self._maneuver, self._poser, self._functional, self._found = maneuver, builder, functional, found
        self._phase, self._unknowns = functional.phase, search.unknowns
        self._fighting = search.broken(found.w) if found.ending is Outcome.INFEASIBLE else ()
        self._controls, self._duration, values = search.unknowns.unpacked(found.w)
        self._parameters = dict(zip(functional.motion.varied, values.tolist(), strict=True))
        self._p = search.parameters(values)

    def solution(self, seconds: dict[str, float], began: float) -> Solution:
        found, phase = self._found, self._phase
        solved = self._at_pieces()
        started = time.perf_counter()
        seconds |= {name: spent for name, spent in found.seconds.items() if name != "prepare"}
        simulated = simulate_phase(phase, solved.grid, 0.0, self._duration, self._poser.start, self._controls, self._p)
        seconds["simulate"] = time.perf_counter() - started
        seconds["total"] = time.perf_counter() - began
        notes = (*phase.notes, *check_dropped(solved, self._p), *self._steps_note(solved), *self._functional.warnings)
        bounds = -self._gradient
        answer = NlpSolution(
            found.w * self._unknowns.sizes,
            found.multipliers,
            np.where(self._unknowns.free(found.w, self._gradient), 0.0, bounds) / self._unknowns.sizes,
            found.cost,
            found.ending,
            found.solver_status,
            found.iterations,
            found.violation,
            found.stationarity,
            found.seconds,
        )
        verified = (simulated,), notes, self._fighting, seconds
        return Solution(self._maneuver, (solved,), answer, self._parameters, *verified, kkt=self._kkt())

    def _at_pieces(self) -> PhaseSolution:
        """States, costates and controls at the ends of pieces."""
        f, phase, method = self._functional, self._phase, self._functional.method
        motion = f.run(self._duration, self._controls, self._p)
        if motion is None:
            raise SolverError(
                f"{phase.equations.name}: the motion does not stay finite; give another guess of controls and duration"
            )
        jacobian = f.gradient(motion, self._duration, self._controls, self._p, self._found.multipliers)
        self._gradient = self._unknowns.jacobian(jacobian)
        states, costates = f.at_breaks(motion.states), f.at_breaks(jacobian.costates)
        inputs = f.inputs(self._controls)
        times = self._duration * method.breaks
        ends = np.vstack([inputs, inputs[-1:]])
        rates, reported = f.motion.kernels[0].map(times[:, None], states, ends, self._p)
        durations = self._duration * np.diff(method.breaks)[:, None]
        no_path = np.zeros((len(times), 0))
        hamiltonian = (costates * rates[:, :-1]).sum(axis=1) + rates[:, -1]
        pontryagin = PontryaginConditions(
            hamiltonian, jacobian.inputs / durations, no_path, no_path, method.breaks, *[no_path] * 2
        )
        kept = [phase.symbols.state_indices[i] for i in phase.kept_indices]
        return PhaseSolution(
            phase,
            replace(method, steps=f.steps),  # chosen at the guess; at the solution another number might be chosen
            0.0,
            self._duration,
            states[:, kept],
            reported[:-1],
            self._controls,
            self._duration * rates[:-1, kept],
            costates[:, kept],
            method.breaks,
            self._errors(),
            pontryagin,
        )

    def _errors(self) -> Reals:
        """Errors of the pieces: change of the motion with twice as many steps."""
        f = self._functional
        coarse, fine = (g.run(self._duration, self._controls, self._p) for g in (f, f.finer))
        if coarse is None or fine is None:
            return np.full(len(self._controls), np.inf)
        least = LEAST_SIZE * self._phase.sizes.smallest_state
        return step_error(coarse, fine, least)[1:].reshape(len(self._controls), -1).max(axis=1)

    def _steps_note(self, solved: PhaseSolution) -> list[str]:
        worst, requested = float(solved.errors.max()), self._functional.method.accuracy
        if self._functional.method.steps is not None or worst < 100 * requested:
            return []
        return [
            f"{self._functional.steps} steps per piece, chosen at the guess, leave errors of {worst:.1e} at the solution; "
            f"give Adjoint(steps={2 * self._functional.steps})"
        ]

    def _kkt(self) -> Kkt:
        found, phase = self._found, self._phase
        pulls = np.abs(np.clip(found.w - self._gradient, self._unknowns.low, self._unknowns.high) - found.w)
        names = [*phase.controls] * len(self._controls) + ["duration", *self._parameters]
        stationarity_name = names[int(pulls.argmax())]
        return Kkt(found.violation, "conditions at the end" if phase.ends else "", found.stationarity, stationarity_name, 0.0, "")
