"""Equations as f(t, x) and ∂f/∂x, as integrators of other libraries take them (`as_ode`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.codegen.jit.jacobian import compile_jacobian
from draisine.codegen.jit.kernel import Kernel, compile
from draisine.dynamics.derive import derive
from draisine.dynamics.given_parameters import given_parameters
from draisine.dynamics.input_laws import with_laws
from draisine.model.model import Model
from draisine.model.quantities import Amount, laws_and_constants
from draisine.model.system import System
from draisine.program.arguments import numbers, parameter_values, refuse_unilateral
from draisine.program.equations import Equations
from draisine.program.program import Program

Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ode:
    """ẋ = f(t, x) with given inputs and parameters: `ode(t, x)`, and `ode.jacobian(t, x)`.

    `states` are the names of the entries of x. Both take one state, or states in columns (n, k) as SciPy's `vectorized=True`
    gives.
    """

    equations: Equations
    u: Reals
    p: Reals

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(q.name for q in self.equations.states)

    @cached_property
    def _rates(self) -> Kernel:
        return compile(self.equations.explicit)

    @cached_property
    def _jacobian(self) -> Kernel:
        dynamics = self.equations.explicit
        if isinstance(dynamics, Program):
            return compile_jacobian(dynamics, "xdot", "x")
        return compile(dynamics.jacobian("xdot", "x"))

    def __call__(self, t: float, x: ArrayLike) -> Reals:
        """The rate of the state."""
        given = np.asarray(x, dtype=float)
        if given.ndim == 2:
            return np.ascontiguousarray(self._rates.map(np.array([t]), given.T, self.u, self.p)[0].T)
        return self._rates(t, given, self.u, self.p)[0]

    def jacobian(self, t: float, x: ArrayLike) -> Reals:
        """∂f/∂x, exact."""
        return self._jacobian(t, x, self.u, self.p)[0]

    def __repr__(self) -> str:
        return f"<Ode of {self.equations.name}: {', '.join(self.states)}>"


def as_ode(
    model: Model | System | Equations,
    *,
    inputs: Mapping[str, Amount] | None = None,
    parameters: Mapping[str, float | str] | None = None,
) -> Ode:
    """The state derivative of a model as a function f(t, x), with its exact Jacobian, for integrators of other libraries.

    - `inputs`: constants and laws, as in `simulate`; the others are zero. `parameters`: as in `simulate`.

    States of constrained systems must be consistent (`dr.consistent_start`), and these integrators do not project them:
    constraints are kept to the accuracy of the integration.

    >>> import draisine as dr
    >>> from scipy.integrate import solve_ivp
    >>> from sympy.abc import k, v, x
    >>> ode = as_ode(dr.first_order("oscillator", {x: v, v: -k * x}, parameters={k: 4.0}))
    >>> found = solve_ivp(ode, (0.0, 1.0), [1.0, 0.0], method="Radau", jac=ode.jacobian, rtol=1e-9, atol=1e-9)
    >>> found.y[:, -1].round(6).tolist()
    [-0.416147, -1.818595]
    """
    refuse_unilateral("as_ode", model)
    laws, constants = laws_and_constants(inputs or {}, "give a law as text; f(t, x) calls no Python functions")
    if isinstance(model, Equations):
        equations = with_laws(model, laws)
    else:
        equations = derive(model, laws, work=False)
    given_parameters(model, equations, parameters)
    ode = Ode(equations, numbers("input", equations.inputs, constants), parameter_values(equations, parameters))
    _ = equations.explicit  # refuses 0 = F(t, x, ẋ)
    return ode
