"""The driver's side of the stepping loop: the memory of a run for a method and equations, and the loop's machine code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.codegen.jit.kernel import HoistedKernel
from draisine.codegen.restricted.entry import Code, Entry
from draisine.codegen.restricted.types import allocated
from draisine.program.equations import Event
from draisine.results.status import Ending
from draisine.simulation.event_polynomials import BernsteinBasis, bernstein_basis
from draisine.simulation.methods.tableau import ImplicitScheme, Scheme, SteppingMethod
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.contact_memory import (
    CHANGES,
    MODE_ENTRIES,
    UnilateralKernels,
    grow_changes,
    use_usual_modes,
)
from draisine.simulation.stepper.layout import CLOSE_TO_BORDER, WORTHWHILE_STEPS, Stepper, Tableau

if TYPE_CHECKING:
    from draisine.simulation.compiled_equations import CompiledForm

Reals = NDArray[np.float64]

CONTACT_SHARE = 0.03  # of the tolerance of implicit methods, where slips begin whose directions relax at once
CONTACT_SPACING = 0.01  # seconds between two evaluations of contact forces that depend on time, as samples have by default


class Kernels(NamedTuple):
    """Addresses of the compiled programs of (t, x, u, p), 0 for none. `form` is for implicit methods.

    Where the dynamics are `hoisted`, parameters are extended by values that depend on them alone; other kernels read only p.
    """

    dynamics: int = 0
    project: int = 0
    monitor: int = 0
    events: int = 0
    control: int = 0
    form: CompiledForm | None = None
    hoisted: HoistedKernel | None = None
    contact: int = 0  # contact margins, where they are monitored …
    contacts: int = 0  # … and their number
    contact_timed: bool = False  # whether they depend on time
    event_degrees: tuple[int, ...] = ()  # of the event functions as polynomials of time and states, −1 for others
    event_jumps: tuple[bool, ...] = ()  # whether they jump by themselves
    margins: int = 0  # (t, x, u, p and branches) → margins of switching functions …
    switch_rates: int = 0  # (t, x, u, p and branches) → … and rates of these functions
    saltation: int = 0  # (t, (x, S, ẋ), u, p and branches) → these functions, their derivatives in k directions, and rates …
    variations: int = 0  # … k
    unilateral: UnilateralKernels | None = None
    deviation: int = 0  # the error of the projection
    mixed: tuple[int, int, int, int] = (0, 0, 0, 0)  # with mixed branches: derivative, rates, events and contact margins

    def extended(self, parameters: Reals) -> Reals:
        """The parameters in the form that these kernels read."""
        return parameters if self.hoisted is None else self.hoisted.extended(parameters)


class SwitchTables(NamedTuple):
    """The switching functions of a run: g margins of b branches, and the times at which branches and slopes of time change."""

    branches: Reals  # (b) at the start
    time_only: list[int]  # branches of time alone
    switch_jumps: NDArray[np.int64]  # (b) 1 where the state derivative may jump
    guaranteed: bool  # no time at which they change is missing
    margin_branch: NDArray[np.int64]  # (g) the branch of a margin
    margin_corners: NDArray[np.int64]  # (g) 1 if the margin may have corners within a branch
    margin_step: NDArray[np.int64]  # (g) change of the branch where the margin ends; 0 for the other one of two
    restart_time: Reals  # (r) in the order of the run
    restart_branch: Reals  # (r, b) branches from then on; NaN for those of the state


class MarkTables(NamedTuple):
    """Marks of functions of time in the order of the run."""

    mark_time: Reals  # (c) kinks, knots and points between them
    mark_kink: NDArray[np.int64]  # (c) the first kink from here on, −1 for none
    mark_stop: NDArray[np.int64]  # (c) the first stop from here on, −1 for none
    mark_value: Reals  # (c, functions of time)
    mark_tolerance: Reals  # (functions of time)
    mark_curved: NDArray[np.int64]  # (functions of time) 1 for functions that are curved between kinks
    mark_safe: float  # length of steps that pass over nothing in curved functions


def mark_times(s: Stepper, marks: MarkTables | None) -> None:
    """Use marks of functions of time from the present time on; None for no more."""
    s.marks, s.mark_index, s.kink_crossing = 0 if marks is None else len(marks.mark_time), 0, 0
    s.kink_patience = max(1, s.kink_patience)
    if marks is not None:
        for name, values in marks._asdict().items():
            setattr(s, name, values)


def event_stops(event: Event) -> int:
    """The entry of `stops` of an event."""
    if event.action != "stop":
        return 0
    return 1 if event.ending == Ending.EVENT else layout.REQUIRED


@cache
def no_switches() -> SwitchTables:
    """Tables without switching functions."""
    none, whole = np.zeros(0), np.zeros(0, dtype=np.int64)
    return SwitchTables(none, [], whole, True, whole, whole, whole, none, np.zeros((0, 0)))


@lru_cache(maxsize=16)
def _tableau(scheme: Scheme | ImplicitScheme) -> Tableau:
    """The coefficients of a scheme as a record for the loop."""
    made = Tableau()
    # not by np.unique, which imports NumPy's masked arrays: a tenth of a short process
    made.points = np.array(sorted({0.0, 1.0, *np.clip(scheme.nodes[: scheme.stages], 0.0, 1.0).tolist()}))
    made.order, made.history, made.stages, made.rows = scheme.order, scheme.history, scheme.stages, scheme.rows
    arrays: dict[str, NDArray[Any]] = {"nodes": scheme.nodes, "weights": scheme.weights, "dense": scheme.dense}
    if isinstance(scheme, Scheme):
        made.terms, made.external = 3 + len(scheme.dense), int(scheme.external)
        arrays["error"] = scheme.error if scheme.error is not None else np.zeros((2, scheme.rows))
        arrays["by_stages"], arrays["monitored"] = scheme.by_stages, np.array(scheme.monitored, dtype=np.int64)
    else:
        made.implicit, made.coupled, made.solved, made.terms = 1, int(scheme.coupled), scheme.solved, len(scheme.dense)
        made.power, made.evaluates_end, made.filter = scheme.power, int(scheme.evaluates_end), scheme.filter
        made.real_systems, made.pair_systems = len(scheme.real), len(scheme.pairs)
        for name in ("update", "end_rate", "estimate", "rough", "mismatch", "real", "pairs"):
            arrays[name] = getattr(scheme, name)
    for name, array in arrays.items():
        setattr(made, name, np.ascontiguousarray(array))
    return made


class Memory:
    """The memory of a run, in the record `stepper`.

    The loop's counters say how much of each buffer is filled, so nothing is lost when a run ends early: buffers grow by
    replacement and are never emptied.
    """

    def __init__(
        self,
        kernels: Kernels,
        method: SteppingMethod,
        x: Reals,
        inputs: Reals,
        parameters: Reals,
        span: tuple[float, float],
        samples: Reals | None,
        directions: Sequence[int] = (),
        stops: Sequence[int] = (),
        switches: SwitchTables | None = None,
        steps_too: bool = False,
    ) -> None:
        self.stepper = s = Stepper()
        self._steps_too = steps_too  # kept beside the samples
        s.states, s.inputs, s.events = len(x), len(inputs), len(directions)
        self._parameters = np.array(parameters, dtype=np.float64)
        self._switches = switches
        self._branches = np.zeros(0) if switches is None else np.array(switches.branches, dtype=np.float64)
        self._allocate(kernels, method, {"u": inputs, "direction": directions, "stops": stops})
        self.state[:] = x
        s.t, s.end = span
        s.phase = layout.FRESH
        s.threshold, s.limit = np.inf, np.inf
        self._outputs(samples)

    def _allocate(
        self, kernels: Kernels, method: SteppingMethod, given: Mapping[str, ArrayLike], beside: SteppingMethod | None = None
    ) -> None:
        """Allocate the arrays for a method and kernels, and for an explicit one `beside` it; some of them have `given` values."""
        s = self.stepper
        methods = (method,) if beside is None else (method, beside)
        schemes = [scheme for one in methods for scheme in (one.scheme, one.starter)]
        s.paired = 0
        parameters = kernels.extended(np.concatenate([self._parameters, self._branches]))
        form = kernels.form if method.implicit else None
        s.unknowns = s.states if form is None else form.form.size
        s.width = width = -(-s.unknowns // 8) * 8
        s.needs_start_solve, s.residual_form, s.sparse = 0, 0, 0
        s.contacts = kernels.contacts
        s.contact_spacing = CONTACT_SPACING if kernels.contact_timed else 0.0
        m, e = s.inputs, s.events
        rows = max(scheme.rows for scheme in schemes)
        shapes: dict[str, tuple[int, ...]] = {
            "time": (1,),
            "scalar": (1,),
            "point": (width,),
            "x": (width,),
            "new": (width,),
            "u": (m,),
            "parameters": (parameters.size,),
            "command": (m,),
            "k": (rows, width),
            "past": (max(scheme.history for scheme in schemes), width),
            "dense": (layout.TERMS, width),
            "error": (2, width),
            "atol": (s.states,),
            "values": (e,),
            "contact": (s.contacts,),
            "contact_least": (s.contacts,),
            "grid": (layout.GRID + 1, e),
            "mark_cubic": (4,),
            "mark_known": (max(len(_tableau(scheme).points) for scheme in schemes),),
            **dict.fromkeys(("sign", "direction", "stops", "next_sign", "polynomial", "jumps", "near"), (e,)),
        }
        terms = max(_tableau(scheme).terms for scheme in schemes)  # the degree of interpolants
        basis = None if e == 0 else self._event_basis(kernels, terms)
        if basis is not None:
            shapes |= isolation_shapes(len(basis.nodes), e)
        if self._switches is not None:
            s.variations, s.plain_states = kernels.variations, s.states // (1 + kernels.variations)
            counts = len(self._switches.margin_branch), len(self._switches.branches)
            shapes |= switching_shapes(*counts, width, parameters.size, s.plain_states, kernels.variations)
            shapes["mixed_value"] = (2, max(e, s.contacts))
        if kernels.unilateral is not None:
            shapes["margin"] = (layout.MARGIN_GRID + 1, 2 * len(kernels.unilateral.contacts) + shapes["margin"][1])
            shapes |= {name: (shapes["margin"][1],) for name in ("margin_value", "armed")}
        s.allocate(shapes if form is None else shapes | implicit_shapes(form, method.scheme, width))
        s.parameters[:] = parameters
        if self._switches is not None:
            self._set_switches(self._switches)
        if kernels.unilateral is not None:
            self._set_contacts(kernels.unilateral)
        for name, values in given.items():
            getattr(s, name)[...] = values
        s.only_required = int(bool((s.stops == layout.REQUIRED).all()))
        if form is not None:
            self._set_structure(form)
        s.tableau, s.starter = _tableau(method.scheme), _tableau(method.starter)
        if basis is not None:
            s.node[:], s.bernstein[:], s.tail[:], s.noise = basis.nodes, basis.coefficients, basis.tail, basis.noise
            degrees = np.array(kernels.event_degrees) * terms
            s.jumps[:] = kernels.event_jumps
            s.polynomial[:] = (degrees >= 0) & (degrees < len(basis.nodes))
        self.use(kernels)
        self._settings(method)

    @staticmethod
    def _event_basis(kernels: Kernels, terms: int) -> BernsteinBasis:
        """Polynomials for the event functions: exact for those of a low degree."""
        degrees = [degree * terms if degree >= 0 else layout.MAX_DEGREE + 1 for degree in kernels.event_degrees]
        low = [degree for degree in degrees if degree <= layout.MAX_DEGREE]
        return bernstein_basis(max(terms, *low, *(layout.OTHER_DEGREE for _ in degrees[len(low) :])))

    def _set_switches(self, switches: SwitchTables) -> None:
        """Switching functions, with the present branches."""
        s, first = self.stepper, len(self._parameters)
        after = first + len(self._branches)
        s.switching, s.margins = 1, len(switches.margin_branch)
        s.branch_margins = s.margins
        s.branch, s.hoisted, s.first_branch = s.parameters[first:after], s.parameters[after:], first
        for name in ("switch_jumps", "margin_branch", "margin_corners", "margin_step"):
            setattr(s, name, np.ascontiguousarray(getattr(switches, name)))
        if len(switches.restart_time):
            s.restart_time = np.append(switches.restart_time, np.inf)
            s.restart_branch = np.vstack([switches.restart_branch, self._branches])
        else:  # most runs
            s.restart_time, s.restart_branch = np.full(1, np.inf), self._branches[None, :].copy()
        s.restarts = len(switches.restart_time)

    def _set_contacts(self, kernels: UnilateralKernels) -> None:
        """Unilateral contacts, with their present modes."""
        s, contacts = self.stepper, kernels.contacts
        known = s.modes if s.unilateral else None
        s.modes, s.unilateral = kernels.empty_record.clone(), 1
        entries = MODE_ENTRIES * len(contacts)
        last = len(self._parameters)
        s.modes.mode = s.parameters[last - entries : last]
        s.modes.all_parameters = s.parameters
        usual = kernels.usual
        s.modes.usual_parameters = s.parameters if usual is None else usual.dynamics.extended(self._parameters)
        s.modes.first_margin, s.margins = s.branch_margins, s.branch_margins + 2 * len(contacts)
        s.modes.work = s.states // (1 + s.variations) - 1
        s.modes.state_before, s.modes.mode_before = np.zeros(s.states), np.zeros(entries)
        if known is not None:  # records are kept
            s.modes.mode[:], s.modes.jump = known.mode, known.jump
            s.modes.change_room, s.modes.change_count = known.change_room, known.change_count
            for name in CHANGES:
                setattr(s.modes, name, getattr(known, name))

    def _set_structure(self, form: CompiledForm) -> None:
        """Structure of implicit equations."""
        s = self.stepper
        s.dae_index[:], s.differential[:] = form.index, form.differential
        s.entry_row[:], s.entry_column[:] = form.form.pattern
        s.entries = len(form.form.pattern[0])
        # of ẋ = f alone: starts solve for all unknowns of other equations together
        isolated = form.form.isolated if form.explicit else np.zeros(form.form.size, dtype=bool)
        s.core = int(np.count_nonzero(~isolated))
        s.core_unknown[:] = np.argsort(isolated, kind="stable")
        s.core_place[:] = np.where(isolated, -1, np.cumsum(~isolated) - 1)
        diagonal, beside = s.entry_row == s.entry_column, isolated[s.entry_row]
        s.outer_count = int(np.count_nonzero(beside & ~diagonal))
        outer = np.concatenate([np.flatnonzero(beside & ~diagonal), np.flatnonzero(beside & diagonal)])
        s.outer[: len(outer)] = outer
        s.needs_start_solve, s.residual_form = int(form.needs_start_solve), int(not form.explicit or bool(s.unilateral))
        if form.plan is not None:
            s.sparse = 1
            s.plan[:] = form.plan.index

    # ----------------------------------------------------------------------------------------------------- reading

    @property
    def state(self) -> Reals:
        """The state at the present time; writable."""
        return self.stepper.x[: self.stepper.states]

    @property
    def inputs(self) -> Reals:
        """The inputs; writable."""
        return self.stepper.u

    @property
    def parameters(self) -> Reals:
        """The parameters without their extension."""
        return self._parameters

    @property
    def with_branches(self) -> Reals:
        """The parameters with the present modes of contacts and branches of switching functions, which the dynamics take."""
        present = self.stepper.parameters[: len(self._parameters)].copy()
        return present if self._switches is None else np.concatenate([present, self.stepper.branch])

    @property
    def has_switches(self) -> bool:
        """Whether the equations have switching functions, or the memory is for unilateral contacts."""
        return self._switches is not None

    def has_sample_before(self, time: float) -> bool:
        """Whether the next sample precedes a time in the direction of the run."""
        s = self.stepper
        if s.sample_count >= s.samples:
            return False
        distance = time - s.sample_time[s.sample_count]
        return bool(distance > 0.0 if s.end >= s.t else distance < 0.0)

    # ----------------------------------------------------------------------------------------------------- changing

    def use(self, kernels: Kernels) -> None:
        """Use other kernels with the same memory."""
        s = self.stepper
        s.dynamics, s.project, s.monitor = kernels.dynamics, kernels.project, kernels.monitor
        s.deviation = kernels.deviation
        s.margin_kernel, s.switch_rate_kernel, s.saltation_kernel = kernels.margins, kernels.switch_rates, kernels.saltation
        s.mixed_dynamics, s.mixed_rates, s.mixed_events, s.mixed_contact = kernels.mixed
        s.prologue = 0 if kernels.hoisted is None else kernels.hoisted.prologue
        s.event_kernel, s.control, s.contact_kernel = kernels.events, kernels.control, kernels.contact
        if kernels.unilateral is not None:
            use_usual_modes(s.modes, kernels.unilateral, s, kernels.project)
        if kernels.form is not None:
            s.residual, s.jacobian = kernels.form.residual.address, kernels.form.jacobian.address

    def set_switches(self, switches: SwitchTables) -> None:
        """Use the switching functions of other equations, from `take` on; those before them may have had none."""
        had_none, self._switches = self._switches is None, switches
        self._branches = np.array(switches.branches, dtype=np.float64)
        if had_none:
            self._switch_records()
        for name in ("sample_mixture", "step_mixture"):
            old = getattr(self.stepper, name)
            more = 1 + len(self._branches) - old.shape[1]
            if more > 0:
                setattr(self.stepper, name, np.hstack([old, np.zeros((len(old), more))]))
        self.stepper.resting = 0
        self.stepper.switching, self.stepper.sliding, self.stepper.restart_index = 0, 0, 0

    def set_marks(self, marks: MarkTables | None) -> None:
        """Use marks of functions of time from the present time on; None for no more."""
        mark_times(self.stepper, marks)

    def renew_restarts(self, switches: SwitchTables) -> None:
        """Use the restart times of other inputs from the present time on; the branches of the state are kept."""
        s = self.stepper
        known = switches.time_only
        s.branch[known] = switches.branches[known]
        self._switches, self._branches = switches, s.branch.copy()
        s.restart_index = 0
        self._set_switches(switches)

    def take_pair(self, kernels: Kernels, explicit: SteppingMethod, implicit: SteppingMethod) -> None:
        """Continue in memory for an implicit method beside the explicit one: the loop changes between them from now on, and all
        that it knows is kept."""
        s, phase = self.stepper, self.stepper.phase
        modes = s.modes
        known = {name: getattr(s, name) for name in allocated(s)}
        parameters, usual = modes.all_parameters, modes.usual_parameters
        self.take(kernels, implicit, explicit)
        for name, values in known.items():
            if name != "parameters" and (taken := getattr(s, name)) is not values:
                taken[tuple(slice(length) for length in values.shape)] = values
        s.parameters[:] = parameters
        renewed, s.modes = s.modes, modes
        modes.mode, modes.all_parameters, modes.usual_parameters = renewed.mode, s.parameters, usual
        use_usual_modes(modes, self._unilateral(kernels), s, kernels.project)
        if modes.usual:
            s.parameters = usual
        s.allocate({"explicit_atol": (s.states,), "implicit_atol": (s.states,), "method_time": (layout.METHOD_TIMES,)})
        s.explicit_tableau, s.implicit_tableau = _tableau(explicit.scheme), _tableau(implicit.scheme)
        s.explicit_rtol, s.implicit_rtol = getattr(explicit, "rtol", 0.0), s.rtol
        s.explicit_atol[:], s.implicit_atol[:] = getattr(explicit, "atol", 0.0), s.atol
        s.paired, s.uses_implicit, s.method_changes, s.nonstiff_limit = 1, 0, 0, CLOSE_TO_BORDER
        s.returned_at = -WORTHWHILE_STEPS  # none yet
        step = s.h
        self._settings(explicit)
        s.tableau, s.starter, s.h = s.explicit_tableau, _tableau(explicit.starter), step
        s.phase = phase

    @staticmethod
    def _unilateral(kernels: Kernels) -> UnilateralKernels:
        assert kernels.unilateral is not None
        return kernels.unilateral

    def take(self, kernels: Kernels, method: SteppingMethod, beside: SteppingMethod | None = None) -> None:
        """Continue with another method, or with equations of another pattern; records are kept. There is memory for a method
        `beside` it, too."""
        s = self.stepper
        names = (
            "u",
            "direction",
            "stops",
            "sign",
            "contact_least",
            *(("armed", "sliding_margin", "split_named") if s.switching else ()),
        )
        kept = {name: getattr(s, name).copy() for name in names}
        x, step = self.state.copy(), s.h
        if self._switches is not None and s.switching:
            self._branches[:] = s.branch
        self._allocate(kernels, method, kept, beside)
        self.state[:] = x
        s.h = step
        if s.phase == layout.RUNNING:
            s.phase = layout.CHANGED

    def grow(self) -> None:
        """Double the buffers whose length is not known in advance."""
        s = self.stepper
        if s.step_count >= s.step_room:
            self._resize(
                ("step_time", "step_x", "step_u", *(("step_mixture",) if s.switching else ())), s.step_count, 2 * s.step_room
            )
            s.step_room *= 2
        if s.event_count + layout.ROOTS * s.events > s.event_room:
            self._resize(("event_time", "event_x", "event_index"), s.event_count, 2 * s.event_room)
            s.event_room *= 2
        if s.switching and s.switch_count + 2 * layout.MOST_SWITCHES > s.switch_room:
            self._resize(("switch_time", "switch_margin", "switch_kind"), s.switch_count, 2 * s.switch_room)
            s.switch_room *= 2
        if s.unilateral and s.modes.change_count + 2 > s.modes.change_room:
            grow_changes(s.modes)

    def _resize(self, names: Sequence[str], filled: int, room: int) -> None:
        for name in names:
            old = getattr(self.stepper, name)
            if len(old):  # buffers of states that are not kept have no rows
                new = np.zeros((room, *old.shape[1:]), dtype=old.dtype)
                new[:filled] = old[:filled]
                setattr(self.stepper, name, new)

    # ---------------------------------------------------------------------------------------------------- building

    def _settings(self, method: SteppingMethod) -> None:
        s = self.stepper
        s.adaptive, s.max_steps = int(method.adaptive), method.max_steps
        rtol, atol = getattr(method, "rtol", 0.0), np.asarray(getattr(method, "atol", 0.0), dtype=float)
        s.rtol = rtol
        if method.implicit and method.adaptive:
            s.rtol = getattr(method, "inner_rtol", rtol) * (CONTACT_SHARE if s.unilateral else 1.0)
            atol = atol * (s.rtol / rtol)
            highest = int(s.dae_index.max(initial=1))
            # errors of the iteration accumulate in multipliers, and in the long steps of high orders
            share = min(0.03, s.rtol**0.5) * (0.1 if highest > 1 or method.order > 5 else 1.0)
            s.newton_tolerance = max(10.0 * np.finfo(float).eps / s.rtol, share)
        if s.unilateral:
            s.modes.tolerance = float(np.max(rtol))
        s.step = getattr(method, "step", None) or 0.0
        s.max_step = getattr(method, "max_step", None) or np.inf
        s.h = getattr(method, "first_step", None) or 0.0
        s.last_error = 1e-4
        s.accepted_h = 0.0
        s.atol[:] = atol

    def _outputs(self, samples: Reals | None) -> None:
        s = self.stepper
        n, m, e = s.states, s.inputs, s.events
        s.keep_steps = int(samples is None or self._steps_too)
        sample_times = np.zeros(0) if samples is None else samples
        s.samples = len(sample_times)
        s.step_room, s.event_room = 1024, 2 * layout.ROOTS * max(1, e)
        kept = s.step_room * s.keep_steps
        # One row more than the samples, for the last state of a run that ends early. The system allocates pages when they
        # are first written, so a run that ends early uses no more memory than it needs.
        s.allocate(
            {
                "sample_time": (s.samples + 1,),
                "sample_x": (s.samples + 1, n),
                "sample_u": (s.samples + 1, m),
                "step_time": (s.step_room,),
                "step_x": (kept, n),
                "step_u": (kept, m),
                "event_time": (s.event_room,),
                "event_x": (s.event_room, n),
                "event_index": (s.event_room,),
            }
        )
        s.sample_time[:-1] = sample_times
        if self._switches is not None:
            self._switch_records()

    def _switch_records(self) -> None:
        s, columns = self.stepper, 1 + len(self._branches)
        s.switch_room, kept = 16 * layout.MOST_SWITCHES, s.step_room * s.keep_steps
        s.allocate({name: (s.switch_room,) for name in ("switch_time", "switch_margin", "switch_kind")})
        s.allocate({"sample_mixture": (s.samples + 1, columns), "step_mixture": (kept, columns)})


def isolation_shapes(nodes: int, events: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays in which zeros of event functions are isolated."""
    return {
        **{name: (layout.ROOTS * events,) for name in ("root", "root_event")},
        **{name: (layout.ROOTS,) for name in ("check", "check_value")},
        **{name: (nodes,) for name in ("node", "part")},
        **{name: (nodes, events) for name in ("fine", "cubic")},
        **{name: (layout.HALVINGS,) for name in ("low", "high")},
        "bernstein": (nodes, nodes),
        "tail": (min(3, nodes - 1), nodes),
        "coefficient": (layout.HALVINGS, nodes),
    }


def implicit_shapes(form: CompiledForm, scheme: Scheme | ImplicitScheme, width: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the further arrays of implicit methods."""
    n, entries = form.form.size, len(form.form.pattern[0])
    s, pairs = (scheme.solved, len(scheme.pairs)) if isinstance(scheme, ImplicitScheme) else (0, 0)
    plan = form.plan
    shapes: dict[str, tuple[int, ...]] = {
        **{name: (width,) for name in ("rate", "weight", "rhs", "complex_rhs", "core_side", "complex_core_side")},
        **{name: (entries,) for name in ("by_state", "by_rate", "entry_row", "entry_column", "outer")},
        **{name: (s, width) for name in ("stage", "past_stage", "stage_residual", "change")},
        **{name: (n,) for name in ("dae_index", "differential", "core_unknown", "core_place")},
    }
    if plan is None:
        return shapes | {"lu": (n, n), "complex_lu": (pairs, n, n), "pivot": (n,), "complex_pivot": (pairs, n)}
    return shapes | {
        "plan": plan.index.shape,
        **{name: (entries,) for name in ("entry", "complex_entry")},
        **{name: (plan.work,) for name in ("work", "complex_work")},
        "factor": (plan.factors,),
        "complex_factor": (pairs, plan.factors),
    }


@lru_cache(maxsize=64)
def switching_shapes(g: int, b: int, width: int, parameters: int, states: int, variations: int) -> Mapping[str, tuple[int, ...]]:
    """Shapes of the further arrays of equations with g margins and b branches of switching functions; `states` without their
    derivatives."""
    most, terms = layout.MOST_SLIDING, layout.TERMS
    split = max(most, min(b, layout.MOST_SPLIT))
    rates = b * (1 + variations)
    shapes = {
        "surface_point": (states * (2 + variations),),
        "surface_change": (b * (2 + variations),),
        **{name: (variations,) for name in ("shift", "last_shift")},
        "share_change": (most,),
        **{name: (width,) for name in ("field_before", "field_after", "field_start", "field_single")},
        **{name: (b,) for name in ("branch_start", "branch_now")},
    }
    return {
        **(shapes if variations else {}),
        "margin": (layout.MARGIN_GRID + 1, g),
        **{name: (g,) for name in ("margin_value", "armed")},
        "switch_rate": (rates,),
        "shorten": (terms, terms),
        "cut_work": (terms + 1,),
        **{name: (most,) for name in ("sliding_margin", "share", "sliding_pivot")},
        "sliding_parameters": (most + 1, parameters),
        "sliding_field": (most + 1, width),
        **{name: (width,) for name in ("sliding_motion", "sliding_start", "mixed_field")},
        "mixed_parameters": (parameters,),
        "mixed_rate": (rates,),
        "sliding_rate": (most + 1, rates),
        "sliding_matrix": (most, most),
        **{name: (b,) for name in ("split_named", "split_before")},
        "split_margin": (3, g),
        **{name: (width,) for name in ("split_point", "split_scale")},
        **{name: (split,) for name in ("split_law", "split_pivot", "split_fixed", "split_weight")},
        **{name: (split,) for name in ("split_deviation", "split_sum", "split_need")},
        "split_effect": (split, width),
        "split_basis": (split + 1, width),
        **{name: (split, split) for name in ("split_part", "split_matrix")},
    }


_MODULES = (
    "explicit_rk",
    "implicit_rk",
    "implicit_systems",
    "dense_matrices",
    "step_size_control",
    "time_limits",
    "switching",
    "switch_location",
    "sliding",
    "mixture",
    "force_split",
    "accumulation",
    "saltation",
    "events_and_samples",
    "contact_monitor",
    "contact_field",
    "slow_slips",
    "contact_layout",
    "contact_laws",
    "contact_shares",
    "contact_directions",
    "contact_complementarity",
    "contact_slip",
    "contact_impact",
    "contact_modes",
    "contact_saltation",
    "contact_places",
    "usual_modes",
    "method_change",
    "event_isolation",
    "layout",
    "loop",
)
# The modules of the loop.
SOURCES = (*(f"draisine.simulation.stepper.{name}" for name in _MODULES), "draisine.codegen.jit.sparse_qr")
# Constants for explicit methods, and for equations without switching functions; code that they never reach is not compiled.
EXPLICIT = {(Tableau, "implicit"): 0, (Stepper, "needs_start_solve"): 0, (Stepper, "paired"): 0}
SMOOTH = {(Stepper, "switching"): 0}
GLUED = {(Stepper, "unilateral"): 0, (Stepper, "paired"): 0}


def stepping_loop(implicit: bool = False, switching: bool = False, at_once: bool = True, unilateral: bool = False) -> Code:
    """The loop as machine code: a function of a `Stepper` that returns a reason of `layout`.

    It is compiled once per machine and variant, then loaded from disk: for explicit methods alone, which compiles quickly and
    is all that most runs need, and with the implicit methods; without switching functions, and with them; with unilateral
    contacts. `at_once`: see `Entry.load`.
    """
    return stepping_entry(implicit, switching or unilateral, unilateral).load(at_once)


@cache
def stepping_entry(implicit: bool, switching: bool, unilateral: bool = False) -> Entry:
    """The entry of a variant of the loop."""
    fixed = ({} if implicit else EXPLICIT) | ({} if switching else SMOOTH) | ({} if unilateral else GLUED)
    return Entry("draisine.simulation.stepper.loop", "advance", SOURCES, fixed)
