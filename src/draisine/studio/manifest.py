"""Manifest of a model for the page: names, units, limits, appearance, and tables of the runtime."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine import gallery
from draisine.errors import ModelError
from draisine.expr.expression import Number
from draisine.model.system import System
from draisine.program.branches import branches_at
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual, Program
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.result import Start
from draisine.simulation.initial.solver import MAX_RESTED
from draisine.simulation.methods.dop853 import DOP853
from draisine.simulation.mode_machine import KERNELS, contents, machine_record, plain_contents
from draisine.studio import ranges
from draisine.studio.appearance import Appearance, mesh_sensitivities
from draisine.studio.free_quantities import FreeQuantities
from draisine.studio.programs import Programs, amount_names
from draisine.view.film.footage import Footage
from draisine.view.plots.contact_modes import MODE_COLORS


def pace(name: str) -> float:
    """Simulated seconds per second of the page."""
    return gallery.live(name).pace


def default_start(equations: Equations, name: str) -> dict[str, float]:
    """Default initial conditions of a model in the page."""
    known = {*equations.motion.output("outputs").labels, *(q.name for q in (*equations.states, *equations.velocities))}
    given = gallery.live(name).start or gallery.live(equations.name).start
    return {quantity: value for quantity, value in given.items() if quantity in known}


Array = NDArray[np.float64]

STEP = 0.002  # s: eight steps per frame, errors of a bicycle's step below 1e-9
TOLERANCE = 1e-6  # relative, of steps with contacts that open
_STEP_OF_CONTACTS = 0.008  # s: two steps per frame, whose lengths the loop chooses
_FINE = 0.15  # step size times the fastest rate of the equations
_LEAST_STEP = 5e-5  # smaller steps cannot run in real time
_FALL = math.radians(80)
ENERGIES = ("kinetic_energy", "potential_energy", "total_energy")
_PUSHES = ("push",)


@dataclass(frozen=True, eq=False)
class Manifest:
    """Builder of the manifest; `name` is that of the gallery or the caller."""

    programs: Programs
    name: str
    description: str
    step: float | None = None

    @property
    def equations(self) -> Equations:
        return self.programs.equations

    @property
    def system(self) -> System | None:
        return self.programs.system

    @cached_property
    def targets(self) -> dict[str, float]:
        return default_start(self.equations, self.name)

    @cached_property
    def start(self) -> Start:
        return consistent_start(self.programs.starts, self.targets)

    @cached_property
    def freedoms(self) -> FreeQuantities:
        return FreeQuantities(self.programs.starts, self.start)

    def data(self) -> dict[str, Any]:
        """The manifest as plain JSON data."""
        e = self.equations
        linear = self.programs.straight
        return {
            "name": self.name,
            "title": self.name.replace("_", " "),
            "description": self.description,
            "states": [{"name": s.name, "unit": s.unit} for s in e.states],
            "inputs": self._inputs(),
            "parameters": [
                {
                    "name": p.name,
                    "unit": p.unit,
                    "default": p.default,
                    **_limits(ranges.parameter_range(p)),
                    "step": ranges.parameter_range(p).step,
                    "description": p.description,
                }
                for p in e.parameters
            ],
            "outputs": self._outputs(),
            "targets": self._targets(),
            "start": self.targets,
            **self._looks(),
            "linear": None
            if linear is None
            else {"sweep": "speed", "low": linear.low, "high": linear.high, "names": list(linear.states)},
            "push": self._push(),
            "pace": pace(self.name),
            "ride_suffix": ".csv",
            "runtime": self._runtime(),
        }

    # ---------------------------------------------------------------- names and limits

    def _inputs(self) -> list[dict[str, Any]]:
        weight, length = ranges.weight_and_length(self.equations, self.system)
        found = []
        for u in self.equations.inputs:
            limits = ranges.input_range(u, weight, length)
            found.append({"name": u.name, "unit": u.unit, **_limits(limits), "step": limits.step, "description": u.description})
        return found

    def _outputs(self) -> list[dict[str, Any]]:
        e = self.equations
        found = [{"name": o.name, "unit": o.unit, "description": o.description} for o in e.outputs]
        if self._slots["report"].get("energy"):
            found += [{"name": name, "unit": "J", "description": name.replace("_", " ")} for name in ENERGIES]
        return found

    @cached_property
    def _slots(self) -> dict[str, dict[str, int]]:
        return self.programs.slots()

    def _targets(self) -> list[dict[str, Any]]:
        values = self._at_start()
        found = []
        for q in ranges.start_quantities(self.equations, self.freedoms.decided - self.targets.keys(), self.targets):
            value = self.targets.get(q.name, values.get(q.name, q.default))
            if not math.isfinite(value):  # the curvature of a path at rest
                continue
            found.append({"name": q.name, "unit": q.unit, "default": value, **_limits(ranges.target_range(q, value))})
        return found

    def _at_start(self) -> dict[str, float]:
        e, begin = self.equations, self.start
        labels = e.motion.output("outputs").labels
        slots = [s.name for s in e.motion.outputs]
        u, p = np.zeros(len(e.inputs)), begin.given[2]
        given: dict[str, ArrayLike] = {"t": [0.0], "q": begin.q, "v": begin.v, "u": u, "p": p}
        reported = e.motion(*(given[slot.name] for slot in e.motion.inputs))[slots.index("outputs")]
        found = dict(zip(labels, reported.tolist(), strict=True))
        found |= dict(zip((v.name for v in e.velocities), begin.v.tolist(), strict=True))
        return found | dict(zip((q.name for q in e.coordinates), begin.q.tolist(), strict=True))

    # ---------------------------------------------------------------- looks

    def _looks(self) -> dict[str, Any]:
        if self.system is None:
            return {"bodies": [], "size": 1.0, "solids": None, "follow": None, "ground": None, "wheels": [], "forces": []}
        looks = self._appearance_of(self.system, self.start)
        return {
            "bodies": [body.name for body in self.system.bodies],
            "size": looks.footage.extent,
            "solids": looks.solids(),
            "follow": looks.follow(),
            "ground": looks.ground(),
            "wheels": looks.wheels(),
            "forces": looks.forces(),
            "morphs": mesh_sensitivities(self.system, looks.footage, self._reaches(), self._footage_of),
        }

    def _appearance_of(self, system: System, start: Start, on_ground: bool = True) -> Appearance:
        looked = self.programs.table["poses"]
        assert isinstance(looked, Program)
        values = {p.name: p.default for p in system.parameters}
        (poses,) = looked([0.0], start.x, [values.get(p.name, p.default) for p in self.equations.arguments])
        bodies = [body.name for body in system.bodies]
        matrices = {b: m.reshape(3, 4, order="F") for b, m in zip(bodies, poses.reshape(len(bodies), 12), strict=True)}
        return Appearance(system, self.equations, matrices, on_ground)

    def _footage_of(self, system: System) -> Footage:
        """Footage of a system with other default parameters at a consistent start, without the ground."""
        own = {p.name for p in self.equations.parameters}
        values = {p.name: p.default for p in system.parameters if p.name in own}
        start = consistent_start(self.programs.starts, self.targets, parameters=values)
        return self._appearance_of(system, start, on_ground=False).footage

    def _reaches(self) -> dict[str, tuple[float, float]]:
        limits = {p.name: ranges.parameter_range(p) for p in self.equations.parameters}
        return {name: (found.low, found.high) for name, found in limits.items()}

    def _push(self) -> dict[str, Any] | None:
        """The input of a push impulse: a side force if there is one."""
        inputs = self.equations.inputs
        named = [u for u in inputs if u.name in _PUSHES] or [u for u in inputs if u.unit == "N"]
        if named:
            weight, _ = ranges.weight_and_length(self.equations, self.system)
            return {"input": named[0].name, "unit": "N*s", "amount": ranges.round_number(0.03 * weight) if weight else 1.0}
        rates = [v for v in self.equations.independent if v in ("roll_rate", "lean_rate", "frame_wx", "rear_slant_rate")]
        return {"state": rates[0], "unit": "rad/s", "amount": 0.2} if rates else None

    # ---------------------------------------------------------------- time

    @cached_property
    def _fastest(self) -> float:
        """Approximate spectral radius of the Jacobian at the start, 1/s, by finite differences with fixed branches."""
        e, x, switching = self.equations, self.start.x, self.programs.switching
        u, p, dynamics = np.zeros(len(e.inputs)), np.asarray(e.default_parameters), e.explicit
        if switching is not None and not isinstance(switching.dynamics, DaeResidual):
            dynamics, p = switching.dynamics, np.concatenate([p, branches_at(switching, 0.0, x, u, p).values])

        def rate(state: Array) -> Array:
            return dynamics([0.0], state, u, p)[0]

        sizes = 1e-6 * np.maximum(np.abs(x), 1e-2)
        columns = [(rate(x + move) - rate(x - move)) / (2 * size) for size, move in zip(sizes, np.diag(sizes), strict=True)]
        matrix = np.array(columns).T
        return float(np.abs(np.linalg.eigvals(matrix)).max(initial=0.0)) if np.isfinite(matrix).all() else 0.0

    @cached_property
    def step_length(self) -> float:
        if self.step is not None:
            return self.step
        if self.equations.unilateral:
            return ranges.round_number(_STEP_OF_CONTACTS * pace(self.name))
        usual = STEP * pace(self.name)
        step = min(usual, _FINE / self._fastest) if self._fastest else usual
        if step < _LEAST_STEP:
            raise ModelError(
                f"{self.name!r} cannot run in the studio: its fastest rate is {self._fastest:.3g} 1/s, and an explicit step "
                f"would have to be {step:.2g} s, less than the {_LEAST_STEP:g} s possible in real time; "
                f"soften its springs and dampers{self._stiff_slip}"
            )
        return ranges.round_number(step)

    @property
    def _stiff_slip(self) -> str:
        """A cure for wheels whose forces are divided by their speed, which is zero at a start at rest."""
        wheels = () if self.system is None else self.system.wheels
        laws = [(w.name, w.contact) for w in wheels if hasattr(w.contact, "speed") and not getattr(w.contact, "relaxes", False)]
        return f"; wheel {laws[0][0]!r} divides its slip by a speed: give its law a larger speed=" if laws else ""

    # ---------------------------------------------------------------- tables of the runtime

    def _runtime(self) -> dict[str, Any]:
        e = self.equations
        own = len(e.coordinates)
        velocities = [v.name for v in e.velocities]
        outputs = [o.name for o in e.outputs]
        linear = self.programs.straight
        return {
            "step": self.step_length,
            "slots": self._slots,
            "coordinates": own,
            "velocities": velocities,
            "velocity_units": [v.unit for v in e.velocities],
            "independent": [velocities.index(name) for name in e.independent],
            "extra": [s.default for s in e.extra_states],
            "multipliers": [{"name": m.name, "unit": m.unit} for m in e.multipliers],
            "condition_limit": e.limits.condition,
            "residual_limit": e.limits.residual or 1e-10,
            "events": [
                {"name": v.name, "stop": v.action == "stop", "description": v.description or v.name} for v in e.event_list
            ],
            "switches": self._switches(),
            "machine": self._machine(),
            "fall": {"lean": outputs.index("lean"), "most": _FALL} if self._ends_by_lean else None,
            "turned": [k for k, s in enumerate(e.states) if s.name == "steer" and not e.unilateral],
            "exact": linear.exact if linear is not None else None,
            "kept": self._kept(),
            "starts": self._starts(),
            "amounts": self._amounts(),
        }

    def _switches(self) -> list[dict[str, Any]]:
        found = self.programs.switching
        return [
            {"name": s.name, "kind": str(s.kind), "breaks": list(s.breaks), "at_zero": s.at_zero}
            for s in (found.switches if found is not None else ())
        ]

    def _machine(self) -> dict[str, Any] | None:
        """Contacts that stick, slip and open: the records of the stepping loop, and the modes of the default start."""
        e = self.equations
        if not e.unilateral:
            return None
        p = np.asarray(self.start.given[2], dtype=float)
        record = machine_record(e, self.start.x, p, DOP853(rtol=TOLERANCE, atol=1e-2 * TOLERANCE))
        outputs = [o.name for o in e.outputs]
        places = [[f"{c.name}_contact_{axis}" for axis in "xyz"] for c in e.unilateral]
        return {
            "contacts": [c.name for c in e.unilateral],
            "stands": [c.stands for c in e.unilateral],
            "places": [[outputs.index(name) for name in names] if names[0] in outputs else None for names in places],
            "colors": ["", MODE_COLORS["slip"], MODE_COLORS["stick"]],
            "kernels": KERNELS,
            "record": plain_contents(contents(record)),
            "start": p[len(e.parameters) :].tolist(),
        }

    @property
    def _ends_by_lean(self) -> bool:
        """Whether a lean of 80° is a fall: without events of the model, and without contacts on which it may lie."""
        e = self.equations
        stops = any(event.action == "stop" for event in e.event_list)
        return not stops and not e.unilateral and "lean" in [o.name for o in e.outputs]

    def _kept(self) -> list[str]:
        """Names of quantities kept constant while sliders move: an independent set, lean and speed first."""
        e = self.equations
        quaternions = {name for four in e.quaternions for name in four}
        outputs = [name for name in ("lean", "heading", "speed") if name in self.programs.starts.output_rows]
        places = [q.name for q in e.coordinates if q.name not in quaternions]
        return [
            *self.freedoms.kept("position", [*outputs, *places]),
            *self.freedoms.kept("velocity", [*outputs, *e.independent]),
        ]

    def _starts(self) -> dict[str, Any]:
        """Data of the start solver: references, scales, and sparsity patterns of the Jacobians."""
        problem = self.programs.starts
        q0, v0 = problem.defaults
        scales, ground = problem.scales, problem.assemblies
        return {
            "inputs": [slot.name for slot in self.equations.motion.inputs],
            "homes": problem.kinds,
            "places": problem.output_rows,
            "moving": problem.velocity_dependent.tolist(),
            "names": list(problem.names),
            "constraints": {level: list(rows) for level, rows in problem.constraints.items()},
            "q0": q0.tolist(),
            "v0": v0.tolist(),
            "q": list(problem.unknowns[0]),
            "v": list(problem.unknowns[1]),
            "by_q": [problem.by_q.rows.tolist(), problem.by_q.columns.tolist()],
            "by_v": [problem.by_v.rows.tolist(), problem.by_v.columns.tolist()],
            "lengths": scales.lengths.tolist(),
            "straight": scales.straight.tolist(),
            "quaternions": scales.quaternions.tolist(),
            "others": [places.tolist() for places in scales.others],
            "speeds": scales.speeds.tolist(),
            "periods": problem.periods.tolist(),
            "assemblies": {"count": ground.count, "points": ground.points.tolist(), "turns": ground.turns.tolist()},
            "rest": {**asdict(problem.rest_table), "most": MAX_RESTED},
            "leaps": [leap if math.isfinite(leap) else None for leap in scales.max_steps.tolist()],
        }

    def _amounts(self) -> dict[str, Any] | None:
        """Indices of positive amounts and of inertia tensors; a body declared without mass has none to check."""
        if self.system is None:
            return None
        names = amount_names(self.system)
        place = {name: k for k, name in enumerate(names)}
        heavy = [b.name for b in self.system.bodies if b.mass != Number(0.0)]
        masses = [{"what": f"the mass of {name}", "at": place[f"mass of body {name!r}"]} for name in heavy]
        tensors = [
            {"body": b.name, "at": [place[f"inertia {k} of body {b.name!r}"] for k in ("xx", "yy", "zz", "xy", "yz", "zx")]}
            for b in self.system.bodies
        ]
        radii = [{"what": f"the radius of {w.name}", "at": place[f"radius of wheel {w.name!r}"]} for w in self.system.wheels]
        return {"positive": [*masses, *radii], "tensors": tensors}


def _limits(limits: ranges.Range) -> dict[str, float]:
    return {"low": limits.low, "high": limits.high}
