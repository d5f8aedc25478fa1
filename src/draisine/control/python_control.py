"""Models as nonlinear systems of python-control (`to_control`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from draisine.codegen.jit.kernel import compile
from draisine.dynamics.derive import derive
from draisine.dynamics.given_parameters import given_parameters
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import checked, numbers, parameter_values, unknown_name
from draisine.program.equations import Equations
from draisine.results.linear import python_control
from draisine.simulation.ensemble.outputs import Reporter


@checked
def to_control(
    model: Model | System | Equations,
    *,
    controls: Sequence[str] | None = None,
    inputs: Mapping[str, float | str] | None = None,
    outputs: Sequence[str] = (),
    parameters: Mapping[str, float | str] | None = None,
) -> Any:
    """A model as a `control.NonlinearIOSystem` with the same names: ẋ = f(t, x, u), y = h(t, x, u) by compiled kernels.

    - `controls`: the inputs of the system, all by default; `inputs`: constants for the others, zero if not given.
    - `outputs`: names of outputs, forces among them; all states by default.
    - `parameters`: as in `simulate`. All are parameters of the system too, `params={"trail": 0.1}`, with the same checks.

    `dr.linearize(…).to_control()` is the linear one about a motion. States of constrained systems must be consistent
    (`dr.consistent_start`).
    """
    control = python_control("to_control")
    equations = model if isinstance(model, Equations) else derive(model, work=False)
    own = given_parameters(model, equations, parameters)
    known = [q.name for q in equations.inputs]
    chosen = known if controls is None else list(controls)
    for name in chosen:
        if name not in known:
            raise unknown_name(f"input of {equations.name}", name, known)
    rates, reporter = compile(equations.explicit), Reporter.of(equations, outputs) if outputs else None
    places = [known.index(name) for name in chosen]
    constants, defaults = numbers("input", equations.inputs, inputs), parameter_values(equations, parameters)

    @lru_cache(maxsize=16)
    def values(given: tuple[tuple[str, float | str], ...]) -> Any:
        """The parameters with those of `params=`, checked once."""
        return parameter_values(equations, given_parameters(model, equations, own | dict(given)))

    def inside(u: Any, params: Mapping[str, float]) -> tuple[Any, Any]:
        full = constants.copy()
        full[places] = u
        return full, values(tuple((n, v if isinstance(v, str) else float(v)) for n, v in params.items())) if params else defaults

    def update(t: float, x: Any, u: Any, params: Mapping[str, float]) -> Any:
        return rates(t, x, *inside(u, params))[0]

    def output(t: float, x: Any, u: Any, params: Mapping[str, float]) -> Any:
        assert reporter is not None
        full, p = inside(u, params)
        return reporter(equations, np.array([t]), np.asarray(x, dtype=float)[None], full[None], p[None])[0]

    states = [q.name for q in equations.states]
    return control.nlsys(
        update,
        None if reporter is None else output,
        inputs=chosen,
        outputs=list(outputs) or states,
        states=states,
        params={},
        name=equations.name,
    )
