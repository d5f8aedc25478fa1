"""A system on a prescribed path: relative degrees, reduced equations, and a consistent start (`on_path`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.control.path_equations import Followed
from draisine.control.path_jumps import refuse_impulses
from draisine.control.plant import Plant, paths_of, stacked
from draisine.control.relative_degree import POINTS, Degrees, Differentiation, Sample, moved
from draisine.dynamics.derive import derive
from draisine.dynamics.input_laws import with_laws
from draisine.errors import ArgumentError
from draisine.expr.expression import Expr
from draisine.model.model import Model
from draisine.model.quantities import Amount, amount_in
from draisine.model.system import System
from draisine.program.arguments import numbers, refuse_unilateral
from draisine.program.equations import Equations
from draisine.results.channel import HasState, StateValue, named_start
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import InitialGuess, StartProblem, with_states

Reals = NDArray[np.float64]
Target = float | InitialGuess


@dataclass(frozen=True, eq=False)
class OnPath:
    """A system on a path with its controls as unknowns, and a start.

    `equations` have reduced index: any method integrates them, with the path and its derivatives enforced.
    """

    plant: Equations
    equations: Equations
    found: Degrees
    controls: tuple[str, ...]
    x: Reals  # the start, of `equations`
    inputs: Reals
    p: Reals
    start_report: str

    @property
    def index(self) -> int:
        """Differential index with the controls as unknowns."""
        return self.found.index

    @property
    def degrees(self) -> dict[str, int]:
        """Relative degree of each path constraint: differentiations until the controls appear."""
        return self.found.degrees

    @property
    def solved(self) -> bool:
        """Whether the controls are solved for at every evaluation; otherwise they are states."""
        return bool(self.equations.multipliers)

    def weakest(self, t: float, x: Reals) -> str:
        """A description of the control with the smallest effect on the path at a state."""
        causes = self.equations.causes
        assert causes is not None  # built with the equations
        values = np.nan_to_num(causes([t], x, self.inputs, self.p)[0], nan=np.inf)
        return causes.output("value").labels[int(np.argmax(values))]

    def __str__(self) -> str:
        return "\n".join([f"{self.plant.name} on a path", *(f"  {note}" for note in self.equations.notes)])


def on_path(
    model: Model | System | Equations,
    path: Mapping[str, Amount],
    controls: Sequence[str],
    *,
    start: Mapping[str, Target] | HasState | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, Amount] | None = None,
    horizon: float = 1.0,
) -> OnPath:
    """Make inputs unknowns that enforce a path: determine the index, reduce it, and find a start on the path.

    - `path`, `controls`, `start`, `parameters`, `inputs`: as in `follow`.
    - `horizon`: seconds of the path over which the index is determined, and impulses are looked for: a path whose derivative
      below the relative degree jumps is refused.

    >>> import sympy as sp
    >>> from draisine.symbolic.first_order import first_order
    >>> x, v, force = sp.symbols("x v force")
    >>> mass = first_order("mass", {x: v, v: force / 2 - x}, inputs=[force])
    >>> posed = on_path(mass, {"swing": "x = sin(3*t)"}, ["force"])
    >>> posed.index, posed.degrees, posed.x.tolist()
    (3, {'swing': 2}, [0.0, 3.0])
    """
    refuse_unilateral("on_path", model)
    controls = (controls,) if isinstance(controls, str) else tuple(controls)
    laws, constants = _parted(inputs or {}, controls)
    equations = with_laws(model, laws) if isinstance(model, Equations) else derive(model, laws, (), True)
    plant = Plant(equations, controls)
    rows = paths_of(plant, path)
    p = numbers("parameter", equations.parameters, parameters, equations.dependent_parameters, equations.left_out)
    targets = _targets(equations, start, controls)
    guesses = {name: _number(targets.pop(name)) for name in controls if name in targets}
    u = numbers("input", equations.inputs, constants | guesses)
    begin = consistent_start(StartProblem(equations, compiled=False), targets, parameters=parameters, inputs=constants)
    samples = _around(Sample(0.0, begin.x, u, p), plant, horizon)
    found = Differentiation(plant, rows, samples).degrees()
    for times in range(found.index):  # first the path, then its rates, so that the velocity is known when they are used
        samples = moved(plant, stacked([plant.residuals, *(r.residual for r in found.conditions if r.times <= times)]), samples)
    refuse_impulses(plant, found, samples[0], horizon)
    followed = Followed(plant, found, tuple(samples))
    reference = samples[0].x.tolist()
    if not followed.linear:
        reference += [float(samples[0].inputs[i]) for i, q in enumerate(equations.inputs) if q.name in controls]
    reduced = followed.equations(reference)
    at = consistent_start(StartProblem(reduced, compiled=False), targets, parameters=parameters, inputs=constants)
    problem = OnPath(equations, reduced, found, controls, at.x, u, p, str(at.report))
    _check_start(problem)
    return problem


def _targets(equations: Equations, start: Mapping[str, Target] | HasState | None, controls: Sequence[str]) -> dict[str, Target]:
    """Targets, and the state of a result as guesses, because the path may need another one."""
    given = named_start(start)
    guessed = {name: given.pop(name) for name in controls if name in given}
    found = with_states(equations, given)
    names = {q.name for q in (*equations.coordinates, *equations.velocities)}
    near = {n: InitialGuess(float(v)) if isinstance(v, StateValue) and n in names else v for n, v in found.items()}
    return {**near, **guessed}


def _parted(inputs: Mapping[str, Amount], controls: Sequence[str]) -> tuple[dict[str, Expr], dict[str, float]]:
    laws: dict[str, Expr] = {}
    constants: dict[str, float] = {}
    for name, value in inputs.items():
        if name in controls:
            raise ArgumentError(f"{name!r} is both a control and has a law; remove one of them")
        if isinstance(value, Expr | str):
            laws[name] = amount_in(value, None, f"law of input {name!r}")
        else:
            constants[name] = float(value)
    return laws, constants


def _number(target: Target) -> float:
    return float(target.value if isinstance(target, InitialGuess) else target)


def _spread(u: Reals, plant: Plant) -> Reals:
    """Controls moved away from zero, where an angle may have no effect."""
    idle = np.array([q.name in plant.controls for q in plant.equations.inputs], dtype=bool)
    return np.where(idle & (u == 0.0), 0.01, u)


def _around(start: Sample, plant: Plant, horizon: float) -> list[Sample]:
    """The start, and points near it at several times."""
    rng = np.random.default_rng(7)
    found = [Sample(start.t, start.x, _spread(start.inputs, plant), start.p)]
    for k in range(POINTS):
        x = start.x + 0.02 * rng.uniform(-1.0, 1.0, len(start.x)) * np.maximum(1.0, np.abs(start.x))
        u = _spread(start.inputs, plant) * rng.uniform(0.8, 1.2, len(start.inputs))
        found.append(Sample(0.02 * horizon * k / POINTS, x, u, start.p))
    return found


def _check_start(problem: OnPath) -> None:
    """Refuse a start at which a control has no effect."""
    e = problem.equations
    assert e.monitor is not None  # built with the equations
    if not float(e.monitor([0.0], problem.x, problem.inputs, problem.p)[0][0]) < 1e8:
        raise ArgumentError(
            f"{e.name}: at the start {problem.weakest(0.0, problem.x)}; start elsewhere, choose another control, or prescribe a "
            "quantity that the controls move in every configuration, such as a wheel contact point"
        )
