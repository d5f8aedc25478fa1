"""Reported quantities of a motion by name: outputs, contact points and forces, energies, residuals, power."""

from __future__ import annotations

import math
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca

from draisine.dynamics.constraints.rows import reaction_unit, row_constraints
from draisine.dynamics.contact.joint_contacts import JointContact, JointStop
from draisine.dynamics.contact.point_contacts import PointOnSurface
from draisine.dynamics.contact.residual_contacts import ResidualContact, friction_ratio, track_heading
from draisine.dynamics.contact.resistances import WAYS, ResistanceOfContact
from draisine.dynamics.contact.rolling import EdgeContact, WheelContact
from draisine.dynamics.contact.tire_contact import TireForce, TireOnGround
from draisine.dynamics.kinematics.newton_euler import mass_of
from draisine.dynamics.kinematics.tree import AxisRotation, FreeMotion
from draisine.dynamics.kinematics.twists import Pose, Twist
from draisine.dynamics.linear_algebra import UNIT, ZERO, Mat, Vec, cross, dot, is_zero, times
from draisine.errors import ModelError
from draisine.expr.expression import did_you_mean, names, parse
from draisine.expr.safe_functions import length
from draisine.model.contact.laws import Rolling
from draisine.model.contact_items import KnifeEdge, mode_entries
from draisine.model.items import GROUND, Rotate
from draisine.program.equations import ENERGIES, SPRING_LOAD, Constraint, Event, Quantity
from draisine.program.program import Program

if TYPE_CHECKING:
    from draisine.dynamics.formulation import BaseFormulation
    from draisine.program.linear_solve import LinearSolveProgram


MOMENTS = ("overturning", "rolling", "aligning")


class ReportBuilder:
    """Symbolic outputs of one formulation, and the programs that report them."""

    def __init__(self, formulation: BaseFormulation) -> None:
        self.formulation = formulation
        self.mechanism = formulation.mechanism
        self.scope = formulation.mechanism.scope

    # ---------------------------------------------------------------- quantities of motion

    @cached_property
    def _motion_outputs(self) -> dict[Quantity, ca.SX]:
        """Named outputs of the description and of the contacts, in all velocities, free of accelerations."""
        found = {output: value for output, value in self._described_outputs.items() if not self.scope.is_acceleration(value)}
        for contact in self.mechanism.contacts:
            if isinstance(contact, WheelContact):
                found |= self._wheel_geometry(contact)
        for wheel in self.mechanism.residual_contacts:
            found |= self._residual_contact_geometry(wheel)
        for joint in self.mechanism.joint_contacts:
            found |= self._joint_contact_motion(joint)
        for resistance in self.mechanism.resistances:
            found |= self._resistance_motion(resistance)
        return found

    @cached_property
    def _described_outputs(self) -> dict[Quantity, ca.SX]:
        """Outputs of the description, in all velocities and, some of them, in symbols of accelerations."""
        self.scope.reporting = True
        try:
            return {
                Quantity(o.name, o.unit, o.description): self.scope.value(o.expression) for o in self.mechanism.system.outputs
            }
        finally:
            self.scope.reporting = False

    @property
    def described_motion(self) -> list[tuple[Quantity, ca.SX]]:
        """Outputs of the description that are free of accelerations."""
        return [(output, value) for output, value in self._described_outputs.items() if not self.scope.is_acceleration(value)]

    @cached_property
    def _acceleration_outputs(self) -> dict[Quantity, ca.SX]:
        """Outputs of the description that depend on accelerations, in terms of the state."""
        found = {output: value for output, value in self._described_outputs.items() if self.scope.is_acceleration(value)}
        if not found:
            return {}
        symbols = list(self.scope.accelerations.values())
        solved = [self.formulation.all_accelerations[name] for name in self.scope.accelerations]
        # first the velocities: accelerations are in terms of the state already
        values = ca.substitute(self.formulation.in_terms_of_state(list(found.values())), symbols, solved)
        return dict(zip(found, values, strict=True))

    @cached_property
    def motion_values(self) -> dict[str, ca.SX]:
        """Values of the motion outputs by name, for laws."""
        return {quantity.name: value for quantity, value in self._motion_outputs.items()}

    def _residual_contact_geometry(self, contact: ResidualContact) -> dict[Quantity, ca.SX]:
        """Contact point, track heading and slip of a contact that is a residual constraint."""
        name = contact.name
        point = contact.contact_point
        found = {
            Quantity(f"{name}_contact_{axis}", "m", f"contact point of {name}"): c for axis, c in zip("xyz", point, strict=True)
        }
        found[Quantity(f"{name}_track_heading", "rad", f"direction of the track of {name} on the ground")] = track_heading(
            contact
        )
        if contact.friction is not None:
            closed, sticks, *_ = (self.scope.symbol(entry.name) for entry in mode_entries(name))
            found[Quantity(f"{name}_mode", "", f"mode of {name}: open 0, slip 1, stick 2")] = closed * (1 + sticks)
            found[Quantity(f"{name}_gap", "m", f"distance of {name} from what it touches")] = contact.gap[0]
        if contact.friction is not None or not isinstance(contact.law, Rolling):
            for way, slip in zip(("along", "across"), contact.slip, strict=True):
                found[Quantity(f"{name}_slip_{way}", "m/s", f"slip of {name} {way} its track")] = slip
        return found | _tire_motion(contact) if isinstance(contact, TireOnGround) else found

    def _joint_contact_motion(self, contact: JointContact) -> dict[Quantity, ca.SX]:
        """Mode of a stop with its gap, or of dry friction with the rate at which it slips."""
        name, unit = contact.name, contact.item.unit
        closed, sticks, *_ = (self.scope.symbol(entry.name) for entry in mode_entries(name))
        if isinstance(contact, JointStop):
            found = {Quantity(f"{name}_mode", "", f"mode of stop {name}: open 0, closed 2"): 2 * closed}
            return found | {Quantity(f"{name}_gap", unit, f"distance from stop {name}"): contact.gap[0]}
        found = {Quantity(f"{name}_mode", "", f"mode of {name}: slip 1, stick 2"): 1 + sticks}
        return found | {Quantity(f"{name}_slip", f"{unit or '1'}/s", f"rate at which {name} slips"): contact.slip[0]}

    def _resistance_motion(self, resistance: ResistanceOfContact) -> dict[Quantity, ca.SX]:
        """Mode of a resistance to rolling or drilling, and the angular velocities against which it acts."""
        name = resistance.name
        closed, sticks, *_ = (self.scope.symbol(entry.name) for entry in mode_entries(name))
        found = {Quantity(f"{name}_mode", "", f"mode of {name}: open 0, moves 1, rests 2"): closed * (1 + sticks)}
        for way, speed in zip(WAYS, resistance.slip, strict=False):
            found[Quantity(f"{name}_rate_{way}", "rad/s", f"rate against which {name} acts")] = speed / resistance.scale
        return found

    def _wheel_geometry(self, contact: WheelContact) -> dict[Quantity, ca.SX]:
        name = contact.name
        j, k = (contact.axis + 1) % 3, (contact.axis + 2) % 3
        point = self._world_point(contact)
        forward = self._rolling_direction(contact)
        # measured about the spin axis, π for the lowest point of an upright carrier; the cut lies at the top of the wheel
        normal, spin = self._before_spin(contact)
        angle = math.pi + ca.atan2(normal[k], normal[j])
        found = {
            Quantity(f"{name}_contact_{axis}", "m", f"contact point of {name}"): c for axis, c in zip("xyz", point, strict=True)
        }
        found[Quantity(f"{name}_contact_angle", "rad", f"angle of the contact around {name}, in its carrier")] = angle
        found[Quantity(f"{name}_contact_angle_in_wheel", "rad", f"angle of the contact on {name} itself")] = angle - spin
        found[Quantity(f"{name}_track_heading", "rad", f"direction of the track of {name} on the ground")] = ca.atan2(
            forward[1], forward[0]
        )
        return found

    def _before_spin(self, contact: WheelContact) -> tuple[Vec, ca.SX]:
        """The ground's normal in the axes of the wheel's carrier, and the spin angle of the wheel."""
        link = contact.link
        hinge, turn = (link.all_steps[-1], link.joint.chain[-1]) if link.joint.chain else (None, None)
        if not (isinstance(hinge, AxisRotation) and isinstance(turn, Rotate) and hinge.velocity and hinge.axis == contact.axis):
            return contact.normal, ZERO  # no hinge about the axle: the wheel is its own carrier
        return contact.normal if link.is_rotor else hinge.outward(contact.normal), self.scope.value(turn.angle)

    def _carrier_rotation(self, contact: WheelContact | EdgeContact) -> tuple[Vec, Vec, Vec]:
        """Link-to-world rotation, before the spin of a rotor."""
        pose = self.mechanism.measures.poses[contact.link.name]
        if contact.link.spin is None:
            return pose.rotation
        back = contact.link.spin
        return tuple(back.outward(row) for row in pose.rotation)  # type: ignore[return-value]

    def _world_point(self, contact: WheelContact) -> Vec:
        pose = self.mechanism.measures.poses[contact.link.name]
        center = pose.of(contact.center)
        arm = times(self._carrier_rotation(contact), contact.arm)
        return (center[0] + arm[0], center[1] + arm[1], center[2] + arm[2])

    def _rolling_direction(self, contact: WheelContact) -> Vec:
        """Unit vector along the track: spin axis × normal, in the world."""
        axis = times(self._carrier_rotation(contact), UNIT[contact.axis])
        forward = cross(axis, self.mechanism.ground_normal)
        size = length(list(forward), regular=True)
        return (forward[0] / size, forward[1] / size, forward[2] / size)

    # ---------------------------------------------------------------- forces

    @property
    def force_values(self) -> dict[str, ca.SX]:
        """Values of the outputs that depend on forces, by name."""
        return {quantity.name: value for quantity, value in self._force_outputs.items()}

    @cached_property
    def _force_outputs(self) -> dict[Quantity, ca.SX]:
        found: dict[Quantity, ca.SX] = dict(self._acceleration_outputs)
        start = 0
        for rows in self.formulation.rows:
            share = self.formulation.multipliers[start : start + rows.count]
            start += rows.count
            contact = rows.source
            if isinstance(contact, WheelContact):
                whole = dict(zip(rows.kept, share, strict=True))
                force: Vec = tuple(whole.get(i, ZERO) for i in range(3))  # type: ignore[assignment]
                found |= self._wheel_forces(contact, force, supported=2 in rows.kept or len(rows.kept) == 3)
            elif isinstance(contact, EdgeContact):
                found |= _blade_forces(contact.edge, *share)
        multipliers = dict(zip(self.formulation.row_names, self.formulation.multipliers, strict=True))
        for blade in self.mechanism.knife_edges:
            found |= _blade_forces(blade.edge, *(multipliers[row] for row in blade.rows if row in multipliers))
        for contact in self.mechanism.residual_contacts:
            found |= self._residual_contact_forces(contact)
        for joint in self.mechanism.joint_contacts:
            row = f"{joint.name}_{'normal' if isinstance(joint, JointStop) else 'along'}"
            what = f"force of stop {joint.name}" if isinstance(joint, JointStop) else f"dry friction of {joint.name}"
            found[Quantity(f"{joint.name}_force", reaction_unit(joint.item.unit), what)] = multipliers[row]
        for resistance in self.mechanism.resistances:
            found |= self._resistance_moments(resistance, multipliers)
        return found

    def _resistance_moments(self, resistance: ResistanceOfContact, multipliers: dict[str, ca.SX]) -> dict[Quantity, ca.SX]:
        """Moments of a resistance to rolling or drilling, and the coefficient, lever arm by radius, that they need."""
        name, ways = resistance.name, WAYS[: len(resistance.slip)]
        forces = [multipliers.get(f"{name}_{way}", ZERO) for way in ways]
        (scale,) = self.formulation.in_terms_of_state([resistance.scale])
        found = {
            Quantity(f"{name}_moment_{way}", "N*m", f"moment of {name}"): scale * force
            for way, force in zip(ways, forces, strict=True)
        }
        load = multipliers[f"{resistance.item.of}_normal"]
        needed = friction_ratio(forces[0], forces[1] if len(forces) > 1 else ZERO, load)
        return found | {Quantity(f"{name}_friction_needed", "", f"moment of {name} by normal force and radius"): needed}

    def _residual_contact_forces(self, contact: ResidualContact) -> dict[Quantity, ca.SX]:
        """The force of the ground on such a contact: multipliers, and tangential forces of its law."""
        name = contact.name
        multipliers = dict(zip(self.formulation.row_names, self.formulation.multipliers, strict=True))
        law = next((law for law in self.mechanism.laws if law.contact is contact), None)
        tire = law if isinstance(law, TireForce) else None
        moments = {} if tire is None else {w: m for w, m in tire.parts._asdict().items() if w in MOMENTS and not is_zero(m)}
        load = tire.load if tire is not None and tire.contact.tire.compliant else None
        reported = self.formulation.in_terms_of_state(
            [
                *contact.forward,
                *contact.left,
                *contact.normal,
                *(law.force if law is not None else ()),
                *moments.values(),
                *(() if load is None else (load,)),
            ]
        )
        along, across = (multipliers.get(f"{name}_{way}", ZERO) for way in ("along", "across")) if law is None else reported[9:11]
        scaled = across
        if law is None and isinstance(contact, PointOnSurface):
            across = contact.row_scales[1] * across
        carried = load is not None or f"{name}_normal" in multipliers
        up = reported[-1] if load is not None else multipliers.get(f"{name}_normal", ZERO)
        world = [along * reported[i] + across * reported[3 + i] + up * reported[6 + i] for i in range(3)]
        found = {
            Quantity(f"{name}_force_{a}", "N", f"force on {name} in the world's axes"): c
            for a, c in zip("xyz", world, strict=True)
        }
        found[Quantity(f"{name}_longitudinal_force", "N", f"force on {name} along its track")] = along
        found[Quantity(f"{name}_lateral_force", "N", f"force on {name} across its track, to the left")] = across
        if carried:
            what = "normal force of the ground on" if load is None else SPRING_LOAD
            found[Quantity(f"{name}_normal_force", "N", f"{what} {name}")] = up
            # a tire whose force is bounded needs no more friction than it has
            word = "used" if tire is not None and tire.contact.tire.bounded else "needed"
            found[Quantity(f"{name}_friction_{word}", "", f"tangential force on {name} divided by its normal force")] = (
                friction_ratio(along, scaled, up)
            )
        for way, moment in zip(moments, reported[11:], strict=False):
            found[Quantity(f"{name}_{way}_moment", "N*m", f"{way} moment of the ground on {name}")] = moment
        return found

    def _wheel_forces(self, contact: WheelContact, force: Vec, supported: bool) -> dict[Quantity, ca.SX]:
        """The force of the ground on a wheel: in reference axes, in world axes, longitudinal and lateral.

        Where the height of the wheel is fixed its normal force is not determined, and neither is the friction it needs.
        """
        name, normal = contact.name, self.mechanism.ground_normal
        world = self._reference_to_world(contact, force)
        forward = self._rolling_direction(contact)
        left = cross(normal, forward)
        along, across, up = dot(forward, world), dot(left, world), dot(normal, world)
        found = {
            Quantity(f"{name}_body_force_{a}", "N", f"force on {name} in the reference axes"): c
            for a, c in zip("xyz", force, strict=True)
        }
        found |= {
            Quantity(f"{name}_force_{a}", "N", f"force on {name} in the world's axes"): c
            for a, c in zip("xyz", world, strict=True)
        }
        found[Quantity(f"{name}_longitudinal_force", "N", f"force on {name} along its track")] = along
        found[Quantity(f"{name}_lateral_force", "N", f"force on {name} across its track, to the left")] = across
        if supported:
            found[Quantity(f"{name}_normal_force", "N", f"normal force of the ground on {name}")] = up
            found[Quantity(f"{name}_friction_needed", "", f"friction coefficient that {name} needs to roll")] = length(
                [along, across]
            ) / (ca.fabs(up) + 1e-12)
        return found

    def _reference_to_world(self, contact: WheelContact, force: Vec) -> Vec:
        steps = contact.link.path()[0].steps
        return times(steps[0].matrix, force) if steps and isinstance(steps[0], FreeMotion) else force

    # ---------------------------------------------------------------- energies and residuals

    @cached_property
    def energies(self) -> tuple[ca.SX, ca.SX]:
        """Kinetic and potential energy, body by body in the world (not by the reduced matrices)."""
        measures, scope = self.mechanism.measures, self.scope
        kinetic, potential, m = ZERO, self.mechanism.forces.potential, self.mechanism
        for link in self.mechanism.links:
            reported = measures.twists[link.name], measures.poses[link.name]
            moving, height = m.templates(_energies, mass_of(link.body, scope), *reported, m.gravity, m.vertical)
            kinetic, potential = kinetic + moving, potential + height
        return kinetic, potential

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        rows = [constraint for rows in self.formulation.rows for constraint in row_constraints(rows)]
        return (*(c for c, _ in self.mechanism.position_constraints), *rows)

    @cached_property
    def residuals(self) -> ca.SX:
        positions = [r for _, r in self.mechanism.position_constraints]
        found = ca.densify(ca.vertcat(*positions, self.formulation.row_speeds))
        active = self.formulation.activity
        return found * ca.vertcat(*[active.get(c.name, ca.SX(1)) for c in self.constraints]) if active else found

    # ---------------------------------------------------------------- programs

    @cached_property
    def outputs(self) -> tuple[Quantity, ...]:
        found = (*self._motion_outputs, *self._force_outputs)
        names = [q.name for q in found]
        duplicate = next((name for name, count in Counter(names).items() if count > 1), None)
        if duplicate is not None:
            raise ModelError(
                f"model {self.mechanism.system.name!r}: the output {duplicate!r} is already defined by a contact; "
                "rename your output"
            )
        return found

    @cached_property
    def force_names(self) -> frozenset[str]:
        return frozenset(q.name for q in self._force_outputs)

    def program(self) -> Program | LinearSolveProgram:
        f, scope = self.formulation, self.scope
        kinetic, potential = self.energies
        driven = self.mechanism.forces.driven
        power = ca.jacobian(ca.dot(driven, scope.v), scope.u).T * scope.u if scope.input_names else ca.SX(0, 1)
        motion = list(self._motion_outputs.values())
        reported = f.in_terms_of_state(
            [ca.vertcat(*motion), ca.vertcat(kinetic, potential), self.residuals, ca.densify(power), scope.u]
        )
        outputs, energy, residuals, power, inputs = reported
        # zero is true only where nothing but inputs does any work
        work = [f.x[-1]] if f.tracks_work else [] if f.does_work else [ca.SX(0)]
        multipliers = self.formulation.multipliers
        labels = [q.name for q in self.outputs]
        return f.reported(
            {
                "v": (f.all_velocities, scope.velocities),
                "vdot": (ca.vertcat(*[f.all_accelerations[n] for n in scope.velocities]), [f"d{n}/dt" for n in scope.velocities]),
                "multipliers": (ca.vertcat(*multipliers), [f"{n}_multiplier" for n in self.formulation.row_names]),
                "outputs": (ca.vertcat(outputs, *self._force_outputs.values()), labels),
                "energy": (ca.vertcat(energy, *work), list(ENERGIES[: 2 + len(work)])),
                "residuals": (residuals, [c.name for c in self.constraints]),
                "power": (power, [f"{n}_power" for n in scope.input_names]),
                "inputs": (inputs, scope.input_names),
            }
        )

    def motion(self) -> Program:
        """(t, q, v, u, p) → residuals and outputs free of accelerations: the system for consistent starts."""
        scope = self.scope
        inputs = {
            "t": (scope.t, ["t"]),
            "q": (scope.q, scope.coordinates),
            "v": (scope.v, scope.velocities),
            "u": (scope.u, scope.input_names),
            "p": (scope.p, scope.parameters),
        }
        outputs = {
            "residuals": (self.residuals, [c.name for c in self.constraints]),
            "outputs": (ca.vertcat(*self._motion_outputs.values()), [q.name for q in self._motion_outputs]),
        }
        m = self.mechanism
        return Program.build(f"{m.system.name}_motion", inputs, outputs, self.formulation.units, m.templates.skip_global_cse)

    # ---------------------------------------------------------------- events

    @cached_property
    def _reactions(self) -> dict[str, ca.SX]:
        """Forces of contacts and multipliers of constraints by name, in terms of the state or of its linear solve."""
        f = self.formulation
        multipliers = {f"{row}_multiplier": value for row, value in zip(f.row_names, f.multipliers, strict=True)}
        return multipliers | {q.name: value for q, value in self._force_outputs.items()}

    def _beyond(self, event: Event) -> frozenset[str]:
        """Names in an event that are neither quantities nor outputs of the description that are free of forces."""
        scope = self.scope
        known = {"t", *scope.coordinates, *scope.velocities, *scope.input_names, *scope.parameters}
        used = names(parse(event.expression)) - known
        own = used & {o.name for o in self.mechanism.system.outputs}
        return used - (own - self.force_names) if own else used

    def event_values(self, events: tuple[Event, ...]) -> list[tuple[Event, ca.SX | None]]:
        """Events in all velocities; None for those that depend on forces."""
        found: list[tuple[Event, ca.SX | None]] = []
        for event in events:
            beyond = self._beyond(event)
            motion = {name: value for name, value in self.motion_values.items() if name in beyond} if beyond else {}
            forces = beyond - set(motion) and beyond & set(self._reactions)
            self._check_known(event, beyond - set(motion) - forces)
            found.append((event, None if forces else self.scope.value(parse(event.expression), motion)))
        return found

    def _check_known(self, event: Event, others: frozenset[str]) -> None:
        """Refuse names that are no frames either, which measures take."""
        s = self.mechanism.system
        groups = (s.bodies, s.points, s.wheels, s.edges, s.joints, s.surface_contacts, s.point_contacts)
        frames = {GROUND, *(item.name for group in groups for item in group)}
        for name in sorted(others - {parameter.name for parameter in s.dependent_parameters}):
            if not all(part in frames for part in name.split(".")):
                known = [*self.scope.coordinates, *self.scope.velocities, *self.scope.parameters, *self.scope.input_names]
                hint = did_you_mean(name, [*known, *self.motion_values, *self._reactions])
                raise ModelError(f"model {s.name!r}: event {event.name!r}: unknown name {name!r}{hint}")

    def event_program(self, events: tuple[Event, ...]) -> Program | LinearSolveProgram | None:
        """The values of events. Forces are computed, by a linear solve if need be, only if an event depends on them."""
        if not events:
            return None
        f, values = self.formulation, []
        symbols: dict[str, ca.SX] = {}
        for event, value in self.event_values(events):
            if value is None:
                beyond = self._beyond(event)
                symbols |= {name: ca.SX.sym(name) for name in self._reactions if name in beyond and name not in symbols}
                given = {name: moved for name, moved in self.motion_values.items() if name in beyond} | symbols
                value = self.scope.value(parse(event.expression), given)
            values.append(value)
        values = f.in_terms_of_state(values)
        if not symbols:
            return f.program("events", {"value": (ca.vertcat(*values), [e.name for e in events])})
        forces = ca.vertcat(*[self._reactions[name] for name in symbols])
        value = ca.substitute(ca.vertcat(*values), ca.vertcat(*symbols.values()), forces)
        return f.reported({"value": (value, [e.name for e in events])}, "events")


def _tire_motion(contact: TireOnGround) -> dict[Quantity, ca.SX]:
    """Slip angle, longitudinal slip, camber, and deflection of a tire with vertical stiffness."""
    name = contact.name
    speed = contact.tire.divisor(ca, contact.values, contact.rolling_speed)
    found = {
        Quantity(f"{name}_slip_angle", "rad", f"slip angle of {name}, positive where it moves to its left"): ca.atan(
            contact.slip[1] / speed
        ),
        Quantity(f"{name}_slip_ratio", "", f"longitudinal slip of {name}, -1 where it is locked"): -contact.slip[0] / speed,
        Quantity(f"{name}_camber", "rad", f"camber of {name}, positive for a lean to the right"): contact.inclination,
    }
    if contact.tire.compliant:
        found[Quantity(f"{name}_deflection", "m", f"vertical deflection of {name}")] = contact.deflection
    return found


def _energies(body: tuple[ca.SX, Vec, Mat], twist: Twist, pose: Pose, gravity: ca.SX, vertical: Vec) -> tuple[ca.SX, ca.SX]:
    mass, center, inertia = body
    velocity = twist.at(center)
    moving = 0.5 * (mass * dot(velocity, velocity) + dot(twist.angular, times(inertia, twist.angular)))
    return moving, mass * gravity * dot(vertical, pose.of(center))


def _blade_forces(edge: KnifeEdge, across: ca.SX, normal: ca.SX | None = None) -> dict[Quantity, ca.SX]:
    """The lateral force of the ground on a knife edge, and the normal force where it is determined."""
    found = {Quantity(f"{edge.name}_force_across", "N", f"lateral force of the ground on {edge.name}"): across}
    if normal is not None:
        found[Quantity(f"{edge.name}_normal_force", "N", f"normal force of the ground on {edge.name}")] = normal
    return found
