"""A description in symbols: tree, contacts, constraint rows, masses, forces; and which velocities may stay independent."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.equations.choice import POOR, Judged, amplification, complements, dependent_rows, judge, plan_blocks
from draisine.equations.contacts import EdgeContact, Rows, WheelContact, edge_contact, height_of, rows_of, wheel_contact
from draisine.equations.forces import AppliedForces, applied_forces
from draisine.equations.inertia import Mass, masses_of
from draisine.equations.kinematics import directions
from draisine.equations.lowering import Scope
from draisine.equations.measures import Measures
from draisine.equations.reduction import Elimination
from draisine.equations.sampling import onto_constraints, sample_coordinates
from draisine.equations.tree import Link, grow
from draisine.equations.vectors import UNIT, Vec, is_zero
from draisine.model.items import Ball, Float, System
from draisine.model.validate import ModelError
from draisine.program.equations import Constraint, Kind
from draisine.program.expression import closest

SAMPLES = 64  # configurations at which choices of independent velocities are judged


class Mechanism:
    """A description in symbols: what does not depend on the choice of independent velocities."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.scope = scope = Scope(system)
        self.links: list[Link] = grow(system, scope)
        self.measures = Measures(scope, self.links)
        slope, bank = scope.value(system.ground.slope), scope.value(system.ground.bank)
        # The plane z = x tan(slope) + y tan(bank), by its unit normal.
        tilt = (-ca.sin(slope) * ca.cos(bank), -ca.cos(slope) * ca.sin(bank), ca.cos(slope) * ca.cos(bank))
        flat = all(t.is_zero() for t in tilt[:2])
        size = ca.SX(1) if flat else ca.sqrt(tilt[0] ** 2 + tilt[1] ** 2 + tilt[2] ** 2)
        self.world_normal: Vec = UNIT[2] if flat else tuple(t / size for t in tilt)  # type: ignore[assignment]
        self.up = directions(self.links, UNIT[2])
        normal = self.up if flat else directions(self.links, self.world_normal)
        by_name = {link.name: link for link in self.links}
        self.contacts: list[WheelContact | EdgeContact] = [
            *(wheel_contact(w, by_name[w.body], normal[w.body], scope) for w in system.wheels),
            *(edge_contact(e, by_name[e.body], normal[e.body], scope) for e in system.edges),
        ]
        # Blocks are eliminated in the order of the tree: contacts nearest the reference body first.
        self.contacts.sort(key=lambda c: len(c.link.path()))
        self.rows: list[Rows] = [rows_of(c) for c in self.contacts]
        self.row_names = [name for rows in self.rows for name in rows.names]
        self.masses: list[Mass] = masses_of(self.links, scope)
        self.gravity = scope.value(system.gravity)
        self.default_parameters = np.array([p.default for p in system.parameters])

    @cached_property
    def matrix(self) -> ca.SX:
        """A(q), rows × velocities."""
        matrix = ca.SX(len(self.row_names), len(self.scope.velocities))
        start = 0
        for rows in self.rows:
            for name, column in rows.columns.items():
                for i, entry in enumerate(column):
                    if not is_zero(entry):
                        matrix[start + i, self.scope.velocities.index(name)] = entry
            start += rows.count
        return matrix

    @cached_property
    def position_constraints(self) -> list[tuple[Constraint, ca.SX]]:
        """Heights of contacts above the ground, and norms of quaternions."""
        found = []
        for contact in self.contacts:
            height = height_of(contact, self.measures.poses, self.world_normal)
            if height is not None and not ca.depends_on(height, self.scope.q):
                self._check_standing(contact.name, height)
            elif height is not None:
                found.append((Constraint(f"{contact.name}_height", Kind.HOLONOMIC, "position", "m"), height))
        for joint in self.system.joints:
            for step in joint.chain:
                if isinstance(step, Float | Ball):
                    q = ca.vertcat(*[self.scope.symbol(n) for n in step.quaternion])
                    found.append((Constraint(f"{joint.child}_quaternion", Kind.NORM, "position"), (ca.sumsqr(q) - 1) / 2))
        return found

    def _check_standing(self, name: str, height: ca.SX) -> None:
        """A contact that nothing can lift must be on the ground as it is."""
        gap = float(ca.Function("gap", [self.scope.p], [height])(self.default_parameters))
        if abs(gap) > 1e-9:
            where = "above" if gap > 0 else "below"
            raise ModelError(
                f"model {self.system.name!r}: wheel {name!r} is {abs(gap):.4g} m {where} the ground and nothing can move it "
                "there; change its radius or the height of its hub"
            )

    @cached_property
    def forces(self) -> AppliedForces:
        return applied_forces(self.scope, self.measures)

    @cached_property
    def samples(self) -> NDArray[np.float64]:
        """Constraint matrices at configurations spread over where people go."""
        scope = self.scope
        residual = ca.vertcat(*[r for _, r in self.position_constraints])
        points = sample_coordinates(self.system, SAMPLES)
        points = onto_constraints(points, residual, scope.q, scope.p, self.default_parameters)
        if len(points) == 0:
            raise ModelError(
                f"model {self.system.name!r}: no configuration was found in which all its wheels touch the ground; "
                "check radii, hub positions and the spans of the joints"
            )
        evaluate = ca.Function("rows", [scope.q, scope.p], [ca.densify(self.matrix)]).map(len(points))
        values = evaluate(points.T, np.repeat(self.default_parameters[:, None], len(points), axis=1)).full()
        matrices = values.reshape(len(self.row_names), len(points), len(scope.velocities)).transpose(1, 0, 2)
        whole = np.isfinite(matrices).all(axis=(1, 2))
        if not whole.any():
            raise ModelError(
                f"model {self.system.name!r}: its wheels lie flat, or its knife edges stand on end, in every configuration; "
                "check their axes and directions"
            )
        return matrices[whole]

    @cached_property
    def choices(self) -> list[Judged]:
        velocities = self.scope.velocities
        if len(self.row_names) == 0:
            return [Judged(tuple(velocities), np.ones(1), 0)]
        units = np.array(
            [[bool(self.matrix[i, j].is_one()) for j in range(len(velocities))] for i in range(len(self.row_names))], dtype=bool
        )
        if len(self.row_names) > len(velocities):
            raise ModelError(
                f"model {self.system.name!r} has {len(self.row_names)} velocity constraints ({', '.join(self.row_names)}) but "
                f"only {len(velocities)} velocities; take a contact away"
            )
        judged = judge(self.samples, velocities, units)
        if not judged:
            self._explain_dependence()
        return judged

    def _explain_dependence(self) -> None:
        rank = int(np.linalg.matrix_rank(self.samples, tol=1e-9).max())
        taking_part = ", ".join(self.row_names[i] for i in dependent_rows(self.samples))
        raise ModelError(
            f"model {self.system.name!r}: only {rank} of its {len(self.row_names)} velocity constraints count; {taking_part} are "
            "dependent; take away the contact that repeats another or holds by itself, or give its body a freedom of its own"
        )

    def choose(self, wanted: tuple[str, ...]) -> tuple[Elimination, list[Judged], list[str]]:
        """The plan for the wanted independent velocities, or for the best; notes say what the user should know."""
        notes = []
        velocities = self.scope.velocities
        if wanted:
            self._check_wanted(wanted)
            ordered = tuple(v for v in velocities if v in wanted)
            amplified = amplification(self.samples, velocities, ordered) if self.row_names else np.ones(1)
            worst = float(amplified.max())
            if not np.isfinite(amplified).any():
                raise ModelError(
                    f"model {self.system.name!r}: ({', '.join(ordered)}) cannot be the independent velocities, since the "
                    "constraints leave the others undetermined in every configuration; "
                    f"({', '.join(self.choices[0].independent)}) would do"
                )
            others = [j for j in (self.choices if worst > POOR else []) if set(j.independent) != set(wanted)]
            if others and others[0].worst < worst:
                amount = f"{worst:.3g}" if np.isfinite(worst) else "infinitely many"
                notes.append(
                    f"the chosen independent velocities ({', '.join(ordered)}) amplify others up to {amount} times in some "
                    f"configurations; ({', '.join(others[0].independent)}) stays below {others[0].worst:.3g}"
                )
            independent = ordered
        else:
            independent = self.choices[0].independent
        groups, start = [], 0
        for rows in self.rows:
            groups.append(list(range(start, start + rows.count)))
            start += rows.count
        if not groups:
            return Elimination((), tuple(velocities)), [], notes
        plan = plan_blocks(self.samples, velocities, groups, independent, self._cost)
        return plan, self._alternates(independent), notes

    def _alternates(self, independent: tuple[str, ...]) -> list[Judged]:
        chosen = amplification(self.samples, self.scope.velocities, independent)
        return complements(chosen, [j for j in self.choices if set(j.independent) != set(independent)], count=3)

    def _cost(self, rows: Sequence[int], dependent: Sequence[str]) -> float:
        """Filled entries of the block, less those that are plain units."""
        columns = [self.scope.velocities.index(d) for d in dependent]
        entries = [self.matrix[r, c] for r in rows for c in columns]
        return float(sum(2 - (2 if e.is_zero() else 0) - (1 if e.is_one() else 0) for e in entries))

    def _check_wanted(self, wanted: tuple[str, ...]) -> None:
        velocities = self.scope.velocities
        for name in wanted:
            if name not in velocities:
                raise ModelError(f"model {self.system.name!r} has no velocity {name!r}{closest(name, velocities)}")
        count = len(velocities) - len(self.row_names)
        if len(set(wanted)) != count:
            raise ModelError(
                f"model {self.system.name!r} has {len(velocities)} velocities and {len(self.row_names)} velocity constraints: "
                f"choose {count} independent velocities, got {len(set(wanted))} ({', '.join(wanted)})"
            )
