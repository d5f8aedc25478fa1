"""Feedback linearization: inputs that make outputs follow linear equations with chosen poles, exactly.

An output's deviation e = y − r(t) is differentiated along the motion until the controls appear, ρ times (its relative degree,
found in `control/relative_degree.py`): e^(ρ) = b(t, x) + E(t, x) u. The law solves E u = −b − Σ c_k e^(k) with
s^ρ + Σ c_k s^k = Π (s − p).
The eigenvalues of the zero dynamics, which the outputs do not show, are the invariant zeros of the linear model.

Computed torque is the case of a fully actuated mechanism with all coordinates and ρ = 2: there is no zero dynamics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.control.design.closed_loop import close_loop, input_laws, with_expressions
from draisine.control.path import OnPath, on_path
from draisine.control.plant import Plant, stacked
from draisine.errors import ArgumentError
from draisine.expr.expression import Expr, Name
from draisine.model.model import Model
from draisine.model.quantities import Amount, amount_in
from draisine.model.system import System
from draisine.program.arguments import checked
from draisine.program.equations import Equations, Quantity
from draisine.results.base import html_text
from draisine.results.controllability import complex_text
from draisine.results.linear import zeros_of
from draisine.stability.linearization import Motion, linearize

Poles = complex | Sequence[complex] | Mapping[str, Sequence[complex]]

SEEN = 1e-9  # smallest effect of a control, relative to the derivatives of an output


@dataclass(frozen=True, eq=False)
class LinearizingFeedback:
    """A feedback linearizing law; `on(model)` gives the equations of the closed loop.

    - `degrees`: relative degree of each output; `poles`: poles of its deviation.
    - `zeros`: eigenvalues of the zero dynamics about the design motion.
    """

    model: str
    outputs: dict[str, Expr]  # with their references
    controls: tuple[str, ...]
    degrees: dict[str, int]
    poles: dict[str, tuple[complex, ...]]
    zeros: NDArray[np.complex128]

    @property
    def own_states(self) -> tuple[Quantity, ...]:
        return ()

    @property
    def stable(self) -> bool:
        """Whether the zero dynamics is stable; zeros at the origin (positions, angles of wheels) are permitted."""
        return bool(np.all(self.zeros.real <= 1e-9))

    def chains(self, plant: Plant) -> list[list[ca.SX]]:
        """For each output e, ė, … up to the derivative that contains the controls."""
        found = []
        for name, reference in self.outputs.items():
            chain = [plant.path_residual(name, Name(name) - reference)]
            for _ in range(self.degrees[name]):
                constant = ca.substitute(chain[-1], plant.u, ca.SX.zeros(plant.u.numel())) if len(chain) > 1 else chain[-1]
                chain[-1] = constant
                chain.append(plant.along(constant))
            found.append(chain)
        return found

    def commands(self, plant: Plant, own: Mapping[str, ca.SX]) -> list[ca.SX]:
        chains = self.chains(plant)
        last = stacked([chain[-1] for chain in chains])
        matrix = ca.jacobian(last, plant.u)
        wanted = []
        for name, chain in zip(self.outputs, chains, strict=True):
            coefficients = np.real(np.poly(self.poles[name]))[::-1]  # lowest power first
            wanted.append(sum((float(c) * e for c, e in zip(coefficients[:-1], chain[:-1], strict=True)), ca.SX(0)))
        bare = ca.substitute(last, plant.u, ca.SX.zeros(plant.u.numel()))
        solved = ca.solve(matrix, -bare - stacked(wanted))
        return [solved[i] for i in range(plant.u.numel())]

    def rates(self, plant: Plant, own: Mapping[str, ca.SX], commands: Sequence[ca.SX]) -> list[ca.SX]:
        return []

    def on(self, model: Model | System | Equations, inputs: Mapping[str, Amount] | None = None) -> Equations:
        """The model's equations with this law compiled in; `inputs` are laws of other inputs."""
        return close_loop(model, self, inputs)

    def as_data(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        return {
            "model": self.model,
            "controls": self.controls,
            "outputs": {name: str(reference) for name, reference in self.outputs.items()},
            "degrees": self.degrees,
            "poles": {name: [{"re": z.real, "im": z.imag} for z in poles] for name, poles in self.poles.items()},
            "zeros": [{"re": float(z.real), "im": float(z.imag)} for z in self.zeros],
        }

    def __str__(self) -> str:
        lines = [f"{self.model}: feedback linearization by {', '.join(self.controls)}"]
        for name, reference in self.outputs.items():
            poles = ", ".join(complex_text(z) for z in self.poles[name])
            lines.append(f"  {name} = {reference}: relative degree {self.degrees[name]}, poles {poles}")
        if len(self.zeros):
            zeros = ", ".join(complex_text(z) for z in self.zeros)
            fate = "" if self.stable else " (unstable)"
            lines.append(f"  zero dynamics: {zeros}{fate}")
        else:
            lines.append("  no zero dynamics: the outputs determine the motion")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html_text(self)


@checked
def feedback_linearization(
    model: Model | System | Equations,
    reference: Mapping[str, Amount],
    *,
    controls: Sequence[str],
    poles: Poles,
    at: Mapping[str, float] | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, Amount] | None = None,
) -> LinearizingFeedback:
    """A law by which outputs follow references; deviations of any size decay with the chosen poles.

    - `reference`: states or outputs of motion with their references, numbers or expressions of t, one for each control.
    - `poles`: as many as the output's relative degree, for all or by output; a number is repeated.
    - `at`: targets for the design motion, as in `simulate`; `controls`: names of the inputs that the law sets.
    - `parameters`: values by name; `inputs`: the other inputs, numbers or laws.

    >>> import sympy as sp
    >>> import draisine as dr
    >>> x, v, force = sp.symbols("x v force")
    >>> mass = dr.first_order("mass", {x: v, v: force - x**3}, inputs=[force])
    >>> print(feedback_linearization(mass, {"x": "sin(t)"}, controls=["force"], poles=[-2, -3]))
    mass: feedback linearization by force
      x = sin(t): relative degree 2, poles -2, -3
      no zero dynamics: the outputs determine the motion
    """
    controls = (controls,) if isinstance(controls, str) else tuple(controls)
    wanted = {name: amount_in(value, None, f"reference of {name!r}") for name, value in reference.items()}
    path: dict[str, Amount] = {name: Name(name) - value for name, value in wanted.items()}
    problem = on_path(model, path, controls, start=dict(at or {}), parameters=parameters, inputs=inputs)
    if problem.found.combined:
        raise ArgumentError(
            f"{problem.plant.name}: {'; '.join(problem.found.combined)}; no static law linearizes {', '.join(wanted)}: "
            "choose outputs that depend differently on the controls, or use the rate of a control as the control"
        )
    if not problem.solved:
        raise ArgumentError(f"{problem.plant.name}: {', '.join(controls)} enter nonlinearly; use their rates as the controls")
    degrees = {name: problem.degrees[name] for name in wanted}
    law = LinearizingFeedback(
        problem.plant.name, wanted, controls, degrees, _poles(problem.plant.name, poles, degrees), np.zeros(0, complex)
    )
    plain = with_expressions(model, input_laws(inputs))
    _check_degrees(law, Plant(plain, controls), problem)
    return LinearizingFeedback(law.model, law.outputs, law.controls, degrees, law.poles, _zeros(plain, law, problem))


@checked
def computed_torque(
    model: Model | System | Equations,
    reference: Mapping[str, Amount],
    *,
    poles: Poles,
    controls: Sequence[str] | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, Amount] | None = None,
) -> LinearizingFeedback:
    """Computed torque: a fully actuated mechanism follows coordinates in time; deviations decay with two poles each.

    - `reference`: coordinates with their motion, numbers or expressions of t.
    - `controls`: names of the inputs that the law sets; by default all.
    - `poles`, `parameters`, `inputs`: as in `feedback_linearization`.
    """
    plain = with_expressions(model, input_laws(inputs))
    names = tuple(controls) if controls is not None else tuple(q.name for q in plain.inputs if q.name not in (inputs or {}))
    freedoms = len(plain.independent) if plain.velocities else len(reference)
    if not len(names) == len(reference) == freedoms:
        raise ArgumentError(
            f"{plain.name} has {freedoms} degrees of freedom, {len(names)} controls ({', '.join(names) or 'none'}) and "
            f"{len(reference)} references ({', '.join(reference) or 'none'}); computed torque needs equal numbers: "
            "add inputs to the model, or control some outputs with feedback_linearization"
        )
    law = feedback_linearization(model, reference, controls=names, poles=poles, parameters=parameters, inputs=inputs)
    low = [name for name, degree in law.degrees.items() if degree != 2]
    if low:
        raise ArgumentError(
            f"{plain.name}: the controls appear in {low[0]!r} after {law.degrees[low[0]]} differentiations, not two; computed "
            "torque is for coordinates"
        )
    return law


# ---------------------------------------------------------------------------------------------------- checks


def _poles(model: str, poles: Poles, degrees: Mapping[str, int]) -> dict[str, tuple[complex, ...]]:
    found = {}
    for name, degree in degrees.items():
        given = poles.get(name) if isinstance(poles, Mapping) else poles
        if given is None:
            raise ArgumentError(f"{model}: no poles are given for {name!r}; give {degree}")
        listed = (complex(given),) * degree if isinstance(given, int | float | complex) else tuple(complex(z) for z in given)
        if len(listed) != degree:
            raise ArgumentError(f"{model}: {len(listed)} poles for {name!r}, whose relative degree is {degree}; give {degree}")
        for z in listed:
            if listed.count(z) != listed.count(z.conjugate()):
                raise ArgumentError(f"{model}: the pole {complex_text(z)} of {name!r} has no conjugate; give both")
            if not (z.real < 0 and np.isfinite(z)):
                raise ArgumentError(
                    f"{model}: the pole {complex_text(z)} of {name!r} is not stable; give a finite one with a negative real part"
                )
        found[name] = listed
    return found


def _check_degrees(law: LinearizingFeedback, plant: Plant, problem: OnPath) -> None:
    """Next to the path the controls must not appear earlier than on it."""
    rng = np.random.default_rng(11)
    chains = law.chains(plant)
    x0 = problem.x[: plant.x.numel()]
    for name, chain in zip(law.outputs, chains, strict=True):
        early = stacked([plant.along(e) for e in chain[:-2]])
        if not early.numel() or not ca.depends_on(early, plant.u):
            continue
        jacobians = ca.Function("jacobian", plant.arguments, [ca.densify(ca.jacobian(early, plant.u)), early])
        for _ in range(3):
            x = x0 + 0.05 * rng.uniform(-1, 1, len(x0)) * np.maximum(1.0, np.abs(x0))
            jacobian, value = (np.array(m.full()) for m in jacobians(0.1, x, problem.inputs, problem.p))
            if np.abs(jacobian).max() > SEEN * max(1.0, float(np.abs(value).max())):
                raise ArgumentError(
                    f"{law.model}: {name!r} depends on the controls after {law.degrees[name]} differentiations on its "
                    "reference, and earlier next to it: its relative degree is not defined; choose another output"
                )


def _zeros(plain: Equations, law: LinearizingFeedback, problem: OnPath) -> NDArray[np.complex128]:
    """Invariant zeros of the linear model at the start."""
    x = problem.x[: len(plain.states)]
    linear = linearize(Motion(plain, x, problem.inputs, problem.p)).with_outputs(*law.outputs)
    part = linear.essential(tuple(law.outputs))
    into = [part.inputs.index(name) for name in law.controls]
    return zeros_of(part.A, part.B[:, into], part.C, part.D[:, into])
