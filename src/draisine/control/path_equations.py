"""Equations of a system on a path: the controls are solved for, the path and its derivatives are constraints.

Controls that enter the last derivative of the path linearly are solved for at every evaluation. Where they enter nonlinearly (an
angle of attack) the last derivative is differentiated once more, and they become states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from draisine.control.plant import Plant, stacked
from draisine.control.relative_degree import Degrees, Row, Sample
from draisine.program.equations import Constraint, Equations, Event, Kind, Quantity, RunLimits
from draisine.program.linear_solve import LinearSolveProgram, Slots
from draisine.program.program import Program

# the determinant of the decoupling matrix crosses zero, which a long step could miss
LOSS = Event(
    "loss_of_control", "determinant of the decoupling matrix", "stop", description="a control loses its effect on the path"
)
LIMIT = 1e4  # of the condition of the scaled decoupling matrix


@dataclass(frozen=True, eq=False)
class Followed:
    """A plant on its path; `samples` are points on it, the first near the start."""

    plant: Plant
    found: Degrees
    samples: tuple[Sample, ...]

    @cached_property
    def linear(self) -> bool:
        """Whether the controls enter the last derivative linearly."""
        return not ca.depends_on(self._matrix, self.plant.u)

    def equations(self, reference: Sequence[float]) -> Equations:
        """The equations; all states are coordinates, `reference` are their defaults."""
        e = self.plant.equations
        units = {q.name: q.unit for q in (*e.states, *e.inputs, *e.parameters)}
        defaults = zip(self.coordinates, reference, strict=True)
        return Equations(
            name=e.name,
            coordinates=tuple(Quantity(q.name, q.unit, q.description, float(value)) for q, value in defaults),
            velocities=(),
            independent=(),
            inputs=e.inputs,
            parameters=e.parameters,
            multipliers=self.plant.quantities if self.linear else (),
            outputs=self._outputs[0],
            force_outputs=frozenset(),
            constraints=tuple(constraint for constraint, _ in self._constraints),
            dynamics=self._program("dynamics", {"xdot": (self._rates, [f"d{q.name}/dt" for q in self.coordinates])}, units),
            report=self._program("report", self._report_slots(), units),
            motion=self._motion(),
            project=self._project(),
            monitor=Program.build(f"{e.name}_monitor", self._arguments(), {"condition": self._condition}),
            causes=self._causes(),
            events=Program.build(f"{e.name}_events", self._arguments(), {"value": (ca.det(self._scaled), [LOSS.name])}),
            event_list=(LOSS,),
            limits=RunLimits(condition=LIMIT),
            notes=tuple(self.notes()),
        )

    def notes(self) -> list[str]:
        degrees = self.found.degrees.items()
        lines = [f"{name!r} depends on the controls after {times} differentiation{'s' * (times > 1)}" for name, times in degrees]
        lines.append(f"with {', '.join(self.plant.controls)} as unknowns the system has index {self.found.index}")
        how = "are solved for at every evaluation" if self.linear else "enter nonlinearly and are states"
        return [*lines, *self.found.combined, f"the controls {how}"]

    # ---------------------------------------------------------------- states

    @property
    def coordinates(self) -> tuple[Quantity, ...]:
        return (*self.plant.equations.states, *(() if self.linear else self.plant.quantities))

    @cached_property
    def x(self) -> ca.SX:
        return self.plant.x if self.linear else ca.vertcat(self.plant.x, self.plant.u)

    def _arguments(self, state: str = "x") -> dict[str, tuple[ca.SX, Sequence[str]] | ca.SX]:
        """Arguments of the programs; values passed for the controls are not used."""
        plant, e = self.plant, self.plant.equations
        return {
            "t": (plant.t, ["t"]),
            state: (self.x, [q.name for q in self.coordinates]),
            "u": (self._passed, [q.name for q in e.inputs]),
            "p": (plant.p, [q.name for q in e.parameters]),
        }

    @cached_property
    def _passed(self) -> ca.SX:
        """Symbols of the inputs: those of the plant for given inputs, unused ones for the controls."""
        idle = [q.name in self.plant.controls for q in self.plant.equations.inputs]
        return stacked([ca.SX.sym("idle") if is_idle else self.plant.inputs[i] for i, is_idle in enumerate(idle)])

    # ---------------------------------------------------------------- dynamics

    @cached_property
    def _matrix(self) -> ca.SX:
        return ca.jacobian(self.found.phi, self.plant.u)

    @cached_property
    def _sought(self) -> ca.SX:
        """The unknowns: the controls, or their rates."""
        return self.plant.u if self.linear else ca.SX.sym("control_rate", self.plant.u.numel())

    @cached_property
    def _rates(self) -> ca.SX:
        return self.plant.rates if self.linear else ca.vertcat(self.plant.rates, self._sought)

    @cached_property
    def _side(self) -> ca.SX:
        plant, phi = self.plant, self.found.phi
        return -ca.substitute(phi, plant.u, ca.SX.zeros(plant.u.numel())) if self.linear else -plant.along(phi)

    def _program(self, what: str, results: Slots, units: dict[str, str]) -> Program | LinearSolveProgram:
        name = f"{self.plant.equations.name}_on_path_{what}"
        z = ca.SX.sym("z", self._sought.numel())
        put_in: dict[str, tuple[ca.SX, Sequence[str]] | ca.SX] = {}
        for slot, value in results.items():
            expression, labels = value if isinstance(value, tuple) else (value, ())
            put_in[slot] = (ca.substitute(expression, self._sought, z), labels)
        return LinearSolveProgram.build(name, self._arguments(), self._matrix, self._side, z, put_in)

    # ---------------------------------------------------------------- constraints

    @cached_property
    def conditions(self) -> list[Row]:
        """The path and its derivatives, as conditions on the states."""
        return [*self.found.conditions, *(() if self.linear else self.found.last)]

    @cached_property
    def _constraints(self) -> list[tuple[Constraint, ca.SX]]:
        """Constraints of the system that involve states, and of the path."""
        plant, e = self.plant, self.plant.equations
        jacobians = ca.Function("jacobian", plant.arguments, [ca.densify(ca.jacobian(plant.residuals, plant.x))])
        sizes = np.max([np.abs(jacobians(*s.arguments).full()).max(axis=1, initial=0.0) for s in self.samples], axis=0)
        own = [(c, plant.residuals[i]) for i, c in enumerate(e.constraints) if sizes[i] > 1e-9]
        return [
            *own,
            *((Constraint(r.label, Kind.HIDDEN if r.times else Kind.ALGEBRAIC, "position"), r.residual) for r in self.conditions),
        ]

    @cached_property
    def residuals(self) -> ca.SX:
        return stacked([residual for _, residual in self._constraints])

    def _labeled(self) -> tuple[ca.SX, list[str]]:
        return self.residuals, [f"{c.name}_{c.level}" for c, _ in self._constraints]

    def _project(self) -> LinearSolveProgram:
        """One least-norm Newton step onto the constraints."""
        side = self.residuals
        jacobian = ca.jacobian(side, self.x)
        z = ca.SX.sym("z", side.numel())
        results: dict[str, tuple[ca.SX, Sequence[str]] | ca.SX] = {
            "x_new": (self.x - jacobian.T @ z, [q.name for q in self.coordinates]),
            "error": (ca.norm_inf(side), ["error"]),
        }
        return LinearSolveProgram.build(
            f"{self.plant.equations.name}_on_path_project", self._arguments(), jacobian @ jacobian.T, side, z, results
        )

    # ---------------------------------------------------------------- reported quantities

    def _report_slots(self) -> dict[str, tuple[ca.SX, Sequence[str]] | ca.SX]:
        plant = self.plant
        return {
            "v": ca.SX(0, 1),
            "multipliers": (plant.u, plant.controls) if self.linear else ca.SX(0, 1),
            "outputs": (self._outputs[1], [q.name for q in self._outputs[0]]),
            "residuals": self._labeled(),
            "inputs": plant.inputs,
        }

    @cached_property
    def _outputs(self) -> tuple[tuple[Quantity, ...], ca.SX]:
        """Outputs of motion, and velocities that are not states; all may be targets of a start."""
        plant, e = self.plant, self.plant.equations
        reported = {q.name: q for q in e.outputs}
        known = {*plant.output_names, *(q.name for q in e.states)}
        others = [(v, plant.velocities[i]) for i, v in enumerate(e.velocities) if v.name not in known]
        quantities = (*(reported[name] for name in plant.output_names), *(v for v, _ in others))
        return quantities, ca.vertcat(plant.outputs, *(value for _, value in others))

    def _motion(self) -> Program:
        slots = self._arguments("q")
        arguments = {"t": slots["t"], "q": slots["q"], "v": ca.SX.sym("v", 0), "u": slots["u"], "p": slots["p"]}
        outputs = (self._outputs[1], [q.name for q in self._outputs[0]])
        return Program.build(
            f"{self.plant.equations.name}_on_path_motion", arguments, {"residuals": self._labeled(), "outputs": outputs}
        )

    # ---------------------------------------------------------------- loss of control

    @cached_property
    def _scaled(self) -> ca.SX:
        """The decoupling matrix, scaled so that the largest entries of rows and columns around the start are one."""
        plant = self.plant
        matrix = ca.Function("b", plant.arguments, [ca.densify(self._matrix)])
        largest = np.max([np.abs(matrix(*s.arguments).full()) for s in self.samples], axis=0)
        columns = np.where(largest.max(axis=0) > 0, largest.max(axis=0), 1.0)
        rows = (largest / columns).max(axis=1)
        rows = np.where(rows > 0, rows, 1.0)
        return self._matrix / ca.repmat(ca.DM(rows), 1, len(columns)) / ca.repmat(ca.DM(columns).T, len(rows), 1)

    @cached_property
    def _condition(self) -> ca.SX:
        return ca.norm_inf(ca.vec(ca.inv(self._scaled)))

    def _causes(self) -> Program:
        """For each control the inverse of its effect on the path that the others cannot replace."""
        inverse = ca.inv(self._scaled)
        weak = [ca.norm_inf(inverse[i, :].T) for i in range(self.plant.u.numel())]
        names = [f"the control {name!r} loses its effect on the path" for name in self.plant.controls]
        arguments = self._arguments()
        return Program.build(f"{self.plant.equations.name}_causes", arguments, {"value": (stacked(weak), names)})
