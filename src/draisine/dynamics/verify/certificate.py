"""Certification of a description by independent derivations.

`certify_roads(model)` evaluates every derivation that applies (`derivations`) at random admissible states and compares
accelerations, reactions, energies, the power balance, the constraints' derivatives, and the exact Jacobian with complex steps and
central differences. An error in the description itself is detected by none of them; `certify(a, against=b)` is for that.

Two families of derivations share nothing but the description. Where they disagree, the accelerations of each are tested against
the power balance of the energies on which both agree: the family that violates it is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.verify.agreement import (
    AGREEMENT,
    DIFFERENCES,
    AvoidedSingularity,
    Certificate,
    Line,
    relative_difference,
    worst_line,
)
from draisine.dynamics.verify.derivations import ENERGIES, FAMILIES, NEWTON_EULER, DerivationResult, Derivations, State
from draisine.dynamics.verify.single_derivation import DerivativeCheck, power_gap
from draisine.errors import ArgumentError
from draisine.model.model import Model
from draisine.model.system import System

Reals = NDArray[np.float64]

SHARED = (
    "an error in the description itself, which all derivations share; describe the mechanism a second time and compare: "
    "certify(model, against=other)"
)


def certify_derivations(model: Model | System, states: int = 12, seed: int = 1817) -> Certificate:
    """Compare the derivations of one description at random admissible states."""
    if states < 1:
        raise ArgumentError(f"states: at least one is needed to compare anything, got {states}")
    derivations = Derivations(model.freeze() if isinstance(model, Model) else model)
    sampled, avoided = derivations.sample(states, seed)
    return compare_derivations(derivations, sampled, avoided)


def compare_derivations(
    derivations: Derivations, states: list[State], avoided: list[AvoidedSingularity] | None = None
) -> Certificate:
    """Compare each derivation with the first, and with conditions that any correct result must satisfy."""
    return _Comparison(derivations, states).certificate(tuple(avoided or ()))


@dataclass(frozen=True, eq=False)
class _Comparison:
    derivations: Derivations
    states: list[State]

    def certificate(self, avoided: tuple[AvoidedSingularity, ...]) -> Certificate:
        lines = [*self._between_derivations(), *self._energies(), *self._balances(), *self._jacobians()]
        names = tuple(self.derivations.derivations)
        undecided = [SHARED]
        if self.derivations.energies is None:
            undecided.insert(
                0,
                f"an error in the kinematics or contact rows, which {' and '.join(names)} share: the derivations from "
                f"energies do not apply ({self.derivations.no_energies})",
            )
        verdict, open_ = self._verdict(lines)
        reported = (*open_, *undecided)
        return Certificate(self.derivations.system.name, names, len(self.states), tuple(lines), verdict, avoided, reported)

    @cached_property
    def answers(self) -> list[dict[str, DerivationResult]]:
        return [{derivation: ask(state) for derivation, ask in self.derivations.derivations.items()} for state in self.states]

    def _line(self, what: str, found: Callable[[State, dict[str, DerivationResult]], float], allowed: float = AGREEMENT) -> Line:
        scope = self.derivations.mechanism.scope
        names = [*scope.coordinates, *scope.velocities]
        places = [dict(zip(names, [*s.q.tolist(), *s.v.tolist()], strict=True)) for s in self.states]
        amounts = [found(s, a) for s, a in zip(self.states, self.answers, strict=True)]
        return worst_line(what, amounts, [s.condition for s in self.states], places, allowed)

    # ---------------------------------------------------------------- lines

    def _between_derivations(self) -> list[Line]:
        lines = []
        for derivation in list(self.derivations.derivations)[1:]:
            lines.append(self._line(f"accelerations: {derivation}", partial(self._accelerations, derivation)))
            answer = self.answers[0][derivation]
            if answer.forces.size and any(self.derivations.unique(s).any() for s in self.states):
                lines.append(self._line(f"contact forces: {derivation}", partial(self._forces, derivation)))
            if answer.together.size and self.derivations.mechanism.selection.redundant:
                lines.append(self._line(f"resultant forces (Aᵀλ): {derivation}", partial(self._together, derivation)))
        return lines

    def _accelerations(self, derivation: str, state: State, answers: dict[str, DerivationResult]) -> float:
        return _accelerations(state, answers, self.derivations.first, derivation)

    def _together(self, derivation: str, _: State, answers: dict[str, DerivationResult]) -> float:
        return relative_difference(answers[self.derivations.first].together, answers[derivation].together)

    def _forces(self, derivation: str, state: State, answers: dict[str, DerivationResult]) -> float:
        """Contact forces that are unique."""
        unique = self.derivations.unique(state)
        first = answers[self.derivations.first]
        return relative_difference(
            first.forces[unique], answers[derivation].forces[unique], self.derivations.no_force(state, first.accelerations)
        )

    def _energies(self) -> list[Line]:
        """Kinetic and potential energy of the two families."""
        e = self.derivations.energies
        if e is None:
            return []
        function = ca.Function("energies", [e.t, e.q, e.v, e.p], [ca.vertcat(e.kinetic, e.potential)])

        def pair(state: State) -> tuple[Reals, Reals]:
            q, v = self.derivations.angle_states.motion(state.q, state.v)
            return self.derivations.energy(state), function(state.t, q, v, self.derivations.p).full()[:, 0]

        pairs = [pair(state) for state in self.states]
        scale = [float(max(np.abs(a[k]) for a, _ in pairs)) for k in (0, 1)]
        found = {id(s): pair for s, pair in zip(self.states, pairs, strict=True)}

        def differ(k: int) -> Callable[[State, dict[str, DerivationResult]], float]:
            return lambda s, _: relative_difference(found[id(s)][0][k : k + 1], found[id(s)][1][k : k + 1], max(scale[k], 1e-300))

        return [
            self._line("mass matrix", lambda s, _: self._mass(s)),
            self._line("kinetic energy", differ(0)),
            self._line("potential energy", differ(1)),
        ]

    def _mass(self, state: State) -> float:
        """Kinetic energy as a function of all velocities, admissible or not."""
        reported = self.derivations.matrices(state)
        by_rates = self.derivations.angle_states.map(reported["q"])
        return relative_difference(by_rates.T @ self.derivations.mass(state)[0] @ by_rates, reported["M"])

    def _balances(self) -> list[Line]:
        """Power balance and constraints' derivatives, the worst of all derivations."""
        if self.derivations.energies is None:
            return [self._line("power balance", lambda s, _: self._power_of_report(s))]
        lines = [self._line("power balance", lambda s, a: max(self._power(s, a[derivation]) for derivation in a))]
        if self.derivations.energies.rows[0].shape[0]:
            lines.append(self._line("constraints", lambda s, _: self._constraints(s)))
            lines.append(
                self._line(
                    "constraints' derivatives", lambda s, a: max(self._constraint_rate(s, a[derivation]) for derivation in a)
                )
            )
        return lines

    def _jacobians(self) -> list[Line]:
        jacobian = DerivativeCheck(self.derivations.equations.explicit)

        def arguments(state: State) -> tuple[Any, ...]:
            return [state.t], self.derivations.state_of(state), state.u, self.derivations.p

        return [
            self._line("Jacobian against complex step", lambda s, _: jacobian.against_complex_step(arguments(s))),
            self._line("Jacobian against differences", lambda s, _: jacobian.against_differences(arguments(s)), DIFFERENCES),
        ]

    # ---------------------------------------------------------------- conditions on any correct result

    @cached_property
    def _balance(self) -> ca.Function:
        """(t, q, v, v̇, u, p) in angles → growth of T + V, power of inputs and dampers, a scale, momentum."""
        e = self.derivations.energies
        assert e is not None
        change = ca.SX.sym("change", e.v.numel())
        total = e.kinetic + e.potential
        grows = ca.jtimes(total, e.q, e.v) + ca.jtimes(total, e.v, change) + ca.jacobian(total, e.t)
        # a spring with a driven rest length does work too
        given = ca.dot(e.driven, e.v) + ca.jacobian(total, e.t)
        by_position = ca.gradient(e.potential, e.q)
        size = ca.dot(ca.fabs(by_position), ca.fabs(e.v)) + ca.dot(ca.fabs(e.mass @ e.v), ca.fabs(change))
        return ca.Function("balance", [e.t, e.q, e.v, change, e.u, e.p], [grows, given, size, e.mass @ e.v])

    def _power(self, state: State, answer: DerivationResult) -> float:
        """d/dt (T + V) against the power of inputs, dampers and moving constraints, in the energies of the second family."""
        angle_states = self.derivations.angle_states
        q, v = angle_states.motion(state.q, state.v)
        change = angle_states.accelerations(q, v, answer.accelerations)
        *numbers, momentum = self._balance(state.t, q, v, change, state.u, self.derivations.p)
        grown, power, scale = (float(x) for x in numbers)
        gap = abs(grown - power - self.derivations.moving_power(state))
        size = max(scale, _least(state) * float(np.abs(momentum.full()).max(initial=0.0)), 1e-300)
        return gap / size if np.isfinite(gap) else np.inf

    def _power_of_report(self, state: State) -> float:
        """The same in the energies of the first family, by differentiating its report along the motion."""
        return power_gap(
            self.derivations.equations, state.t, self.derivations.state_of(state), state.u, self.derivations.p
        ).relative

    def _constraints(self, state: State) -> float:
        """Whether velocities that one family admits are admitted by the other: D q̇ + d₀."""
        e = self.derivations.energies
        assert e is not None
        reported = self.derivations.matrices(state)
        drift = ca.Function("drift", [e.t, e.q, e.p], [ca.densify(e.drift)])(state.t, reported["q"], self.derivations.p).full()[
            :, 0
        ]
        size = float((np.abs(reported["D"]) @ np.abs(reported["v"]) + np.abs(drift)).max())
        # rows that do not constrain the motion leave only rounding errors
        least = max(1e-6 * float(np.abs(reported["v"]).max(initial=0.0)), 1e-300)
        return float(np.abs(reported["D"] @ reported["v"] + drift).max()) / max(size, least)

    def _constraint_rate(self, state: State, answer: DerivationResult) -> float:
        """D q̈ − b of the second family."""
        reported = self.derivations.matrices(state)
        change = self.derivations.angle_states.accelerations(reported["q"], reported["v"], answer.accelerations)
        size = float((np.abs(reported["D"]) @ np.abs(change) + np.abs(reported["b"])).max())
        return float(np.abs(reported["D"] @ change - reported["b"]).max()) / max(size, _least(state))

    # ---------------------------------------------------------------- verdict

    def _agree(self, a: str, b: str) -> bool:
        pairs = zip(self.answers, self.states, strict=True)
        return max(_accelerations(s, x, a, b) / max(s.condition, 1.0) for x, s in pairs) <= AGREEMENT

    def _verdict(self, lines: list[Line]) -> tuple[str, tuple[str, ...]]:
        """Which derivations disagree, and what cannot be decided."""
        names = list(self.derivations.derivations)
        if all(line.holds for line in lines):
            return "all derivations agree", ()
        failing = [line.what for line in lines if not line.holds]
        if all(self._agree(names[0], n) for n in names[1:]):
            return f"all derivations give the same accelerations, but these checks fail: {', '.join(failing)}", ()
        for odd in names:
            rest = [n for n in names if n != odd]
            if len(rest) >= 2 and all(self._agree(rest[0], n) for n in rest[1:]) and not self._agree(odd, rest[0]):
                return f"the derivation {odd!r} disagrees with the others, which agree among themselves ({', '.join(rest)})", ()
        if len(names) == 2:
            verdict = f"the derivations {names[0]!r} and {names[1]!r} disagree in their accelerations"
            return verdict, ("which of the two derivations is wrong",)
        families = {f: [n for n in names if FAMILIES[n] == f] for f in dict.fromkeys(FAMILIES[n] for n in names)}
        if all(self._agree(group[0], n) for group in families.values() for n in group):
            return self._between_families(families, failing)
        return f"the accelerations do not single out one derivation; failing: {', '.join(failing)}", (
            "which derivations are wrong",
        )

    def _between_families(self, families: dict[str, list[str]], failing: list[str]) -> tuple[str, tuple[str, ...]]:
        groups = {family: f"{family} ({', '.join(group)})" for family, group in families.items()}
        both = " and ".join(groups.values())
        differ = [what for what in ("mass matrix", "kinetic energy", "potential energy", "constraints") if what in failing]
        if differ == ["mass matrix"]:
            return (
                f"{both} each agree within themselves but not with each other; their kinetic energies agree where the "
                "constraints are satisfied and differ elsewhere: in one of them the constraints were substituted before "
                "differentiation"
            ), (f"which of {both} is wrong",)
        if not differ:
            keeps = {family: self._keeps_balance(group[0]) for family, group in families.items()}
            for wrong, right in ((ENERGIES, NEWTON_EULER), (NEWTON_EULER, ENERGIES)):
                if keeps[right] and not keeps[wrong]:
                    return (
                        f"the derivations by {groups[wrong]} disagree with those by {groups[right]}, and violate the power "
                        f"balance of the energies on which both agree: the error is in the derivations by {wrong}"
                    ), ()
        hint = f"; they already differ in: {', '.join(differ)}" if differ else ""
        return f"{both} each agree within themselves but not with each other{hint}", (f"which of {both} is wrong",)

    def _keeps_balance(self, derivation: str) -> bool:
        pairs = zip(self.states, self.answers, strict=True)
        return max(self._power(s, a[derivation]) / max(s.condition, 1.0) for s, a in pairs) <= AGREEMENT


def _accelerations(state: State, answers: dict[str, DerivationResult], a: str, b: str) -> float:
    return relative_difference(answers[a].accelerations, answers[b].accelerations, _least(state))


def _least(state: State) -> float:
    """Scale below which accelerations are rounding errors of velocity products, as in a steady motion."""
    return max(1e-3 * float(np.abs(state.v).max(initial=0.0)) ** 2, 1e-300)
