"""Models as functions of JAX (`as_jax`): compiled kernels behind callbacks, with exact forward and reverse derivatives.

Nothing is compiled by XLA but the call. Under `vmap` a whole batch is one call. A function and its
derivatives are primitives: the value, its change, linear in those of the arguments, and the transpose of that, as JAX has for
its own operations.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from draisine.codegen.derivative_maps import DifferentiableMap, Maps, as_maps
from draisine.codegen.export.casadi_and_jax import as_jax as program_as_jax
from draisine.errors import ArgumentError, require
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import refuse_unilateral
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

PURPOSE = "as_jax"


@dataclass(frozen=True, eq=False)
class JaxFunctions:
    """Functions of a model for JAX; arrays are those of the equations, in their order.

    - `dynamics(t, x, u, p)`: the rate of the state.
    - `step(t, x, u, p)`: the state after one step of the classical Runge–Kutta method.
    - `run(x, u, p)`: the states (steps + 1, n) of a run from t = 0; the number of steps is that of the rows of u (steps, m),
      which is held during each step.
    - `x_names`, `u_names`, `p_names`: what the entries are; `p`: default parameters.
    """

    equations: Equations
    dynamics: Callable[..., Any]
    step: Callable[..., Any]
    run: Callable[..., Any]

    @property
    def x_names(self) -> tuple[str, ...]:
        return tuple(q.name for q in self.equations.states)

    @property
    def u_names(self) -> tuple[str, ...]:
        return tuple(q.name for q in self.equations.inputs)

    @property
    def p_names(self) -> tuple[str, ...]:
        return tuple(q.name for q in self.equations.parameters)

    @property
    def p(self) -> np.ndarray:
        return self.equations.default_parameters


def as_jax(model: Model | System | Equations | Program | LinearSolveProgram, step: float = 0.01) -> Any:
    """A model as functions of JAX by compiled kernels (`JaxFunctions`), or a program as operations of JAX.

    - Of a model: `dynamics`, one `step`, a whole `run`, with exact derivatives: `jax.grad`, `jax.jvp`, `jax.jacfwd`,
      `jax.jacrev`, `jax.vmap` and `jax.jit` apply. They run on the CPU; second derivatives are refused. `step` is that of the
      method in seconds.
    - Of a program, `dr.derive(model).dynamics`: a function written in operations of JAX, for accelerators, see
      `dr.codegen.as_jax`; XLA compiles it in about a second.
    """
    if isinstance(model, Program | LinearSolveProgram):
        return program_as_jax(model)
    refuse_unilateral(PURPOSE, model)
    jax, maps = _jax(), as_maps(model, step)
    if not jax.config.jax_enable_x64:
        warnings.warn(
            'JAX keeps numbers in single precision by default; set jax.config.update("jax_enable_x64", True)', stacklevel=2
        )
    dynamics = function_of(maps.dynamics, "dynamics")
    if not maps.equations.can_switch:
        return JaxFunctions(maps.equations, dynamics, function_of(maps.step, "step"), _run(maps))

    def late(*arguments: Any) -> Any:
        return function_of(maps.step, "step")(*arguments)  # refused where the derivative switches indeed

    return JaxFunctions(maps.equations, dynamics, late, _run(maps))


def _run(maps: Maps) -> Callable[..., Any]:
    @cache
    def of_length(steps: int) -> Callable[..., Any]:
        return function_of(maps.run(steps), "run")

    def run(x: Any, u: Any, p: Any) -> Any:
        shape = np.shape(u)
        if len(shape) != 2:
            inputs = len(maps.equations.inputs)
            raise ArgumentError(f"run: u needs one row of inputs per step, (steps, {inputs}), got the shape {shape}")
        return of_length(shape[0])(x, u, p)

    run.__doc__ = "(x, u, p) → states (steps + 1, n) from t = 0; u (steps, m) is held during each step."
    return run


def function_of(what: DifferentiableMap, name: str) -> Callable[..., Any]:
    """A map as a function of JAX with custom derivatives."""
    jax, shapes, primitives = _jax(), what.argument_shapes, _Primitives(what, name)

    def function(*arguments: Any) -> Any:
        if len(arguments) != len(shapes):
            raise ArgumentError(f"{name} takes {len(shapes)} arguments, got {len(arguments)}")
        given = [jax.numpy.asarray(a, dtype=float) for a in arguments]
        columns = [a.reshape(1) if shape == (1,) and a.ndim == 0 else a for a, shape in zip(given, shapes, strict=True)]
        for k, (a, shape) in enumerate(zip(columns, shapes, strict=True)):
            if a.shape != shape:
                raise ArgumentError(f"{name}: argument {k + 1} needs the shape {shape}, got {a.shape}")
        return primitives.value.bind(*columns)

    function.__name__ = function.__qualname__ = name
    return function


class _Primitives:
    """A map as primitives of JAX: `value`, its derivative `tangent`, linear in the changes, its transpose, `adjoint`."""

    def __init__(self, what: DifferentiableMap, name: str) -> None:
        self._map, self._name = what, name
        core = require("jax.extend.core", PURPOSE, "jax")
        self.value = core.Primitive(f"draisine_{name}")
        self.tangent = core.Primitive(f"draisine_{name}_tangent")
        self.adjoint = core.Primitive(f"draisine_{name}_adjoint")
        self.adjoint.multiple_results = True
        shapes, result = what.argument_shapes, what.result_shape
        count = len(shapes)

        def value(*given: Any) -> Any:
            return self.call(what.value, given, shapes, [result])[0]

        def tangent(*given: Any) -> Any:
            return self.call(lambda *a: what.forward(a[:count], a[count:]), given, [*shapes, *shapes], [result])[0]

        def adjoint(*given: Any) -> Any:
            return self.call(lambda *a: what.reverse(a[:count], a[count]), given, [*shapes, result], shapes)

        self._define(self.value, value, shapes, [result])
        self._define(self.tangent, tangent, [*shapes, *shapes], [result])
        self._define(self.adjoint, adjoint, [*shapes, result], shapes)
        ad = require("jax.interpreters.ad", PURPOSE, "jax")

        def value_and_change(given: Any, changes: Any) -> Any:
            return self.value.bind(*given), self.tangent.bind(*given, *map(ad.instantiate_zeros, changes))

        def transpose(weights: Any, *given: Any) -> Any:
            if type(weights) is ad.Zero:
                return [None] * len(given)
            return [None] * count + list(self.adjoint.bind(*given[:count], weights))

        ad.primitive_jvps[self.value] = value_and_change
        ad.primitive_transposes[self.tangent] = transpose
        for primitive in (self.tangent, self.adjoint):
            ad.primitive_jvps[primitive] = self._no_second_derivative

    def _no_second_derivative(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            f"{self._name}: kernels have first derivatives only; for second ones use dr.as_jax(dr.derive(model).dynamics), "
            "which is written in operations of JAX"
        )

    def _define(
        self,
        primitive: Any,
        function: Callable[..., Any],
        arguments: Sequence[tuple[int, ...]],
        results: Sequence[tuple[int, ...]],
    ) -> None:
        """Evaluation, shapes, lowering and batching; further axes come first and are the same in all arguments."""
        jax = _jax()
        batching = require("jax.interpreters.batching", PURPOSE, "jax")
        mlir = require("jax.interpreters.mlir", PURPOSE, "jax")
        several = primitive.multiple_results

        def shaped(*given: Any) -> Any:
            further = given[0].shape[: len(given[0].shape) - len(arguments[0])]
            found = [jax.core.ShapedArray((*further, *shape), given[0].dtype) for shape in results]
            return found if several else found[0]

        def batched(given: Sequence[Any], axes: Sequence[Any]) -> Any:
            size = next(a.shape[axis] for a, axis in zip(given, axes, strict=True) if axis is not None)
            moved = [
                jax.numpy.broadcast_to(a, (size, *a.shape)) if axis is None else jax.numpy.moveaxis(a, axis, 0)
                for a, axis in zip(given, axes, strict=True)
            ]
            found = primitive.bind(*moved)
            return found, [0] * len(results) if several else 0

        primitive.def_impl(function)
        primitive.def_abstract_eval(shaped)
        mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=several))
        batching.primitive_batchers[primitive] = batched

    def call(
        self,
        function: Callable[..., Any],
        given: Sequence[Any],
        arguments: Sequence[tuple[int, ...]],
        results: Sequence[tuple[int, ...]],
    ) -> Any:
        """Call a function of NumPy arrays with an axis of samples; all further axes become one."""
        jax = _jax()
        further = given[0].shape[: len(given[0].shape) - len(arguments[0])]
        dtype = given[0].dtype

        def on_host(*arrays: Any) -> Any:
            before = arrays[0].shape[: arrays[0].ndim - len(arguments[0])]
            count = int(np.prod(before, dtype=int))
            rows = [
                np.ascontiguousarray(a, dtype=np.float64).reshape(count, *shape)
                for a, shape in zip(arrays, arguments, strict=True)
            ]
            found = function(*rows)
            listed = list(found) if isinstance(found, tuple) else [found]
            return [np.asarray(f, dtype=dtype).reshape(*before, *shape) for f, shape in zip(listed, results, strict=True)]

        expected = [jax.ShapeDtypeStruct((*further, *shape), dtype) for shape in results]
        return jax.pure_callback(on_host, expected, *given, vmap_method="broadcast_all")


def _jax() -> Any:
    return require("jax", PURPOSE, "jax")
