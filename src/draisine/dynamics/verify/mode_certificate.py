"""Certificates of equations in given modes of their contacts: some stick, some slip, some are open.

The equations that runs evaluate, with all modes in one system (`dynamics/augmented/contact_modes.py`), are compared with a
derivation that shares nothing with them but the description: Euler–Lagrange in Euler angles (`dynamics/lagrangian`) of the
mechanism whose closed contacts are permanent. It has M, the forces, and the rows D of normals and tangential velocities; with
Coulomb's law for the contacts that slip,

    M q̈ = f + Σ D_nᵀ N + Σ_stick D_tᵀ T − Σ_slip D_tᵀ μ N s/|s|,   D_n q̈ = b_n,   D_t q̈ = b_t where a contact sticks,

with s = D_t q̇ and the kinetic coefficient μ, or −F s/|s| for dry friction of a given force.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.derive import derive
from draisine.dynamics.lagrangian.energies import Energies
from draisine.dynamics.lagrangian.euler_angles import CLEAR, EulerAngleStates, coordinate_singularities
from draisine.dynamics.mechanism import Mechanism
from draisine.dynamics.verify.agreement import AvoidedSingularity, Certificate, Line, relative_difference, worst_line
from draisine.dynamics.verify.certificate import SHARED
from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import did_you_mean, evaluate_number
from draisine.expr.tree import names
from draisine.model.contact.dry_friction import SLIP, DryFriction
from draisine.model.contact_items import MODE_ENTRIES, ContactResistance
from draisine.model.contact_modes import in_modes
from draisine.model.items import ALL
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.equations import Equations, Unilateral

Reals = NDArray[np.float64]

MODES = ("open", "slip", "stick")
_PROJECTIONS = 12
_ON_CONSTRAINTS = 1e-9
_LEAST_SLIP = 1e-3  # m/s: states with less have no clear direction of slip
_ROUNDS = 8
_SINGULAR = 1e10  # condition of the judge's system above which accelerations are not determined


class _State(NamedTuple):
    q: Reals
    v: Reals
    x: Reals
    u: Reals
    p: Reals  # with the modes
    t: float


class _Judged(NamedTuple):
    accelerations: Reals
    normal: Reals  # forces of closed contacts
    tangential: Reals  # their sizes
    power: float  # of friction at contacts that slip
    condition: float


def certify_modes(model: Model | System, modes: Mapping[str, str], count: int = 12, seed: int = 1817) -> Certificate:
    """Compare the equations of a model in given modes with Coulomb's law in the derivation from energies."""
    return _InModes(model.freeze() if isinstance(model, Model) else model, modes).certificate(count, seed)


class _InModes:
    def __init__(self, system: System, modes: Mapping[str, str]) -> None:
        self.system, self.modes = system, dict(modes)
        self._check()
        self.equations: Equations = derive(system)
        # the mechanism with permanent contacts in place of all closed ones, whose rows are those of slips, too
        self.closed = in_modes(system, {name: "open" if mode == "open" else "stick" for name, mode in self.modes.items()})
        self.energies = Energies(self.closed)
        self.matrices = self.energies.matrices()
        self.p = np.array([p.default for p in self.equations.parameters])
        self.angle_states = EulerAngleStates(self.closed, self.energies, self.p)
        heights, rolling = self.energies.constraints
        self.given: set[str] = set()  # contacts whose coefficients are those of the equations
        self.rows = {name: k for k, (name, _) in enumerate((*heights, *rolling))}

    def _check(self) -> None:
        where, known = f"modes of model {self.system.name!r}", {c.name: c for c in self.system.unilateral}
        for name, mode in self.modes.items():
            if name not in known:
                raise ArgumentError(
                    f"{where}: no contact {name!r} opens and slips (there are {', '.join(known)}){did_you_mean(name, known)}"
                )
            if mode not in MODES:
                raise ArgumentError(f"{where}: the mode of contact {name!r} is 'stick', 'slip' or 'open', got {mode!r}")
            if mode == "slip" and getattr(known[name], "across", None) is not None:
                raise ArgumentError(
                    f"{where}: {name!r} has other friction across its track; slips of such contacts are not certified"
                )
            if mode == "slip" and hasattr(known[name], "bound"):
                raise ArgumentError(f"{where}: stop {name!r} has no friction; it is 'stick' while it is closed, or 'open'")
            law = getattr(known[name], "friction", None)
            if mode == "slip" and isinstance(law, DryFriction) and law.kinetic is None:
                raise ArgumentError(f"{where}: {name!r} has infinite friction and does not slip")
            if mode != "open" and isinstance(known[name], ContactResistance):
                raise ArgumentError(f"{where}: resistance {name!r} is not certified; leave it out: {{{name!r}: 'open'}}")
        missing = [name for name in known if name not in self.modes]
        if missing:
            raise ArgumentError(f"{where}: give the modes of all contacts; those of {', '.join(missing)} are missing")

    # ---------------------------------------------------------------- states

    def _states(self, count: int, seed: int) -> tuple[list[_State], list[AvoidedSingularity]]:
        """Random states that satisfy the constraints of the modes, with slips where contacts slip."""
        e, rng, found = self.equations, np.random.default_rng(seed), list[_State]()
        singularities = coordinate_singularities(self.closed, self.energies, self.p)
        rejected: dict[str, int] = {}
        mechanism = Mechanism(self.system)
        for turn in range(_ROUNDS):
            for q, t in list(zip(*mechanism.configurations(4 * count, seed + turn), strict=True))[1:]:
                x = np.concatenate([q, 2.0 * rng.normal(size=len(e.velocities)), np.zeros(len(e.extra_states))])
                state = self._admissible(x, rng.normal(size=len(e.inputs)), float(t))
                if state is None:
                    continue
                angles = self.angle_states.coordinates(state.q)
                near = [one.what for one in singularities if one.distance(angles, self.p) < CLEAR]
                for what in near:
                    rejected[what] = rejected.get(what, 0) + 1
                if not near:
                    found.append(state)
                if len(found) == count:
                    return found, [AvoidedSingularity(what, n) for what, n in rejected.items()]
        if not found:
            raise ModelError(f"model {self.system.name!r}: no state was found in the modes {self.modes}")
        return found, [AvoidedSingularity(what, n) for what, n in rejected.items()]

    def _admissible(self, x: Reals, u: Reals, t: float) -> _State | None:
        e = self.equations
        p = np.concatenate([self.p, np.zeros(MODE_ENTRIES * len(e.unilateral))])
        entries = p[len(self.p) :].reshape(-1, MODE_ENTRIES)
        for contact, entry in zip(e.unilateral, entries, strict=True):
            mode = self.modes[contact.name]
            entry[0], entry[1], entry[6] = mode != "open", mode == "stick", mode == "slip"
            entry[2] = mode == "slip"
        for _ in range(_PROJECTIONS if e.project is not None else 0):
            new, error = e.project([t], x, u, p)  # type: ignore[misc]
            if not np.isfinite(new).all():
                return None
            x = np.asarray(new)
            if error[0] < 1e-14:
                break
        else:
            if e.project is not None and error[0] > _ON_CONSTRAINTS:
                return None
        speed = self._terms(x, u, p, t)["speed"]
        for contact, entry in zip(e.unilateral, entries, strict=True):
            if self.modes[contact.name] != "slip" or not contact.count:
                continue
            slip = speed[contact.tangential : contact.tangential + contact.count]
            if not np.linalg.norm(slip) > _LEAST_SLIP:
                return None
            entry[2 : 2 + contact.count] = slip / np.linalg.norm(slip)
        n = len(e.coordinates)
        return _State(x[:n], x[n : n + len(e.velocities)], x, u, p, t)

    def _terms(self, x: Reals, u: Reals, p: Reals, t: float) -> dict[str, Reals]:
        program = self.equations.contact_terms
        assert program is not None
        return dict(zip((s.name for s in program.outputs), map(np.atleast_1d, program([t], x, u, p)), strict=True))

    # ---------------------------------------------------------------- the judge

    def _judge(self, s: _State) -> _Judged:
        q, v = self.angle_states.motion(s.q, s.v)
        values = self.matrices([s.t], q, v, s.u, self.p)
        found: dict[str, Reals] = dict(zip((o.name for o in self.matrices.outputs), values, strict=True))
        n = len(q)
        mass, rows, bias = found["M"].reshape(n, n), found["D"].reshape(-1, n), found["b"]
        force = found["Q"] - found["C"].reshape(n, n) @ v - found["g"]
        drift = self._drift(s.t, q)
        coefficients = self._terms(s.x, s.u, s.p, s.t)["coefficients"].reshape(-1, 3)
        permanent = {k for name, k in self.rows.items() if not self._is_of_contact(name)}
        pushed = {k: rows[k].copy() for k in permanent}  # generalized force of a unit multiplier
        slips: dict[str, tuple[Reals, float]] = {}  # velocity, force per normal force or force
        for contact, (_, kinetic, _) in zip(self.equations.unilateral, coefficients, strict=True):
            mode = self.modes[contact.name]
            if mode == "open":
                continue
            normal, tangential = self._rows_of(contact)
            pushed |= {k: rows[k].copy() for k in ([] if normal is None else [normal]) + (tangential if mode == "stick" else [])}
            if mode == "slip":
                slip = rows[tangential] @ v + drift[tangential]
                kinetic = self._kinetic(contact.name, s, float(np.linalg.norm(slip)), float(kinetic))
                slips[contact.name] = slip, kinetic
                away = rows[tangential].T @ slip / np.linalg.norm(slip)
                if normal is None:
                    force = force - kinetic * away
                else:
                    pushed[normal] -= kinetic * away
        index = sorted(pushed)
        k = len(index)
        big = np.block([[mass, -np.array([pushed[i] for i in index]).reshape(k, n).T], [rows[index], np.zeros((k, k))]])
        sizes = np.abs(big).max(axis=1, initial=1e-300)
        solved = np.linalg.solve(big / sizes[:, None], np.concatenate([force, bias[index]]) / sizes)
        forces = dict(zip(index, solved[n:], strict=True))
        return self._judged(s, q, v, solved[:n], forces, slips, float(np.linalg.cond(big / sizes[:, None])))

    def _judged(
        self,
        s: _State,
        q: Reals,
        v: Reals,
        change: Reals,
        forces: dict[int, float],
        slips: dict[str, tuple[Reals, float]],
        condition: float,
    ) -> _Judged:
        normals, sizes, power = list[float](), list[float](), 0.0
        for contact in self.equations.unilateral:
            if self.modes[contact.name] == "open":
                continue
            normal, tangential = self._rows_of(contact)
            load = 1.0 if normal is None else forces[normal]
            normals += [] if normal is None else [load]
            if contact.name in slips:
                slip, kinetic = slips[contact.name]
                power -= kinetic * load * float(np.linalg.norm(slip))
                sizes.append(abs(kinetic * load))
            elif tangential:
                sizes.append(float(np.linalg.norm([forces[k] for k in tangential])))
        accelerations = self.angle_states.back(q, v, change)
        return _Judged(np.asarray(accelerations), np.array(normals), np.array(sizes), power, condition)

    def _kinetic(self, contact: str, s: _State, slip: float, otherwise: float) -> float:
        """The coefficient, or force, of the description; that of the equations where it depends on places or on the ground."""
        law = next(c.friction for c in self.system.unilateral if c.name == contact)
        e, expression = self.equations, None if law is None else law.kinetic
        known = {q.name: value for q, value in zip((*e.parameters, *e.inputs), (*self.p, *s.u), strict=True)}
        known |= {"t": s.t, SLIP: slip}
        if expression is None or not names(expression) <= {*known} or self.system.ground.friction != ALL:
            self.given.add(contact)
            return otherwise
        return evaluate_number(expression, known)

    def _drift(self, t: float, q: Reals) -> Reals:
        e = self.energies
        return np.asarray(ca.Function("drift", [e.t, e.q, e.p], [ca.densify(e.drift)])(t, q, self.p).full()[:, 0])

    def _is_of_contact(self, row: str) -> bool:
        return any(
            row in (f"{c.name}_height", f"{c.name}_normal", f"{c.name}_along", f"{c.name}_across")
            for c in self.equations.unilateral
        )

    def _rows_of(self, contact: Unilateral) -> tuple[int | None, list[int]]:
        """Rows of the derivation from energies: that of the normal, and tangential ones."""
        normal = [self.rows[name] for name in (f"{contact.name}_height", f"{contact.name}_normal") if name in self.rows]
        tangential = [self.rows[f"{contact.name}_{way}"] for way in ("along", "across") if f"{contact.name}_{way}" in self.rows]
        if len(normal) != (contact.normal >= 0) or len(tangential) != contact.count:
            raise ModelError(f"model {self.system.name!r}: contact {contact.name!r} has no rows of its own from positions")
        return (normal[0] if normal else None), tangential

    # ---------------------------------------------------------------- the certificate

    def _reported(self, s: _State) -> dict[str, Reals]:
        report = self.equations.report
        return dict(zip((o.name for o in report.outputs), report([s.t], s.x, s.u, s.p), strict=True))

    def certificate(self, count: int, seed: int) -> Certificate:
        states, avoided = self._states(count, seed)
        judged = [self._judge(s) for s in states]
        kept = [(s, j) for s, j in zip(states, judged, strict=True) if j.condition < _SINGULAR]
        if not kept:
            raise ModelError(
                f"model {self.system.name!r}: forces are not determined in the modes {self.modes}; leave "
                "contacts open that share loads"
            )
        if len(kept) < len(states):
            avoided.append(AvoidedSingularity("constraints of these modes that depend on each other", len(states) - len(kept)))
        lines = self._lines(kept)
        failing = [line.what for line in lines if not line.holds]
        listed = ", ".join(f"{name} {mode}" for name, mode in self.modes.items())
        verdict = f"these fail: {', '.join(failing)}" if failing else f"both derivations agree in the modes: {listed}"
        derivations = ("all modes", "energies with Coulomb's law")
        undecided: tuple[str, ...] = ("the laws by which modes change and impacts happen", SHARED)
        if self.given:
            undecided = (f"the coefficient of friction of {', '.join(sorted(self.given))}", *undecided)
        return Certificate(self.system.name, derivations, len(kept), tuple(lines), verdict, tuple(avoided), undecided)

    def _lines(self, kept: list[tuple[_State, _Judged]]) -> list[Line]:
        e = self.equations
        listed = [*(c.name for c in e.coordinates), *(v.name for v in e.velocities)]
        places = [dict(zip(listed, [*s.q.tolist(), *s.v.tolist()], strict=True)) for s, _ in kept]
        conditions = [1.0] * len(kept)
        found: dict[str, list[float]] = {}
        for s, judged in kept:
            reported = self._reported(s)
            forces = self._forces(reported["multipliers"])
            least = max(1e-3 * float(np.abs(s.v).max(initial=0.0)) ** 2, 1e-300)
            size = max(float(np.abs(judged.normal).max(initial=0.0)), float(np.abs(judged.tangential).max(initial=0.0)), 1e-300)
            amounts = {"accelerations": relative_difference(reported["vdot"], judged.accelerations, least)}
            if judged.normal.size:
                amounts["normal forces"] = relative_difference(forces[0], judged.normal, size)
            if judged.tangential.size:
                amounts["sizes of friction forces"] = relative_difference(forces[1], judged.tangential, size)
            if "slip" in self.modes.values():
                amounts["power of friction"] = self._power_gap(s, reported, judged)
            for what, amount in amounts.items():
                found.setdefault(what, []).append(amount)
        return [worst_line(what, amounts, conditions, places) for what, amounts in found.items()]

    def _forces(self, multipliers: Reals) -> tuple[Reals, Reals]:
        values = dict(zip((m.name for m in self.equations.multipliers), multipliers.tolist(), strict=True))
        normals, sizes = list[float](), list[float]()
        for contact in self.equations.unilateral:
            if self.modes[contact.name] == "open":
                continue
            normals += [values[f"{contact.name}_normal_multiplier"]] if contact.normal >= 0 else []
            ways = [values.get(f"{contact.name}_{way}_multiplier", 0.0) for way in ("along", "across")]
            sizes += [float(np.linalg.norm(ways))] if contact.count else []
        return np.array(normals), np.array(sizes)

    def _power_gap(self, s: _State, reported: dict[str, Reals], judged: _Judged) -> float:
        """Power of friction at contacts that slip: as reactions times slips of the first, and −μ N |s| of the second."""
        values = dict(zip((m.name for m in self.equations.multipliers), reported["multipliers"].tolist(), strict=True))
        speed, power = self._terms(s.x, s.u, s.p, s.t)["speed"], 0.0
        for contact in self.equations.unilateral:
            if self.modes[contact.name] == "slip":
                ways = ("along", "across")[: contact.count]
                forces = [values[f"{contact.name}_{way}_multiplier"] for way in ways]
                power += float(np.dot(forces, speed[contact.tangential : contact.tangential + contact.count]))
        return relative_difference(np.array([power]), np.array([judged.power]))
