"""Certificates (`certify`): independent derivations of one description, or two descriptions of one mechanism, compared.

A comparison of derivations cannot detect an error in their common description. Two descriptions (a graph and a hand-written
Lagrangian, say) are compared in the same random states with the same inputs: those in which all quantities of the same name have
the same value. Then the rates of these quantities, energies, reactions and the power of the inputs must agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from draisine.diagnostics.nearest_state import nearest_state
from draisine.dynamics.derive import derive
from draisine.dynamics.verify.agreement import AGREEMENT, AvoidedSingularity, Certificate, Line, relative_difference, worst_line
from draisine.dynamics.verify.certificate import certify_derivations
from draisine.dynamics.verify.mode_certificate import certify_modes
from draisine.dynamics.verify.sample_states import Motion, SampleState, TypicalScales, random_states, report_at
from draisine.dynamics.verify.single_derivation import certify_single_derivation
from draisine.errors import ArgumentError, ModelError, StartError
from draisine.expr.expression import did_you_mean
from draisine.model.model import Model
from draisine.model.system import System
from draisine.numerics.number_range import refuse_large_count
from draisine.numerics.rank import decompose
from draisine.program.arguments import checked, refuse_unilateral
from draisine.program.equations import Equations
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem

Reals = NDArray[np.float64]

_NOTHING = 1e-4  # smallest scale of a quantity, relative to the largest of its kind
UNDECIDED = ("an error that both descriptions have",)
MOST_STATES = 100_000
POTENTIAL = "potential energy"
_OPEN = 1e-7  # component of a velocity that the common names do not determine


@checked
def certify(
    model: Model | System | Equations,
    against: Model | System | Equations | None = None,
    *,
    count: int = 12,
    names: Mapping[str, str] | None = None,
    modes: Mapping[str, str] | None = None,
) -> Certificate:
    """Derive a description by independent methods and compare them at `count` random admissible states.

    With `against`, another description of the same mechanism, the two are compared in the quantities that both name: only this
    can detect an error in a description itself. `names` maps names of the first to names of the second where they differ; a
    minus sign means the opposite sign, {"spin": "-turn_rate"}, and an empty name a quantity without counterpart. Of equations
    alone, the properties that one derivation can show are certified, and the certificate lists the others.

    With `modes`, such as {"rear": "slip", "front": "stick"}, the equations of a model with contacts that stick, slip and open are
    compared in these modes with the derivation from energies and Coulomb's law.
    """
    if not isinstance(count, int) or count < 1:
        raise ArgumentError(f"certify: count is the number of random states, one or more, got {count!r}")
    refuse_large_count("certify: count", count, MOST_STATES)
    if modes is not None:
        if against is not None or names or isinstance(model, Equations) or not model.unilateral:
            raise ArgumentError("certify: modes= is for one model with contacts that stick, slip and open (friction=)")
        return certify_modes(model, modes, count)
    for one in (model, against):
        refuse_unilateral("certify", one, "; certify(model, modes={…}) certifies the equations in given modes")
    if against is None:
        if names:
            raise ArgumentError("names relates two descriptions; give the second one: against=…")
        return certify_single_derivation(model, count) if isinstance(model, Equations) else certify_derivations(model, count)
    first, second = (m if isinstance(m, Equations) else derive(m) for m in (model, against))
    return compare_descriptions(first, second, count, names=names)


def compare_descriptions(
    a: Equations, b: Equations, states: int, seed: int = 1817, names: Mapping[str, str] | None = None
) -> Certificate:
    """Compare two sets of equations at random states of the first, matched in the second by common names.

    `names` maps names of the first to names of the second, {"normal_force": "ground_multiplier"}; a minus sign means the
    opposite sign, {"spin": "-turn_rate"}, and an empty name a quantity without counterpart.
    """
    return _Comparison(a, b, _Shared.of(a, b, names or {})).certificate(states, seed)


@dataclass(frozen=True)
class _Pair:
    """One quantity by its two names."""

    first: str
    second: str
    sign: float = 1.0


def _motion_names(e: Equations) -> list[str]:
    return [*(c.name for c in e.coordinates), *(v.name for v in e.velocities), *e.motion.output("outputs").labels]


def _force_names(e: Equations) -> list[str]:
    return [*sorted(e.force_outputs), *(m.name for m in e.multipliers)]


@dataclass(frozen=True)
class _Shared:
    """Quantities that both descriptions name: quantities of motion, reactions, inputs."""

    motion: tuple[_Pair, ...]
    forces: tuple[_Pair, ...]
    inputs: tuple[_Pair, ...]

    @staticmethod
    def of(a: Equations, b: Equations, names: Mapping[str, str]) -> _Shared:
        kinds = {"motion": _motion_names, "forces": _force_names, "inputs": lambda e: [u.name for u in e.inputs]}
        found: dict[str, list[_Pair]] = {kind: [] for kind in kinds}
        for kind, of in kinds.items():
            ours, theirs = of(a), of(b)
            taken = {name.removeprefix("-") for name in names.values()}
            found[kind] = [_Pair(n, n) for n in dict.fromkeys(ours) if n in theirs and n not in names and n not in taken]
        for first, named in names.items():
            second = named.removeprefix("-")
            if not second and first in {n for of in kinds.values() for n in of(a)}:
                continue
            homes = [kind for kind, of in kinds.items() if first in of(a) and second in of(b)]
            if not homes:
                _refuse(a, b, first, second, [(of(a), of(b)) for of in kinds.values()])
            found[homes[0]].append(_Pair(first, second, -1.0 if named.startswith("-") else 1.0))
        if not found["motion"]:
            raise ModelError(
                f"{a.name} and {b.name} have no velocity of the same name; give corresponding coordinates and rates the same "
                "names, or relate them: names={name in the first: name in the second}"
            )
        return _Shared(*(tuple(found[kind]) for kind in kinds))


def _refuse(a: Equations, b: Equations, first: str, second: str, kinds: list[tuple[list[str], list[str]]]) -> NoReturn:
    for e, name, known in ((a, first, [n for ours, _ in kinds for n in ours]), (b, second, [n for _, t in kinds for n in t])):
        if name not in known:
            raise ArgumentError(
                f"names={{{first!r}: {second!r}}}: {e.name} has no coordinate, velocity, output, multiplier or input {name!r}"
                f"{did_you_mean(name, known)}"
            )
    raise ArgumentError(
        f"names={{{first!r}: {second!r}}}: in one description it is a quantity of motion, in the other a force or an input; name "
        "two of a kind"
    )


@dataclass(frozen=True, eq=False)
class _Values:
    """Values of one description at a state: quantities of motion with their rates, reactions, energies, powers."""

    values: dict[str, float]
    rates: dict[str, float]
    forces: dict[str, float]
    energy: Reals
    powers: dict[str, float]
    load_power: float  # of forces that are neither inputs nor have a potential


@dataclass(frozen=True, eq=False)
class _MatchedStates:
    """Both descriptions at one state."""

    ours: _Values
    theirs: _Values
    condition: float
    place: dict[str, float]


class _Side:
    """One of the two descriptions."""

    def __init__(self, e: Equations) -> None:
        self.e, self.motion = e, Motion(e)

    @cached_property
    def by_velocity(self) -> dict[str, bool]:
        """Whether a quantity of motion depends on velocities: its rate is then an acceleration."""
        e = self.e
        outputs = dict(zip(self.motion.names, self.motion.by_velocity, strict=True))
        return {**outputs, **{c.name: False for c in e.coordinates}, **{v.name: True for v in e.velocities}}

    def values_at(self, i: SampleState) -> _Values:
        e, reported, motion = self.e, report_at(self.e, i), self.motion(i.t, i.q, i.v, i.u)
        (xdot,) = e.explicit([i.t], i.x, i.u, e.default_parameters)
        rate, start = xdot[: len(i.q)], len(e.constraints)
        jacobian = motion["by_q"] @ rate + motion["by_v"] @ reported["vdot"] + motion["by_t"][:, 0]
        names = [*(c.name for c in e.coordinates), *(v.name for v in e.velocities), *self.motion.names[start:]]
        forces = dict(zip(e.report.output("outputs").labels, reported["outputs"].tolist(), strict=True))
        powers = reported.get("power", np.zeros(len(e.inputs)))
        counted = [s.name for s in e.states[len(e.coordinates) + len(e.independent) :]] == ["work"]
        return _Values(
            dict(zip(names, [*i.q, *i.v, *motion["values"][start:]], strict=True)),
            dict(zip(names, [*rate, *reported["vdot"], *jacobian[start:]], strict=True)),
            {**forces, **dict(zip((m.name for m in e.multipliers), reported["multipliers"].tolist(), strict=True))},
            reported["energy"][:2] if "energy" in reported else np.zeros(0),
            dict(zip((u.name for u in e.inputs), powers.tolist(), strict=True)),
            float(xdot[-1] - powers.sum()) if counted else 0.0,
        )

    def left_open(self, i: SampleState, wanted: list[str]) -> list[str]:
        """Velocities that the constraints and the wanted quantities do not determine."""
        e = self.e
        if not e.velocities:
            return []
        by_v = self.motion(i.t, i.q, i.v, i.u)["by_v"]
        chosen = [k for k, name in enumerate(self.motion.names) if k < len(e.constraints) or name in wanted]
        direct = np.eye(len(e.velocities))[[v.name in wanted for v in e.velocities]]
        rows = np.vstack([by_v[chosen], direct])
        shares = np.abs(decompose(rows, _OPEN, _OPEN).null_space).max(axis=1, initial=0.0)
        return [v.name for v, share in zip(e.velocities, shares, strict=True) if share > _OPEN]


class _Comparison:
    def __init__(self, a: Equations, b: Equations, shared: _Shared) -> None:
        self.a, self.b, self.shared = _Side(a), _Side(b), shared
        self._starts = StartProblem(b, compiled=False)  # for a few states only
        self.name = f"{a.name} against {b.name}"

    def certificate(self, states: int, seed: int) -> Certificate:
        a, b = self.a.e, self.b.e
        instants, avoided = random_states(a, states, seed)
        matched: list[tuple[SampleState, SampleState]] = []
        for instant in map(self._with_shared_inputs, instants):
            ours = self.a.values_at(instant)
            try:
                matched.append((instant, self._matched(instant, ours)))
            except StartError as problem:
                line = Line("states", np.inf, AGREEMENT, self._configuration(ours))
                verdict = f"no state of {b.name} matches one of {a.name}: {problem}"
                return Certificate(self.name, (a.name, b.name), 1, (line,), verdict, tuple(avoided), UNDECIDED)
        matched_states, aside = self._matched_states(matched)
        lines = self._lines(matched_states)
        reason = self._potentials_differ_by_loads(lines, matched_states)
        if reason:
            lines = [line for line in lines if line.what != POTENTIAL]
        verdict, away = self._verdict(lines), (*avoided, *aside)
        undecided = (*UNDECIDED, *([reason] if reason else []))
        return Certificate(self.name, (a.name, b.name), len(matched_states), tuple(lines), verdict, away, undecided)

    def _configuration(self, ours: _Values) -> dict[str, float]:
        return {pair.first: ours.values[pair.first] for pair in self.shared.motion}

    def _matched_states(
        self, matched: list[tuple[SampleState, SampleState]]
    ) -> tuple[list[_MatchedStates], list[AvoidedSingularity]]:
        """Values of both at the states at which neither is singular."""
        usual = TypicalScales.of(self.b.e, [other for _, other in matched])
        matched_states: list[_MatchedStates] = []
        aside: dict[str, int] = {}
        for instant, other in matched:
            other = replace(other, condition=usual.condition(other))
            why = usual.singular(other)
            if why:
                aside[why] = aside.get(why, 0) + 1
                continue
            ours = self.a.values_at(instant)
            matched_states.append(
                _MatchedStates(
                    ours, self.b.values_at(other), max(instant.condition, other.condition, 1.0), self._configuration(ours)
                )
            )
        if not matched_states:
            raise ModelError(f"{self.b.e.name} is singular at all tested states of {self.a.e.name}: {'; '.join(aside)}")
        return matched_states, [AvoidedSingularity(what, count) for what, count in aside.items()]

    def _check_determined(self, other: SampleState, wanted: list[str]) -> None:
        open_ = self.b.left_open(other, wanted)
        if open_:
            raise ArgumentError(
                f"the common names of {self.a.e.name} and {self.b.e.name} do not determine {', '.join(open_)} of the second, so "
                "that its states cannot be matched; add outputs of these names to the first, or relate names: "
                "names={name in the first: name in the second}"
            )

    def _with_shared_inputs(self, i: SampleState) -> SampleState:
        """The same state, with inputs that only one description has set to zero."""
        known = {pair.first for pair in self.shared.inputs}
        u = np.array([value if quantity.name in known else 0.0 for quantity, value in zip(self.a.e.inputs, i.u, strict=True)])
        return SampleState(i.t, i.q, i.v, i.x, u, i.condition)

    def _matched(self, i: SampleState, ours: _Values) -> SampleState:
        """The state of the second in which all common quantities have the same values."""
        inputs = dict(zip((q.name for q in self.a.e.inputs), i.u.tolist(), strict=True))
        given = {pair.second: pair.sign * inputs[pair.first] for pair in self.shared.inputs}
        targets = {pair.second: pair.sign * ours.values[pair.first] for pair in self.shared.motion}
        u = np.array([given.get(q.name, 0.0) for q in self.b.e.inputs])
        other = nearest_state(self.b.motion, targets, i.t, u)
        if other is None:
            start = consistent_start(self._starts, targets, inputs=given, time=i.t)
            other = SampleState(i.t, start.q, start.v, start.x, u)
        self._check_determined(other, list(targets))
        return other

    # ---------------------------------------------------------------- lines

    def _lines(self, matched_states: list[_MatchedStates]) -> list[Line]:
        faster = tuple(pair for pair in self.shared.motion if self.a.by_velocity[pair.first] or self.b.by_velocity[pair.second])
        slower = tuple(pair for pair in self.shared.motion if pair not in faster)
        powers = tuple(_Pair(p.first, p.second) for p in self.shared.inputs)  # the sign appears in both factors
        kinds = {
            "velocities": ("rates", slower),
            "accelerations": ("rates", faster),
            "reactions": ("forces", self.shared.forces),
            "power of inputs": ("powers", powers),
        }
        lines = [_line(what, slot, shared, matched_states) for what, (slot, shared) in kinds.items() if shared]
        return [*lines, *_energies(matched_states)]

    def _potentials_differ_by_loads(self, lines: list[Line], matched_states: list[_MatchedStates]) -> str:
        """Why the potential energies are not comparable, or "".

        Where all else agrees and loads do different work, one description has a potential for a force that the other has as a
        load: gravity as a force, say. Potentials in a constant ratio are of the same forces, and one of them is wrong.
        """
        failing = [line.what for line in lines if not line.holds]
        if failing != [POTENTIAL]:
            return ""
        sides = [[m.ours for m in matched_states], [m.theirs for m in matched_states]]
        potentials = [np.array([values.energy[1] for values in side]) for side in sides]
        potentials = [v - v.mean() for v in potentials]
        powers = [np.array([values.load_power for values in side]) for side in sides]
        sizes = [float(np.linalg.norm(v)) for v in potentials]
        largest = max(sizes)
        if np.abs(powers[0] - powers[1]).max() <= AGREEMENT * max(float(np.abs(powers).max()), 1e-300):
            return ""
        names = (self.a.e.name, self.b.e.name)
        if min(sizes) <= AGREEMENT * largest:
            none, other = names if sizes[0] < sizes[1] else names[::-1]
            return f"the potential energy: not comparable, {none} has none and counts as work of loads what {other} counts there"
        if abs(float(potentials[0] @ potentials[1])) >= (1 - AGREEMENT) * sizes[0] * sizes[1]:
            return ""
        return f"the potential energy: not comparable, {names[0]} and {names[1]} count different forces as loads, by their work"

    # ---------------------------------------------------------------- verdict

    def _verdict(self, lines: list[Line]) -> str:
        named = ", ".join(p.first for p in self.shared.motion if self.a.by_velocity[p.first] or self.b.by_velocity[p.second])
        failing = [line.what for line in lines if not line.holds]
        if not failing:
            return f"the two descriptions agree on the accelerations of {named}"
        theirs = {p.name: p.default for p in self.b.e.parameters}
        apart_ = [p for p in self.a.e.parameters if p.name in theirs and theirs[p.name] != p.default]
        hint = "".join(
            f"; parameter {p.name!r} is {p.default:g} in the first and {theirs[p.name]:g} in the second" for p in apart_
        )
        return f"the two descriptions disagree: {', '.join(failing)}{hint}. The comparison cannot decide which of them is wrong"


def _line(what: str, slot: str, shared: tuple[_Pair, ...], matched_states: list[_MatchedStates]) -> Line:
    """Each quantity is compared relative to its largest magnitude over the states; the line names the one that differs most."""
    ours = np.array([[getattr(m.ours, slot)[p.first] for p in shared] for m in matched_states])
    theirs = np.array([[p.sign * getattr(m.theirs, slot)[p.second] for p in shared] for m in matched_states])
    sizes = np.maximum(np.abs(ours).max(axis=0), np.abs(theirs).max(axis=0))
    sizes = np.maximum(sizes, max(_NOTHING * float(sizes.max()), 1e-300))
    found = np.where(np.isfinite(ours - theirs), np.abs(ours - theirs) / sizes, np.inf)
    conditions = [m.condition for m in matched_states]
    line = worst_line(what, found.max(axis=1).tolist(), conditions, [m.place for m in matched_states])
    column = int(np.argmax((found / np.array(conditions)[:, None]).max(axis=0)))
    return line if line.holds else replace(line, what=f"{what} ({shared[column].first})")


def _energies(matched_states: list[_MatchedStates]) -> list[Line]:
    """Kinetic and potential energy, where both have them; potentials may have different references."""
    if not all(len(m.ours.energy) and len(m.theirs.energy) for m in matched_states):
        return []
    ours, theirs = np.array([m.ours.energy for m in matched_states]), np.array([m.theirs.energy for m in matched_states])
    ours[:, 1] -= ours[0, 1]
    theirs[:, 1] -= theirs[0, 1]
    # a potential is rounded relative to all energies, a kinetic energy relative to itself
    sizes = [max(float(np.abs(ours[:, :last]).max()), 1e-300) for last in (1, 2)]
    lines = []
    for k, (what, size) in enumerate(zip(("kinetic energy", POTENTIAL), sizes, strict=True)):
        amounts = [relative_difference(one[k : k + 1], two[k : k + 1], size) for one, two in zip(ours, theirs, strict=True)]
        lines.append(worst_line(what, amounts, [m.condition for m in matched_states], [m.place for m in matched_states]))
    return lines
