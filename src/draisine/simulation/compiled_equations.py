"""Equations compiled for runs: kernels, the implicit form, and the choices of independent velocities a run can switch to.

Equations of a choice are derived when the choice is first considered and compiled when it is first used. Both are cached, so
switching back costs nothing, within a run and from one run to the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import HoistedKernel, Kernel, begin, compile, compile_guarded, compile_hoisted
from draisine.codegen.jit.sparse_qr import Plan, analyze
from draisine.codegen.passes import Entry, Guards
from draisine.errors import ArgumentError
from draisine.model.contact_items import MODE_ENTRIES
from draisine.numerics.rank import independent_columns
from draisine.program.deviation import deviation_program
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram, SolvedResidual, implicit_form
from draisine.program.program import DaeResidual, Program
from draisine.simulation.event_polynomials import can_jump, polynomial_degrees
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.stepper.contact_memory import UnilateralKernels, UsualKernels
from draisine.simulation.stepper.memory import Kernels, Memory, stepping_loop

if TYPE_CHECKING:
    from draisine.simulation.initial_rates import DerivativeArray
    from draisine.simulation.switches import CompiledSwitching
    from draisine.simulation.time_marks import TimeMarks


# From this number of unknowns on, matrices are factorized by their sparsity pattern if that takes fewer operations.
SPARSE_FROM = 30
# Results of `contact_system` for the rows of contacts, and for contacts, that are used where they are closed.
BY_ROW, BY_CONTACT = ("columns", "side", "speed", "drift", "friction", "compliance"), ("forward", "static")
# Seconds of processor time of stepping with quick kernels, per operation of the dynamics, after which they have lost what
# optimizing takes.
QUICK_SECONDS = 8e-5


@dataclass(frozen=True, eq=False)
class CompiledForm:
    """Kernels of the residual and its Jacobians, and their structure."""

    form: DaeResidual
    residual: Kernel
    jacobian: Kernel
    explicit: bool  # made from ẋ = f, which determines all rates

    @cached_property
    def index(self) -> NDArray[np.int64]:
        return np.array(self.form.index or (1,) * self.form.size, dtype=np.int64)

    @cached_property
    def differential(self) -> NDArray[np.int64]:
        return np.array(self.form.differential, dtype=np.int64)

    @property
    def needs_start_solve(self) -> bool:
        """Whether rates and algebraic unknowns are solved for at a start; not where a higher index is declared."""
        return not self.explicit and max(self.form.index, default=1) <= 1

    @cached_property
    def plan(self) -> Plan | None:
        """A plan to factorize matrices of this pattern, if they are large and sparse."""
        n = self.form.size
        if n < SPARSE_FROM:
            return None
        try:
            plan = analyze(*self.form.pattern, n)
        except ValueError:  # structurally singular: the loop reports it
            return None
        return plan if plan.operations < n**3 // 4 else None


def compile_form(
    dynamics: Program | LinearSolveProgram | DaeResidual,
    quick: bool = False,
    solved: bool = False,
    shorter: Program | None = None,
) -> CompiledForm:
    """The implicit form of dynamics; `solved`: without the solution of their linear system among the unknowns. `shorter`: see
    `SolvedResidual`."""
    if solved and isinstance(dynamics, LinearSolveProgram):
        form: DaeResidual = SolvedResidual.of(dynamics, shorter)
    else:
        solved, form = False, implicit_form(dynamics)
    residual, jacobian = compile(form.residual, quick=quick), compile(form.jacobian, quick=quick)
    return CompiledForm(form, residual, jacobian, solved or isinstance(dynamics, Program))


Reals = NDArray[np.float64]


class MonitoredMargins(NamedTuple):
    """The program of contact margins, its kernel, and whether they depend on time itself."""

    program: Program | LinearSolveProgram
    kernel: Kernel
    timed: bool


MarginsOf = Callable[[Equations], MonitoredMargins | None]


@dataclass(frozen=True, eq=False)
class CompiledEquations:
    """The kernels of a run of these equations. Those of implicit methods are compiled at first use."""

    equations: Equations
    dynamics: HoistedKernel | None  # of ẋ = f
    project: Kernel | None
    monitor: Kernel | None
    events: Kernel | None
    switching: CompiledSwitching | None = None  # then the dynamics are those with fixed branches
    quick: bool = False  # compiled without optimization
    time_marks: TimeMarks | None = None  # of tables and conditions of time
    contact_margins: Kernel | None = None  # of unilateral contacts
    contact_terms: Kernel | None = None
    contact_system: Kernel | None = None
    usual: UsualKernels | None = None  # of the usual modes of contacts
    deviation: Kernel | None = None  # the error of the projection alone

    @cached_property
    def form(self) -> CompiledForm:
        """The dynamics as 0 = F(t, x, ẋ, u, p)."""
        dynamics = self.equations.dynamics if self.switching is None else self.switching.switching.dynamics
        shorter = None if self.contact_system is None else self.equations.contact_system
        return compile_form(dynamics, self.quick, bool(self.equations.unilateral), shorter)

    @cached_property
    def event_degrees(self) -> tuple[int, ...]:
        """Degrees of the event functions as polynomials of time and states, −1 for others."""
        program = self.equations.events
        return () if program is None else polynomial_degrees(program, ("t", "x"))

    @cached_property
    def event_jumps(self) -> tuple[bool, ...]:
        """Whether the event functions jump by themselves, as conditions do."""
        program = self.equations.events
        return () if program is None else can_jump(program)

    @cached_property
    def derivatives(self) -> DerivativeArray:
        """For starts of equations of higher index; loaded here because few runs need it."""
        from draisine.simulation.initial_rates import DerivativeArray  # imports what few runs need

        return DerivativeArray(self.form.form)

    def prepare_implicit_start(self, memory: Memory, parameters: Reals) -> None:
        """Before a start or restart of an implicit method: multipliers and rates of equations of higher index from derivatives of
        the constraints; an initial guess of reactions on which forces depend."""
        stepper = memory.stepper
        if not self.form.explicit and not self.form.needs_start_solve and self.derivatives.solvable:
            x, rates = self.derivatives.solve(float(stepper.t), memory.state.copy(), memory.inputs, memory.with_branches)
            memory.state[:] = x
            stepper.k[0, : len(x)] = rates
        self._guess_reactions(memory, parameters)

    def _guess_reactions(self, memory: Memory, parameters: Reals) -> None:
        """Accelerations and multipliers; with the branches of a loaded contact its friction has no value at a normal force of
        zero."""
        dynamics, stepper = self.equations.dynamics, memory.stepper
        if not isinstance(dynamics, LinearSolveProgram) or dynamics.start is None:
            return
        algebraic = stepper.x[stepper.states : stepper.unknowns]
        if not algebraic.size or algebraic.any():
            return
        try:
            found = dynamics.solution([float(stepper.t)], memory.state, memory.inputs, parameters)
        except (np.linalg.LinAlgError, RuntimeError):  # a singular matrix, dense or sparse, which the loop reports
            return
        algebraic[:] = np.nan_to_num(found.reshape(-1, order="F"), nan=0.0)

    def kernels(self, control: int = 0, implicit: bool = False, margins_of: MarginsOf | None = None) -> Kernels:
        """Addresses for the stepping loop; with `margins_of`, which compiles them, those of the margins of contacts, too."""

        def address(kernel: Kernel | HoistedKernel | None) -> int:
            return 0 if kernel is None else kernel.address

        contact = None if margins_of is None else margins_of(self.equations)
        return Kernels(
            address(self.dynamics),
            address(self.project),
            address(self.monitor),
            address(self.events),
            control,
            self.form if implicit else None,
            self.dynamics,
            0 if contact is None else contact.kernel.address,
            0 if contact is None else contact.kernel.outputs[0].size,
            contact is not None and contact.timed,
            self.event_degrees,
            self.event_jumps,
            margins=0 if self.switching is None else address(self.switching.margins),
            switch_rates=0 if self.switching is None or self.dynamics is None else self.switching.rates.address,
            saltation=0 if self.switching is None else address(self.switching.saltation),
            variations=self.equations.variations,
            mixed=self._mixed(contact),
            unilateral=self._unilateral,
            deviation=address(self.deviation),
        )

    @cached_property
    def _unilateral(self) -> UnilateralKernels | None:
        e = self.equations
        if self.contact_margins is None or self.contact_terms is None:
            return None
        sizes = len(e.velocities), len(e.multipliers), len(e.coordinates)
        addresses = self.contact_margins.address, self.contact_terms.address
        system = 0 if self.contact_system is None else self.contact_system.address
        return UnilateralKernels(e.unilateral, *addresses, *sizes, e.limits.length, system, self.usual, _drives(e))

    def _mixed(self, contact: MonitoredMargins | None) -> tuple[int, int, int, int]:
        """Addresses of kernels for motions that slide: derivative, rates of switching functions, events, contact margins."""
        if self.switching is None:
            return 0, 0, 0, 0
        events, margins = (
            self.switching.mixed(what) for what in (self.equations.events, None if contact is None else contact.program)
        )
        kernels = self.switching.mixed_dynamics, self.switching.mixed_rates, events, margins
        first, second, third, fourth = (0 if kernel is None else kernel.address for kernel in kernels)
        return first, second, third, fourth


@dataclass(frozen=True, eq=False)
class VelocityChoices:
    """One system with its choices of independent velocities, each derived and compiled at first use.

    Kernels of `quick` choices are replaced by optimized ones, which give the same bits, for steps after some time of stepping.
    """

    root: Equations
    margins_of: MarginsOf | None = None  # compiles the margins of contacts, where runs monitor them
    quick: bool = False
    _known: dict[tuple[str, ...], Equations] = field(default_factory=dict, init=False, repr=False)
    _ready: dict[tuple[str, ...], tuple[CompiledEquations, float]] = field(default_factory=dict, init=False, repr=False)
    _stepped: dict[tuple[str, ...], float] = field(default_factory=dict, init=False, repr=False)  # seconds, with quick kernels

    @property
    def ready(self) -> dict[tuple[str, ...], CompiledEquations]:
        """The choices compiled so far."""
        return {choice: made for choice, (made, _) in self._ready.items()}

    @property
    def seconds(self) -> float:
        """Time spent on compiling so far."""
        return sum(seconds for _, seconds in self._ready.values())

    def equations(self, choice: tuple[str, ...]) -> Equations:
        """The equations of a choice."""
        if choice == self.root.choice:
            return self.root
        if choice not in self._known:
            if self.root.with_independent is None:
                raise ArgumentError(f"{self.root.name}: its independent velocities cannot be changed to {', '.join(choice)}")
            self._known[choice] = self.root.with_independent(choice)
        return self._known[choice]

    def compiled(self, choice: tuple[str, ...]) -> CompiledEquations:
        """The kernels of a choice."""
        if choice not in self._ready:
            began = time.perf_counter()
            made = _compiled(self.equations(choice), self.quick)
            self._ready[choice] = made, time.perf_counter() - began
        return self._ready[choice][0]

    def note_steps(self, choice: tuple[str, ...], seconds: float) -> None:
        """Steps with the kernels of a choice have taken so many seconds of the processor."""
        self._stepped[choice] = self._stepped.get(choice, 0.0) + seconds

    def for_steps(self, choice: tuple[str, ...]) -> CompiledEquations:
        """The kernels of a choice for steps to come: optimized ones if those so far have taken long. A run that ends compiles
        nothing for steps that it does not make."""
        made = self.compiled(choice)
        long = made.quick and self._stepped.get(choice, 0.0) >= QUICK_SECONDS * made.equations.dynamics.operations
        return self.optimized(choice) if long else made

    def optimized(self, choice: tuple[str, ...]) -> CompiledEquations:
        """The kernels of a choice, optimized from now on."""
        made, before = self._ready.get(choice, (None, 0.0))
        if made is None or made.quick:
            began = time.perf_counter()
            self._ready[choice] = _compiled(self.equations(choice)), before + time.perf_counter() - began
        return self._ready[choice][0]

    def others(self, choice: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """The other choices."""
        if self.root.with_independent is None:
            return ()
        return tuple(c for c in dict.fromkeys((self.root.choice, *self.root.alternates)) if c != choice)

    def best_other(
        self, choice: tuple[str, ...], t: float, x: Reals, u: Reals, p: Reals
    ) -> tuple[tuple[str, ...], Reals, float] | None:
        """The other choice with the lowest condition number at a state, and the state in its terms; None if there is none.

        The velocities are mapped exactly, because the report gives all of them at the present state.
        """
        best: tuple[tuple[str, ...], Reals, float] | None = None

        def compare(other: tuple[str, ...]) -> None:
            nonlocal best
            mapped = self.equations(choice).translated(self.equations(other), t, x, u, p)
            monitor = self.equations(other).monitor
            condition = 1.0 if monitor is None else float(monitor([t], mapped, u, p)[0][0])
            if np.all(np.isfinite(mapped)) and np.isfinite(condition) and (best is None or condition < best[2]):
                best = (other, mapped, condition)

        for other in self.others(choice):
            compare(other)
        if self.root.rows and self.root.with_independent is not None and (best is None or best[2] > self.root.limits.condition):
            here = best_rows(self.equations(choice), t, x[: len(self.root.coordinates)], u, p)
            if here is not None and here != choice and self.derivable(here):
                compare(here)
        return best

    def derivable(self, choice: tuple[str, ...]) -> bool:
        """Whether the equations of a choice can be had: stored equations have the listed ones only."""
        try:
            self.equations(choice)
        except LookupError:
            return False
        return True


def best_rows(e: Equations, t: float, q: Reals, u: Reals, p: Reals) -> tuple[str, ...] | None:
    """The independent velocities and rows that are best conditioned at a configuration, by pivoting; None without values."""
    count = len(e.velocities)
    rates = [i for i, c in enumerate(e.constraints) if c.level == "velocity"]
    slot = [s.name for s in e.motion.outputs].index("residuals")

    def speeds(v: Reals) -> Reals:
        return np.asarray(e.motion([t], q, v, u, p)[slot])[rates]

    offset = speeds(np.zeros(count))
    rows = np.column_stack([speeds(unit) - offset for unit in np.eye(count)])  # linear in the velocities
    if not np.isfinite(rows).all():
        return None
    kept = sorted(independent_columns(rows.T, len(e.rows)))
    if len(kept) < len(e.rows):
        return None
    independent = e.independent
    if len(independent) < count:
        dependent = independent_columns(rows[kept], len(kept))
        independent = tuple(v.name for i, v in enumerate(e.velocities) if i not in dependent)
    return (*independent, *(e.constraints[rates[i]].name for i in kept))


def _compiled(e: Equations, quick: bool = False) -> CompiledEquations:
    switching, marks = _switching(e, quick)
    if switching is not None:
        explicit = switching.dynamics
    else:
        explicit = None if isinstance(e.dynamics, DaeResidual) else compile_hoisted(e.dynamics, quick=quick)
    short = deviation_program(e.project) if e.unilateral else None  # other runs project in short programs anyway
    programs = (e.project, e.monitor, e.events, e.contact_margins, e.contact_terms, short)
    project, monitor, events, margins, terms, deviation = (None if p is None else compile(p, quick=quick) for p in programs)
    own = len(e.coordinates) + len(e.velocities) + 1  # the states of contacts: with further ones, such as derivatives, …
    plain = switching is None and not isinstance(e.dynamics, DaeResidual) and e.dynamics.outputs[0].size == own  # … none of these
    system = None
    if plain and e.contact_system is not None:
        system = compile_guarded(e.contact_system, rows_of_closed_contacts(e, e.contact_system), quick=quick)
    usual = _usual(e, quick) if plain else None
    kernels = explicit, project, monitor, events, switching, quick, marks, margins, terms, system, usual, deviation
    made = CompiledEquations(e, *kernels)
    if explicit is None:
        _ = made.form
    return made


def rows_of_closed_contacts(e: Equations, program: Program) -> Guards:
    """Conditions of the results of a program: those for the rows of a contact, and its own, are wanted where it is closed."""
    slots, parameters = [slot.name for slot in program.outputs], [slot.name for slot in program.inputs].index("p")
    first, found = program.inputs[parameters].size - MODE_ENTRIES * len(e.unilateral), list[tuple[Entry, Entry]]()
    for k, contact in enumerate(e.unilateral):
        closed = parameters, first + MODE_ENTRIES * k
        for name in BY_ROW:
            slot = slots.index(name)
            width = program.outputs[slot].size // len(e.multipliers)
            found += [((slot, width * row + j), closed) for row in contact.rows for j in range(width)]
        found += [((slots.index(name), k), closed) for name in BY_CONTACT]
    return Guards(tuple(found))


def _drives(e: Equations) -> bool:
    """Whether rows of contacts have velocities beside those of the mechanism: of moving ground, stops, prescribed motions."""
    import casadi as ca

    assert e.contact_terms is not None
    program, first = e.contact_terms, len(e.coordinates)
    arguments = dict(zip((slot.name for slot in program.inputs), program.symbols(), strict=True))
    arguments["x"] = ca.SX(arguments["x"])
    arguments["x"][first : first + len(e.velocities)] = 0.0
    results = program.function.call(list(arguments.values()))
    speed = results[[slot.name for slot in program.outputs].index("speed")]
    return not bool(ca.simplify(speed).is_zero())


def _usual(e: Equations, quick: bool) -> UsualKernels | None:
    """Kernels of the usual modes of contacts, if there are such equations."""
    if e.usual_dynamics is None or e.usual_margins is None:
        return None
    margins, project = (None if p is None else compile(p, quick=quick) for p in (e.usual_margins, e.usual_project))
    dynamics = compile_hoisted(e.usual_dynamics, quick=quick)
    assert margins is not None
    return UsualKernels(dynamics, margins, project, e.limits.condition)


def _switching(e: Equations, quick: bool) -> tuple[CompiledSwitching | None, TimeMarks | None]:
    """Their switching functions, compiled, and their tables and conditions of time; None if there are none."""
    if not (e.can_switch or e.can_be_sharp):
        return None, None
    from draisine.simulation.switches import compile_switching, find_time_marks  # a dozen modules others do not need

    switching = compile_switching(e, quick)
    return switching, find_time_marks(e, switching)


@lru_cache(maxsize=64)
def _monitor(equations: Equations) -> Kernel:
    assert equations.monitor is not None
    return compile(equations.monitor, quick=True)


def best_choice_for(
    equations: Equations, q: Reals, v: Reals, extra: Reals, others: tuple[float, Reals, Reals]
) -> tuple[Equations, Reals]:
    """The choice to start with, given all velocities, and the state in its terms.

    The equations' own choice is kept unless it is ill-conditioned at the start: a sled moving along x cannot be described by
    its velocity along y.
    """
    t, u, p = others
    names = [velocity.name for velocity in equations.velocities]

    def state(choice: tuple[str, ...]) -> Reals:
        return np.concatenate([q, [v[names.index(name)] for name in choice], extra])

    def condition(candidate: Equations) -> float:
        if candidate.monitor is None:
            return 1.0
        value = float(_monitor(candidate)([t], state(candidate.independent), u, p)[0][0])
        return value if np.isfinite(value) else np.inf

    best, lowest = equations, condition(equations)
    if lowest > equations.limits.condition and equations.with_independent is not None:
        for choice in equations.alternates:
            candidate = equations.with_independent(choice)
            if condition(candidate) < lowest:
                best, lowest = candidate, condition(candidate)
        here = best_rows(equations, t, q, u, p) if equations.rows and lowest > equations.limits.condition else None
        if here is not None and VelocityChoices(equations).derivable(here):
            candidate = equations.with_independent(here)
            best = candidate if condition(candidate) < lowest else best
    return best, state(best.independent)


def prepare(equations: Equations, margins_of: MarginsOf | None = None, quick: bool = False) -> VelocityChoices:
    """Compile the equations for runs. `integrate` takes the result in place of the equations. With `margins_of`
    (`monitored_margins` of `contact_margins`), runs keep the least margins of contacts. `quick`: see `VelocityChoices`."""
    choices = VelocityChoices(equations, margins_of, quick)
    choices.compiled(equations.choice)
    return choices


class Prepared(NamedTuple):
    """What all runs of one set of equations share: kernels, and the start problem."""

    choices: VelocityChoices
    starts: StartProblem


@lru_cache(maxsize=32)
def prepared(equations: Equations) -> Prepared:
    """Compiled equations and start problem, cached for all runs in this process."""
    starts = StartProblem(equations, quick=True)
    _begin(equations, starts)
    # compiled at its first use on a machine: counted as compile time, not as integration time
    choices = prepare(equations, quick=True)
    switching = choices.compiled(equations.choice).switching is not None
    implicit = isinstance(equations.dynamics, DaeResidual)
    stepping_loop(implicit=implicit, switching=switching, unilateral=bool(equations.unilateral))
    return Prepared(choices, starts)


def _begin(e: Equations, starts: StartProblem) -> None:
    """Have what every run needs compiled beside this process (`codegen.jit.beside`), the longest first, so that its text is
    generated while the process beside compiles others."""
    begin(e.report)
    if not starts.by_columns:
        begin(starts.to_compile)
    if not (e.can_switch or e.can_be_sharp or isinstance(e.dynamics, DaeResidual)):
        begin(e.dynamics, hoisted=True)
    for program in (e.project, e.monitor, e.events, e.contact_margins, e.contact_terms):
        if program is not None:
            begin(program)
