"""Annotations: names and descriptions of the intermediate quantities of a derivation, body by body.

Each quantity is formed again from the same parts as in the derivation; equal expressions are one node of the program, so a name
given here is the name of the node that the dynamics uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import casadi as ca

from draisine.dynamics.constraints.rows import ResidualBlock
from draisine.dynamics.contact.rolling import EdgeContact, WheelContact, link_twist_rates, link_twists
from draisine.dynamics.kinematics.tree import AxisRotation, BallRotation, FreeMotion, Link, Translation
from draisine.dynamics.kinematics.twists import Twist
from draisine.dynamics.linear_algebra import Mat, Vec, add, cross, is_zero, scale, sub, times
from draisine.dynamics.reduced.formulation import ReducedFormulation
from draisine.dynamics.reduced.reduction import residual_rates
from draisine.expr.expression import Name
from draisine.model.items import Rotate
from draisine.symbolic.rendering.named_formulas import Annotation

AXES = "xyz"


@dataclass
class Chapter:
    """Quantities that belong together, under one heading."""

    title: str
    annotations: list[Annotation] = field(default_factory=list)

    def add(self, name: str, description: str, value: ca.SX) -> None:
        self.annotations.append(Annotation(name, description, value))

    def vector(self, name: str, description: str, value: Vec) -> None:
        for axis, component in zip(AXES, value, strict=True):
            self.add(f"{name}_{axis}", f"{description}, {axis}", component)

    def matrix(self, name: str, description: str, value: Mat) -> None:
        for row, entries in zip(AXES, value, strict=True):
            for column, entry in zip(AXES, entries, strict=True):
                self.add(f"{name}_{row}{column}", f"{description}, entry {row}{column}", entry)


def chapters(formulation: ReducedFormulation) -> list[Chapter]:
    """Geometry of the bodies, contacts, kernel, velocities, motion of the bodies, reduced mass and force, accelerations."""
    motion = _Motion(formulation)
    return [
        *_bodies(formulation),
        *_contacts(formulation),
        _kernel(formulation),
        _dependent(formulation),
        *motion.twists(),
        motion.residual_rates(),
        motion.bias(),
        *motion.tangents(),
        _reduced(formulation),
        _accelerations(formulation),
    ]


# ---------------------------------------------------------------- geometry


def _bodies(formulation: ReducedFormulation) -> Iterator[Chapter]:
    m = formulation.mechanism
    masses = {mass.link.name: mass for mass in m.masses}
    ground = Chapter("Ground")
    ground.vector("ground_normal", "unit normal of the ground in the world's axes", m.ground_normal)
    yield ground
    for link in m.links:
        chapter = Chapter(f"Body {link.name}: place and mass")
        _steps(chapter, link)
        chapter.vector(f"{link.name}_up", f"the world's vertical in the axes of {_axes_of(link)}", m.up[link.name])
        if link.name in masses:
            mass = masses[link.name]
            with_rotors = f"{link.name} with its rotors" if mass.discs else link.name
            chapter.add(f"{link.name}_mass", f"mass of {with_rotors}", mass.mass)
            chapter.vector(f"{link.name}_center", f"center of mass of {with_rotors}, in its axes", mass.center)
            chapter.matrix(f"{link.name}_inertia", f"inertia of {with_rotors} less the rotors' axial moments", mass.inertia)
        yield chapter


def _axes_of(link: Link) -> str:
    return f"{link.name} before its spin" if link.is_rotor else link.name


def _steps(chapter: Chapter, link: Link) -> None:
    """Turns, rotations and offsets on the way from the parent."""
    parent = link.parent.name if link.parent else "ground"
    for number, (displacement, step) in enumerate(zip(link.joint.chain, link.all_steps, strict=True), 1):
        if isinstance(step, AxisRotation) and isinstance(displacement, Rotate):
            angle = displacement.angle.identifier if isinstance(displacement.angle, Name) else f"{link.joint.name}_turn{number}"
            chapter.add(f"cos_{angle}", f"cosine of the turn '{displacement.angle}' from {parent} to {link.name}", step.c)
            chapter.add(f"sin_{angle}", f"sine of the turn '{displacement.angle}' from {parent} to {link.name}", step.s)
        elif isinstance(step, Translation):
            chapter.vector(f"{link.joint.name}_offset{number}", f"offset from {parent} to {link.name}", step.by)
        elif isinstance(step, FreeMotion | BallRotation):
            chapter.matrix(f"{link.name}_R", f"rotation from the axes of {link.name} to those of {parent}", step.matrix)


def _contacts(formulation: ReducedFormulation) -> Iterator[Chapter]:
    for rows in formulation.mechanism.rows:
        contact, name = rows.source, rows.source.name
        chapter = Chapter(f"Constraint {name}" if isinstance(contact, ResidualBlock) else f"Contact of {name} with the ground")
        if isinstance(contact, WheelContact | EdgeContact):
            chapter.vector(f"{name}_normal", f"ground's normal in the axes of {_axes_of(contact.link)}", contact.normal)
        if isinstance(contact, WheelContact):
            chapter.add(
                f"{name}_tilt", "length of the normal's projection on the wheel's plane: cosine of its lean", contact.tilt
            )
            chapter.vector(f"{name}_radial", "unit vector in the wheel's plane, away from the ground", contact.radial)
            chapter.vector(f"{name}_arm", f"from the center of {name} to the contact point", contact.arm)
        elif isinstance(contact, EdgeContact):
            chapter.add(f"{name}_reach", "length of the blade's projection on the ground", contact.reach)
            chapter.vector(f"{name}_blade", "unit vector across the blade, in the ground's plane", contact.across)
        for velocity, column in rows.columns.items():
            for row, entry in zip(rows.names, column, strict=True):
                chapter.add(f"A_{row}_{velocity}", f"constraint row {row}: coefficient of {velocity}", entry)
        for row, entry in zip(rows.names, rows.drift, strict=True):
            if not is_zero(entry):
                chapter.add(f"drift_{row}", f"constraint row {row}: explicit time derivative", entry)
        yield chapter


# ---------------------------------------------------------------- reduction


def _kernel(formulation: ReducedFormulation) -> Chapter:
    chapter = Chapter("Kernel of the constraints")
    for velocity, row in formulation.reduction.kernel.items():
        for independent, entry in row.items():
            chapter.add(f"H_{velocity}_{independent}", f"{velocity} per unit of {independent}", entry)
    return chapter


def _dependent(formulation: ReducedFormulation) -> Chapter:
    chapter = Chapter("Dependent velocities")
    for name, value in formulation.dynamics.velocities.items():
        if name not in formulation.independent:
            chapter.add(name, "velocity that the constraints prescribe", value)
    return chapter


class _Motion:
    """Twists, their rates and the tangents of every link, as `reduced_dynamics` forms them."""

    def __init__(self, formulation: ReducedFormulation) -> None:
        self.formulation = formulation
        m, reduction = formulation.mechanism, formulation.reduction
        self.links = m.links
        wheels = [c for c in m.contacts if isinstance(c, WheelContact)]
        velocities = formulation.dynamics.velocities
        self.motion = link_twists(m.links, wheels, velocities)
        standing = link_twist_rates(m.links, [], self.motion, velocities, {})
        self.rates = residual_rates(m.rows, self.motion, standing, velocities)
        self.change = link_twist_rates(m.links, wheels, self.motion, velocities, formulation.dynamics.bias)
        self.masses = {mass.link.name: mass for mass in m.masses}
        self.columns = {name: link_twists(m.links, wheels, reduction.column(name)) for name in formulation.independent}

    def twists(self) -> Iterator[Chapter]:
        for link in self.links:
            chapter = Chapter(f"Body {link.name}: twist")
            name, twist, axes = link.name, self.motion[link.name], f", axes of {_axes_of(link)}"
            _twist(chapter, twist, f"{name}_V", f"{name}_omega", "", axes)
            if name in self.masses:
                mass = self.masses[name]
                lever = sub(mass.center, twist.reference)
                chapter.vector(f"{name}_lever", "from where the linear velocity is taken to the center of mass", lever)
                chapter.vector(f"{name}_Vc", f"velocity of the center of mass{axes}", twist.at(mass.center))
                chapter.vector(
                    f"{name}_L", "angular momentum about the center of mass, without rotors", times(mass.inertia, twist.angular)
                )
            yield chapter

    def residual_rates(self) -> Chapter:
        chapter = Chapter("Rates of the constraints without accelerations")
        for rows, values in zip(self.formulation.mechanism.rows, self.rates, strict=True):
            source = rows.source
            kind = (
                "constraint"
                if isinstance(source, ResidualBlock)
                else "knife edge"
                if isinstance(source, EdgeContact)
                else "wheel"
            )
            if isinstance(rows.source, WheelContact):
                self._wheel(chapter, rows.source)
            for row, value in zip(rows.names, values, strict=True):
                chapter.add(f"{row}_rate", f"rate of row {row} of the {kind} when all accelerations are zero", value)
        return chapter

    def _wheel(self, chapter: Chapter, contact: WheelContact) -> None:
        angular = self.motion[contact.link.name].angular
        rates = self.formulation.dynamics.velocities
        chapter.vector(f"{contact.name}_spin", "angular velocity of the wheel, spin included", contact.wheel_rate(angular, rates))
        chapter.vector(f"{contact.name}_arm_rate", "rate of the arm to the contact point", contact.arm_rate(angular))

    def bias(self) -> Chapter:
        chapter = Chapter("Accelerations of the dependent velocities when the independent ones have none")
        for name, value in self.formulation.dynamics.bias.items():
            chapter.add(f"{name}_bias", f"acceleration of {name} when the independent accelerations are zero", value)
        return chapter

    def tangents(self) -> Iterator[Chapter]:
        for link in self.links:
            name = link.name
            chapter = Chapter(f"Body {name}: rate of the twist, and motion per unit of each independent velocity")
            _twist(chapter, self.change[name], f"{name}_V_rate", f"{name}_omega_rate", "rate of the ", " without accelerations")
            if name in self.masses:
                self._acceleration(chapter, link)
            for independent, column in self.columns.items():
                self._tangent(chapter, name, independent, column[name])
            yield chapter

    def _acceleration(self, chapter: Chapter, link: Link) -> None:
        m, name = self.formulation.mechanism, link.name
        mass, twist, change = self.masses[name], self.motion[name], self.change[name]
        moved = add(change.at(mass.center), cross(twist.angular, twist.at(mass.center)))
        felt = add(moved, scale(m.gravity, m.up[name]))
        chapter.vector(f"{name}_ac", "acceleration of the center of mass without accelerations, less gravity", felt)
        chapter.vector(f"{name}_push", "mass times that acceleration", scale(mass.mass, felt))

    def _tangent(self, chapter: Chapter, name: str, independent: str, twist: Twist) -> None:
        per = f" per {independent}"
        _twist(chapter, twist, f"{name}_V_per_{independent}", f"{name}_omega_per_{independent}", "", per)
        if name not in self.masses:
            return
        mass = self.masses[name]
        center = twist.at(mass.center)
        chapter.vector(f"{name}_Vc_per_{independent}", f"velocity of the center of mass{per}", center)
        chapter.vector(f"{name}_p_per_{independent}", f"momentum{per}", scale(mass.mass, center))
        chapter.vector(
            f"{name}_L_per_{independent}", f"angular momentum{per}, without rotors", times(mass.inertia, twist.angular)
        )
        for disc in mass.discs:
            share = twist.angular[disc.axis] + self.formulation.reduction.column(independent).get(disc.velocity, 0)
            chapter.add(f"{disc.velocity}_share_per_{independent}", f"absolute spin of the rotor of {disc.velocity}{per}", share)
            chapter.add(f"{disc.velocity}_L_per_{independent}", f"axial momentum of the rotor{per}", disc.moment * share)


def _twist(chapter: Chapter, twist: Twist, linear: str, angular: str, before: str, after: str) -> None:
    chapter.vector(angular, f"{before}angular velocity{after}", twist.angular)
    chapter.vector(linear, f"{before}linear velocity{after}", twist.linear)


def _reduced(formulation: ReducedFormulation) -> Chapter:
    chapter = Chapter("Reduced mass matrix and force")
    names = list(formulation.independent)
    for i, row in enumerate(names):
        for j, column in enumerate(names[: i + 1]):
            chapter.add(f"M_{row}_{column}", f"reduced mass matrix, {row} and {column}", formulation.dynamics.mass_matrix[i][j])
    for name, value in zip(names, formulation.dynamics.force, strict=True):
        chapter.add(f"F_{name}", f"reduced force on {name}", value)
    return chapter


def _accelerations(formulation: ReducedFormulation) -> Chapter:
    chapter = Chapter("Accelerations, from the reduced mass matrix and force")
    for name, value in formulation.dynamics.accelerations.items():
        chapter.add(f"{name}_dot", f"acceleration of {name}", value)
    return chapter
