"""A mechanism in symbols: tree, contacts, constraint rows, masses, forces, and the choice of independent velocities."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.constraints.configurations import MAX_SAMPLED_ROWS, ConfigurationSampler, sample_coordinates
from draisine.dynamics.constraints.degenerate import degenerate, degenerate_error, implied
from draisine.dynamics.constraints.redundancy import (
    RowSelection,
    check_consistent,
    select_rows,
)
from draisine.dynamics.constraints.row_choices import combinations_vary, generic, other_rows, quality, row_space
from draisine.dynamics.constraints.rows import (
    ResidualSystem,
    Rows,
    model_length,
    position_constraints_of,
    residual_rows,
    without_rounding,
)
from draisine.dynamics.contact.ground_contacts import WheelOnFeature, WheelOnGround
from draisine.dynamics.contact.joint_contacts import JointContact, JointStop, joint_contacts
from draisine.dynamics.contact.point_contacts import SphereOnCurvedGround
from draisine.dynamics.contact.residual_contacts import ResidualContact, residual_contacts
from draisine.dynamics.contact.resistances import ResistanceOfContact, contact_resistances
from draisine.dynamics.contact.rolling import (
    EdgeContact,
    WheelContact,
    contact_rows,
    edge_contact,
    height_above_ground,
    wheel_contact,
)
from draisine.dynamics.contact.second_contact import followed
from draisine.dynamics.contact.surface_pair import SurfacePair
from draisine.dynamics.contact.tire_contact import TireForce, TireOnGround
from draisine.dynamics.forces import AppliedForces, Tangential, applied_forces
from draisine.dynamics.kinematics.measures import Measures
from draisine.dynamics.kinematics.newton_euler import Mass, inverse_dynamics, masses_of
from draisine.dynamics.kinematics.tree import Link, build_tree
from draisine.dynamics.kinematics.twists import directions
from draisine.dynamics.linear_algebra import UNIT, ZERO, Vec, is_zero
from draisine.dynamics.lowering import Scope
from draisine.dynamics.reduced.independent_velocities import (
    POOR,
    VelocityChoice,
    alternates_for,
    amplification,
    plan_blocks,
    rank_choices,
)
from draisine.dynamics.reduced.reduction import EliminationPlan
from draisine.dynamics.templates import TemplateCache
from draisine.errors import ModelError
from draisine.expr.expression import did_you_mean
from draisine.model.contact.laws import Rolling
from draisine.model.contact.tires import Tire
from draisine.model.items import Ball, Float, ResidualConstraint
from draisine.model.system import System
from draisine.numerics.uniform_numbers import UniformNumbers
from draisine.program.equations import Constraint, Kind, Quantity

SAMPLES = 64  # configurations at which choices of independent velocities are compared
_PLACES = 1687  # seed of the places of free bodies
_AWAY = 9  # samples that need not be admissible, with which derivatives are compared


class Mechanism:
    """A description in symbols: everything that does not depend on the choice of independent velocities."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.scope = scope = Scope(system)
        self.links: list[Link] = build_tree(system, scope)
        self.templates = TemplateCache(len(self.links))
        self.measures = Measures(scope, self.links, self.templates)
        slope, bank = scope.value(system.ground.slope), scope.value(system.ground.bank)
        # The plane z = x tan(slope) + y tan(bank), by its unit normal.
        tilt = (-ca.sin(slope) * ca.cos(bank), -ca.cos(slope) * ca.sin(bank), ca.cos(slope) * ca.cos(bank))
        flat = all(t.is_zero() for t in tilt[:2])
        norm = ca.SX(1) if flat else ca.sqrt(tilt[0] ** 2 + tilt[1] ** 2 + tilt[2] ** 2)
        self.ground_normal: Vec = UNIT[2] if flat else tuple(t / norm for t in tilt)  # type: ignore[assignment]
        # gravity is −gravity · vertical
        size = system.downward_gravity
        self.gravity: ca.SX = ca.SX(1) if size is None else scope.value(size)
        self.vertical: Vec = UNIT[2] if size is not None else tuple(-scope.value(c) for c in system.gravity)  # type: ignore[assignment]
        self.up = directions(self.links, self.vertical, self.templates)
        upright = flat and self.vertical is UNIT[2]
        normal = self.up if upright else directions(self.links, self.ground_normal, self.templates)
        by_name = {link.name: link for link in self.links}
        self.contacts: list[WheelContact | EdgeContact] = [
            *(wheel_contact(w, by_name[w.body], normal[w.body], scope) for w in system.wheels if not system.touches(w)),
            *(edge_contact(e, by_name[e.body], normal[e.body], scope) for e in system.edges if system.ground.still),
        ]
        # Blocks are eliminated in the order of the tree: contacts nearest the reference body first.
        self.contacts.sort(key=lambda c: c.link.depth)
        self.default_parameters = np.array([p.default for p in system.arguments])
        self.residual_contacts, self.knife_edges = residual_contacts(self.measures)
        self.joint_contacts = joint_contacts(self.measures)
        self.resistances = contact_resistances([c for c in self._opening if not isinstance(c, SurfacePair)])
        for contact in (*self.residual_contacts, *self.knife_edges):
            if not isinstance(contact, SurfacePair) and contact.supported_by_joints:
                if isinstance(contact, WheelOnFeature):
                    raise ModelError(
                        f"model {system.name!r}: no coordinate changes the distance of a wheel from {contact.name!r} of the "
                        "ground profile; let its body move along x and z"
                    )
                self._check_fixed_height(contact.name, contact.gap[0])
        for contact in self.residual_contacts:
            if isinstance(contact, TireOnGround):  # relaxation states change by slip, and by a load that is no multiplier
                self.measures.lag_rates |= TireForce(contact, scope, None).rates
        self.residual_constraints: list[ResidualConstraint] = [
            *(
                constraint
                for contact in (*self.residual_contacts, *self.knife_edges)
                for constraint in contact.residual_constraints()
            ),
            *(c for contact in (*self.joint_contacts, *self.resistances) for c in contact.residual_constraints()),
            *system.constraints,
        ]
        self.length = model_length(system, scope, self.default_parameters)
        residuals = ResidualSystem(self.residual_constraints, self.measures)
        self.residual_rows = residual_rows(residuals, self.default_parameters, self.length)
        # residuals in which no coordinate enters, and which are zero
        known = {name for rows in self.residual_rows for name in rows.names}
        self.idle = [name for constraint in self.residual_constraints for name, _ in constraint.residuals if name not in known]
        self.parametric_residuals = residuals.parametric(self.idle)
        self.laws = [self._law(c) for c in self.residual_contacts if c.law is not None and not isinstance(c.law, Rolling)]
        self.masses: list[Mass] = masses_of(self.links, scope)

    @cached_property
    def unilateral(self) -> list[ResidualContact | JointContact | ResistanceOfContact]:
        """Contacts that may slip and open, stops, dry friction and resistances; their rows are those of a closed contact that
        sticks."""
        return [*self._opening, *self.joint_contacts, *self.resistances]

    @property
    def _opening(self) -> list[ResidualContact]:
        return [c for c in self.residual_contacts if c.friction is not None]

    @cached_property
    def followed_contacts(self) -> list[WheelOnGround | SphereOnCurvedGround]:
        """Wheels and spheres on curved ground, whose one contact point may not be able to follow it."""
        return [c for c in self.residual_contacts if isinstance(c, WheelOnGround | SphereOnCurvedGround) and followed(c)]

    @cached_property
    def rows(self) -> list[Rows]:
        """Rows of contacts, in the axes of their reference body, and of residual constraints."""
        return [*(contact_rows(c) for c in self.contacts), *self.residual_rows]

    @cached_property
    def row_names(self) -> list[str]:
        return [name for rows in self.rows for name in rows.names]

    def _law(self, contact: ResidualContact) -> Tangential | TireForce:
        """The law of a wheel or its tire, with the normal force where it depends on a multiplier."""
        row = f"{contact.name}_normal"
        depends = contact.law is not None and contact.law.bounded and not contact.law.compliant
        if not depends:
            return self._law_at(contact, None)
        if row not in self.row_names:
            raise ModelError(
                f"wheel {contact.name!r}: its joints fix its height, so its normal force is not determined, and "
                f"{type(contact.law).__name__} depends on it; let its body move vertically, or omit 'friction'"
            )
        return self._law_at(contact, self.scope.multiplier(row))

    def _law_at(self, contact: ResidualContact, normal: ca.SX | None) -> Tangential | TireForce:
        if isinstance(contact, TireOnGround):
            return TireForce(contact, self.scope, normal)
        if isinstance(contact.law, Tire):
            raise ModelError(f"contact {contact.name!r}: tires belong to wheels on the ground (Model.wheel), not to surfaces")
        return Tangential(contact, self.scope, normal)

    @cached_property
    def coordinates(self) -> tuple[Quantity, ...]:
        """Names, units and defaults; the contact point of a wheel or sphere on curved ground is by default below its center."""
        found = self.system.coordinates
        defaults = self._with_contacts_under_hubs(np.array([[c.default for c in found]]))[0] if found else []
        return tuple(Quantity(c.name, c.unit, "", float(d)) for c, d in zip(found, defaults, strict=True))

    def _with_contacts_under_hubs(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """The configurations with the contact points on curved ground below their hubs and centers, as initial guesses."""
        if not self.system.ground.curved or not self.residual_contacts:
            return points
        found = points.copy()
        names = self.scope.coordinates
        for contact in [c for c in self.residual_contacts if isinstance(c, WheelOnGround | SphereOnCurvedGround)]:
            hub = ca.Function("hub", [self.scope.q, self.scope.p], [ca.vertcat(*contact.center[:2])])
            columns = [names.index(c.name) for c in contact.place]
            found[:, columns] = [hub(q, self.default_parameters).full()[:, 0] for q in points]
        return found

    @cached_property
    def matrix(self) -> ca.SX:
        """A(q, t), rows × velocities."""
        place = {name: j for j, name in enumerate(self.scope.velocities)}
        entries: list[tuple[int, int, ca.SX]] = []
        start = 0
        for rows in self.rows:
            for name, column in rows.columns.items():
                entries += [(start + i, place[name], entry) for i, entry in enumerate(column) if not is_zero(entry)]
            start += rows.count
        entries.sort(key=lambda e: (e[1], e[0]))  # by columns, as they are stored
        pattern = ca.Sparsity.triplet(start, len(place), [i for i, _, _ in entries], [j for _, j, _ in entries])
        return ca.SX(pattern, ca.vertcat(*[e for _, _, e in entries]) if entries else ca.SX(0, 1))

    @cached_property
    def drift(self) -> ca.SX:
        """a₀(q, t) of A v + a₀ = 0: nonzero for rheonomic constraints."""
        return ca.vertcat(*[a for rows in self.rows for a in rows.drift]) if self.row_names else ca.SX(0, 1)

    @cached_property
    def rheonomic(self) -> bool:
        """Whether some constraint is driven in time."""
        return any(not is_zero(a) for rows in self.residual_rows for a in rows.drift)  # contacts are on ground at rest

    @cached_property
    def position_constraints(self) -> list[tuple[Constraint, ca.SX]]:
        """Heights of contacts above the ground, norms of quaternions, and position residuals."""
        found = []
        for contact in self.contacts:
            height = height_above_ground(contact, self.measures.poses, self.ground_normal)
            if height is not None and not ca.depends_on(height, self.scope.q):
                self._check_fixed_height(contact.name, height)
            elif height is not None:
                found.append((Constraint(f"{contact.name}_height", Kind.HOLONOMIC, "position", "m"), height))
        for joint in self.system.joints:
            for step in joint.chain:
                if isinstance(step, Float | Ball):
                    q = ca.vertcat(*[self.scope.symbol(n) for n in step.quaternion])
                    found.append((Constraint(f"{joint.child}_quaternion", Kind.NORM, "position"), (ca.sumsqr(q) - 1) / 2))
        solved = [pair for rows in self.residual_rows for pair in position_constraints_of(rows)]
        return [*found, *solved, *self.parametric_residuals]

    def _check_fixed_height(self, name: str, height: ca.SX) -> None:
        """Raise if a contact of fixed height is not on the ground."""
        wheel = any(w.name == name for w in self.system.wheels)
        what = f"wheel {name!r}" if wheel else f"knife edge {name!r}"
        if ca.depends_on(height, self.scope.t):
            raise ModelError(
                f"model {self.system.name!r}: the ground under {what} moves up and down, and no coordinate lets it "
                "follow; let its body move along z"
            )
        gap = float(ca.Function("gap", [self.scope.p], [height])(self.default_parameters))
        if abs(gap) > 1e-9:
            where = "above" if gap > 0 else "below"
            raise ModelError(
                f"model {self.system.name!r}: {what} is {abs(gap):.4g} m {where} the ground and no coordinate can move "
                f"it there; change {'its radius or the height of its hub' if wheel else 'its height'}"
            )

    @cached_property
    def multiplier_symbols(self) -> dict[str, ca.SX]:
        """Rows on whose multipliers forces depend, and the symbols of these."""
        total = self.forces.total
        found = {row: symbol for row, symbol in self.scope.multipliers.items() if ca.depends_on(total, symbol)}
        lost = next((row for row in found if row not in self.row_names), None)
        if lost is not None:
            raise ModelError(
                f"model {self.system.name!r}: a force depends on the multiplier of {lost!r}, but no coordinate enters that "
                "constraint, so its force is not determined"
            )
        return found

    @cached_property
    def forces(self) -> AppliedForces:
        return applied_forces(self.scope, self.measures, self.laws)

    @cached_property
    def _sampler(self) -> ConfigurationSampler:
        stops = {f"{c.name}_normal" for c in self.joint_contacts if isinstance(c, JointStop)}  # by default they are open
        return ConfigurationSampler(
            self.system,
            self.scope,
            self.default_parameters,
            [pair for pair in self.position_constraints if pair[0].name not in stops],
            self.matrix,
            self.drift,
            self.length,
            contacts=bool(self.contacts),
            loops=bool(self.residual_constraints),
            guess=self._with_contacts_under_hubs,
        )

    def configurations(self, count: int, seed: int | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Admissible coordinates and times spread over the ranges of the joints. The first is the default, if it can be projected
        onto the constraints."""
        return self._sampler.draw(count, seed)

    @cached_property
    def sampled(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Configurations and times at which choices are compared."""
        return self.configurations(SAMPLES)

    @cached_property
    def samples(self) -> NDArray[np.float64]:
        """Constraint matrices at the sampled configurations."""
        if not self._finite_samples.any():
            raise ModelError(
                f"model {self.system.name!r}: its wheels lie flat, or its knife edges are normal to the ground, in every "
                "configuration; check their axes and directions"
            )
        found = without_rounding(self.at_samples(self.matrix)[self._finite_samples], self.length)
        if self._few_enough_rows and self._implied:  # their rates vanish, and are rounding errors at the samples
            found[:, [i for i, name in enumerate(self.row_names) if name in self._implied]] = 0.0
        return found

    @cached_property
    def _finite_samples(self) -> NDArray[np.bool_]:
        """Samples at which every row is finite."""
        return np.asarray(np.isfinite(self.at_samples(self.matrix)).all(axis=(1, 2)))

    def at_samples(self, matrix: ca.SX) -> NDArray[np.float64]:
        """A matrix of (t, q, p) at the sampled configurations: samples × rows × columns."""
        return self._sampler.at(matrix, *self.sampled)

    def open_configurations(self, count: int) -> NDArray[np.float64]:
        """Random configurations that need not satisfy the constraints. Behind the first, the default, free bodies are at random
        places: where two of them are at one place, contacts between them have no direction."""
        found, random = sample_coordinates(self.system, count), UniformNumbers(_PLACES)
        index = {c.name: i for i, c in enumerate(self.system.coordinates)}
        steps = [step for joint in self.system.joints for step in joint.chain]
        for name in (name for step in steps if isinstance(step, Float) for name in step.position):
            found[1:, index[name]] += random.uniform(-self.length, self.length, max(count - 1, 0))
        return self._with_contacts_under_hubs(found)

    def at_configurations(self, matrix: ca.SX, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """A matrix of (t, q, p) at some configurations, at time 0."""
        return self._sampler.at(matrix, points, np.zeros(len(points)))

    # ---------------------------------------------------------------- independent rows

    @cached_property
    def selection(self) -> RowSelection:
        """Rows that are solved for, and redundant or identically satisfied ones."""
        if not self._few_enough_rows or self.unilateral:  # which rows of these are active, and so redundant, changes
            return RowSelection(tuple(range(len(self.row_names))))
        found = select_rows(self.samples)
        check_consistent(
            self.system.name, self.row_names, found, self.samples, self.at_samples(self.drift)[self._finite_samples, :, 0]
        )
        return found

    @cached_property
    def _implied(self) -> frozenset[str]:
        """Position constraints without a rate wherever they are satisfied that follow from others; raise if one does not."""
        positions = [pair for rows in self.residual_rows for pair in position_constraints_of(rows)]
        if not positions:
            return frozenset()
        scope, residual = self.scope, ca.vertcat(*[r for _, r in positions])
        both = [ca.densify(residual), ca.densify(ca.jacobian(residual, scope.q))]
        function = ca.Function("residuals", [scope.t, scope.q, scope.p], both)

        def residuals(q: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            f, j = function(0.0, q, self.default_parameters)
            return f.full()[:, 0], j.full()

        points, times = self.sampled
        away = sample_coordinates(self.system, _AWAY)[1:]  # without the default
        found = degenerate(residuals, list(points[times == 0.0][:_AWAY]), list(away))
        redundant = implied(residuals, found, list(points[times == 0.0][:_AWAY])) if found else []
        named = [positions[i][0].name for i in found if i not in redundant]
        if named:
            raise degenerate_error(f"model {self.system.name!r}", named)
        return frozenset(positions[i][0].name for i in redundant)

    @property
    def _few_enough_rows(self) -> bool:
        """Whether redundancy is examined at samples. With very many rows it is not; the regularity check then reports it."""
        return 0 < len(self.row_names) <= MAX_SAMPLED_ROWS

    @cached_property
    def kept_rows(self) -> list[Rows]:
        """The blocks with only the rows that are solved for."""
        found, start = [], 0
        for rows in self.rows:
            found.append(rows.only([i for i in range(rows.count) if start + i in self.selection.kept]))
            start += rows.count
        return [rows for rows in found if rows.count]

    @cached_property
    def other_rows(self) -> list[tuple[str, ...]]:
        """Names of other rows to solve for where the kept ones are nearly dependent, but all rows together are not."""
        if not self.solved_rows:
            return []
        return [tuple(self.row_names[i] for i in rows) for rows in other_rows(self.samples, self.selection.kept)]

    def with_rows(self, names: Sequence[str]) -> Mechanism:
        """The same mechanism, with other rows that are solved for."""
        other = copy(self)
        for depends_on_rows in (
            "kept_rows",
            "solved_rows",
            "other_rows",
            "independent_row_samples",
            "independent_positions",
            "choices",
        ):
            other.__dict__.pop(depends_on_rows, None)
        other.__dict__["selection"] = select_rows(self.samples, [self.row_names.index(name) for name in names])
        return other

    @cached_property
    def solved_rows(self) -> tuple[str, ...]:
        """Names of the rows that are solved for, if a run may have to take others: not where redundant rows are the same
        combinations of these in all configurations."""
        out = [redundant.row for redundant in self.selection.redundant if redundant.repeats]
        if not out or not combinations_vary(self.samples, self.selection.kept, out):
            return ()
        return tuple(self.row_names[i] for i in self.selection.kept)

    def row_alternates(self) -> list[tuple[str, ...]]:
        """For each of the other rows the independent velocities that suit where these rows are best, then the rows."""
        if not self.other_rows:
            return []
        found, scaled, spaces = [], generic(self.samples), row_space(self.samples)
        sets = [[self.row_names.index(name) for name in rows] for rows in self.other_rows]
        qualities = [quality(scaled, rows) for rows in (self.selection.kept, *sets)]
        for rows, own in zip(self.other_rows, qualities[1:], strict=True):
            where = own >= np.max(qualities, axis=0)
            names, no_units = self.scope.velocities, np.zeros((1, len(self.scope.velocities)), dtype=bool)
            choices = rank_choices(spaces[where] if where.any() else spaces, names, self._massless, no_units)
            found.append((*min(choices, key=lambda choice: choice.worst).independent, *rows))
        return found

    @cached_property
    def independent_row_samples(self) -> NDArray[np.float64]:
        """Matrices of the rows that are solved for."""
        return self.samples[:, list(self.selection.kept)]

    @cached_property
    def independent_positions(self) -> list[tuple[Constraint, ca.SX]]:
        """Independent position constraints; those whose rates are rows that are solved for are kept."""
        idle = {constraint.name for constraint, _ in self.parametric_residuals}
        found = [pair for pair in self.position_constraints if pair[0].name not in idle]
        if self.unilateral or (not self.residual_constraints and not self.selection.redundant):
            return found  # heights of wheels with independent rows are independent
        if not self._few_enough_rows:
            return found
        jacobian = without_rounding(self.at_samples(ca.jacobian(ca.vertcat(*[r for _, r in found]), self.scope.q)), self.length)
        kept = {name for rows in self.kept_rows for name in rows.names}
        stay = [i for i, (c, _) in enumerate(found) if c.name in kept]
        return [found[i] for i in select_rows(jacobian[np.isfinite(jacobian).all(axis=(1, 2))], stay).kept]

    @property
    def monitored_positions(self) -> list[ca.SX]:
        """Residuals of redundant position constraints, which are not solved for."""
        if not self.residual_constraints:
            return []
        solved = {constraint.name for constraint, _ in self.independent_positions}
        return [r for constraint, r in self.position_constraints if constraint.name not in solved]

    @cached_property
    def mass_matrix(self) -> ca.SX:
        """M(q) of all velocities: inverse dynamics at zero velocity without gravity, differentiated by the accelerations."""
        scope = self.scope
        symbols = {name: ca.SX.sym(f"d{name}") for name in scope.velocities}
        generalized_forces = inverse_dynamics(self.links, scope, {}, symbols, ZERO, UNIT[2])
        return ca.jacobian(ca.vertcat(*[generalized_forces[name] for name in scope.velocities]), ca.vertcat(*symbols.values()))

    @cached_property
    def choices(self) -> list[VelocityChoice]:
        velocities = self.scope.velocities
        if len(self.row_names) == 0:
            return [VelocityChoice(tuple(velocities), np.ones(1), 0, 0)]
        kept = self.selection.kept
        units = np.zeros((len(kept), len(velocities)), dtype=bool)
        for i, row in enumerate(kept):
            for j in range(len(velocities)):
                units[i, j] = bool(self.matrix[row, j].is_one())
        return rank_choices(self.independent_row_samples, velocities, self._massless, units)

    @cached_property
    def _massless(self) -> frozenset[str]:
        """Velocities that move no mass: rates of surface parameters, and of contact places on curved ground."""
        return frozenset(c.rate for c in self.system.massless)

    def choose(self, requested: tuple[str, ...]) -> tuple[EliminationPlan, list[VelocityChoice], list[str]]:
        """The elimination plan for the requested independent velocities or the best ones, the alternates, and notes."""
        notes = []
        velocities = self.scope.velocities
        if requested:
            self._check_requested(requested)
            ordered = tuple(v for v in velocities if v in requested)
            amplified = amplification(self.independent_row_samples, velocities, ordered) if self.row_names else np.ones(1)
            worst = float(amplified.max())
            if not np.isfinite(amplified).any():
                raise ModelError(
                    f"model {self.system.name!r}: ({', '.join(ordered)}) cannot be the independent velocities, since the "
                    "constraints leave the others undetermined in every configuration; "
                    f"({', '.join(self._best_choice.independent)}) is possible"
                )
            others = [j for j in (self.choices if worst > POOR else []) if set(j.independent) != set(requested)]
            if others and others[0].worst < worst:
                amount = f"{worst:.3g}" if np.isfinite(worst) else "infinitely many"
                notes.append(
                    f"the chosen independent velocities ({', '.join(ordered)}) amplify others up to {amount} times in some "
                    f"configurations; ({', '.join(others[0].independent)}) stays below {others[0].worst:.3g}"
                )
            independent = ordered
        else:
            independent = self._best_choice.independent
        groups, start = [], 0
        for rows in self.kept_rows:
            groups.append(list(range(start, start + rows.count)))
            start += rows.count
        if not groups:
            return EliminationPlan((), tuple(velocities)), [], notes
        plan = plan_blocks(self._turned_row_samples, velocities, groups, independent, self._cost)
        return plan, self._alternates(independent), notes

    @property
    def _turned_row_samples(self) -> NDArray[np.float64]:
        """Samples of the independent rows; of a mechanism with driven constraints also with its free bodies turned anywhere, for
        whose rolling a velocity in body axes may lose its share of a row, though all of them together do not."""
        found = self.independent_row_samples
        turns = [step.quaternion for joint in self.system.joints for step in joint.chain if isinstance(step, Float | Ball)]
        if not self.rheonomic or not turns:
            return found
        points, times = self.sampled
        rng = np.random.default_rng(len(points))
        points = points.copy()
        for names in turns:
            drawn = rng.normal(size=(len(points), 4))
            points[:, [self.scope.coordinates.index(n) for n in names]] = drawn / np.linalg.norm(drawn, axis=1)[:, None]
        turned = self._sampler.at(self.matrix, points, times)[:, list(self.selection.kept)]
        return np.concatenate([found, turned[np.isfinite(turned).all(axis=(1, 2))]])

    @property
    def _best_choice(self) -> VelocityChoice:
        if not self.choices:
            raise ModelError(
                f"model {self.system.name!r}: no choice of independent velocities determines the others, beyond rounding, in "
                "any configuration that was tried; check lengths that differ by many orders of magnitude, or derive it with "
                "formulation=Augmented()"
            )
        return self.choices[0]

    def worst_amplification(self, choices: Sequence[Sequence[str]]) -> float:
        """The worst amplification over the samples, with the best of some choices at each."""
        # other rows are taken where the kept ones lose rank
        samples = row_space(self.samples) if self.solved_rows else self.independent_row_samples
        worst = [amplification(samples, self.scope.velocities, choice) for choice in choices]
        return float(np.min(worst, axis=0).max()) if worst else 1.0

    def _alternates(self, independent: tuple[str, ...]) -> list[VelocityChoice]:
        chosen = amplification(self.independent_row_samples, self.scope.velocities, independent)
        return alternates_for(chosen, [j for j in self.choices if set(j.independent) != set(independent)], count=3)

    def _cost(self, rows: Sequence[int], dependent: Sequence[str]) -> float:
        """Number of nonzero entries of the block; constant ones count half."""
        columns = [self.scope.velocities.index(d) for d in dependent]
        entries = [self.matrix[self.selection.kept[r], c] for r in rows for c in columns]
        return float(sum(2 - (2 if e.is_zero() else 0) - (1 if e.is_one() else 0) for e in entries))

    def _check_requested(self, requested: tuple[str, ...]) -> None:
        velocities = self.scope.velocities
        for name in requested:
            if name not in velocities:
                raise ModelError(f"model {self.system.name!r} has no velocity {name!r}{did_you_mean(name, velocities)}")
        independent = len(self.selection.kept)
        count = len(velocities) - independent
        if len(set(requested)) != count:
            counting = " that are independent" if self.selection.redundant else ""
            raise ModelError(
                f"model {self.system.name!r} has {len(velocities)} velocities and {independent} velocity constraints{counting}: "
                f"choose {count} independent velocities, got {len(set(requested))} ({', '.join(requested)})"
            )
