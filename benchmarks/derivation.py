"""Figures of derivation and compilation: the benchmark bicycle from its description to equations, and to machine code."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import draisine as dr
from figure import AtMost, Faster, Figure
from peers import casadi_bicycle, pydy_bicycle, symbrim_bicycle
from speed import cold, evaluation, median

ROUNDS = 3
Taken = tuple[float, float]  # seconds to derive, and to compile


def figures(peers: bool) -> Iterator[Figure]:
    """Answers of peers are compared with the published ones, or with ours, before their times count."""
    taken: dict[str, list[Taken]] = {"ours": []}
    for _ in range(ROUNDS):
        taken["ours"].append(cold())
        if peers:
            taken.setdefault("SymPy and PyDy/Cython", []).append(pydy())
            if casadi_bicycle.available():
                taken.setdefault("CasADi's C of a plain model", []).append(casadi())
    if peers and find_spec("symbrim") is not None:  # once: it takes most of the time, and varies little
        seconds, evaluated = symbrim()
        taken["SymBRiM and PyDy/Cython"] = [seconds]
    derive, compile, both = summed(taken.pop("ours"))
    for name, found in taken.items():
        their_derive, their_compile, their_both = summed(found)
        target = Faster(25) if name == "SymPy and PyDy/Cython" else None
        yield Figure(f"derive and compile the bicycle, beside {name}", both, "s", target, their_both)
        if "CasADi" not in name:  # there the model is written out by hand
            yield Figure(f"derive the bicycle, beside {name}", derive, "s", None, their_derive)
        yield Figure(f"compile the bicycle, beside {name}", compile, "s", None, their_compile)
    if not taken:
        yield Figure("derive the bicycle", derive, "s")
        yield Figure("compile the bicycle", compile, "s")
    if "SymBRiM and PyDy/Cython" in taken:
        seconds = median(20, evaluation(dr.derive(dr.gallery.model("bicycle"))))
        peer = "SymBRiM and PyDy/Cython, called from Python"
        yield Figure(f"state derivative of the bicycle, beside {peer}", seconds, "s", None, evaluated)
    if find_spec("jax") is not None:
        yield from for_jax()


def for_jax() -> Iterator[Figure]:
    """From a program to its first value, and to the first gradient, XLA's work included; JAX has compiled something before."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.jit(jax.grad(lambda x: x * x))(1.0)
    for name in ("bicycle", "delebecque_bicycle", "motorcycle"):
        made = dr.gallery.model(name)
        equations = made if isinstance(made, dr.Equations) else dr.derive(made)
        x, u = np.array([state.default for state in equations.states]), np.zeros(len(equations.inputs))
        began = time.perf_counter()
        function = dr.codegen.as_jax(equations.dynamics)
        found = np.asarray(jax.jit(function)(0.0, x, u, equations.default_parameters)[0])
        first = time.perf_counter()
        squares = partial(_squares, function, u, equations.default_parameters)
        jax.block_until_ready(jax.jit(jax.grad(squares))(x))
        done = time.perf_counter()
        if not np.allclose(found, equations.dynamics(0.0, x, u, equations.default_parameters)[0], rtol=1e-12, atol=1e-12):
            raise RuntimeError(f"the function of {name} for JAX is wrong")
        yield Figure(f"{name}, function for JAX: first call", first - began, "s", AtMost(3.0))
        yield Figure(f"{name}, function for JAX: first gradient", done - first, "s", AtMost(3.0))


def _squares(function: Callable[..., Any], u: Any, p: Any, x: Any) -> Any:
    return (function(0.0, x, u, p)[0] ** 2).sum()


def summed(taken: list[Taken]) -> tuple[float, float, float]:
    """Medians of deriving, of compiling, and of both together."""
    columns = *zip(*taken, strict=True), [sum(one) for one in taken]
    derive, compile, both = (statistics.median(column) for column in columns)
    return derive, compile, both


def pydy() -> Taken:
    from sympy.core.cache import clear_cache

    clear_cache()
    began = time.perf_counter()
    made = pydy_bicycle.derive()
    derived = time.perf_counter()
    rhs = pydy_bicycle.generate(made)
    done = time.perf_counter()
    pydy_bicycle.require_accelerations(rhs)
    return derived - began, done - derived


def casadi() -> Taken:
    """The hand's work is not counted; what is, is CasADi's differentiation, its C, and gcc -O3."""
    equations = dr.derive(dr.gallery.model("bicycle"))
    values = dict(zip((q.name for q in equations.parameters), equations.default_parameters.tolist(), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        function = casadi_bicycle.written(list(values))
        derived = time.perf_counter()
        bicycle = casadi_bicycle.compiled(function, values, Path(folder))
        done = time.perf_counter()
        small = 1e-6
        found = bicycle(casadi_bicycle.upright(bicycle, 5.0, small))[8:10] / small
    pydy_bicycle.require_published(found * (1, -1), 5.0)
    return derived - began, done - derived


def symbrim() -> tuple[Taken, float]:
    """Seconds to derive and compile, and of one evaluation, called from Python."""
    derived, made = symbrim_bicycle.time_derivation()
    began = time.perf_counter()
    rhs = symbrim_bicycle.generate(made)
    generated = time.perf_counter() - began
    symbrim_bicycle.require_correct(made, rhs)
    state, values = symbrim_bicycle.upright(made, 5.0, 0.1), symbrim_bicycle.values()

    def seconds(calls: int = 100) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            rhs(state, 0.0, values)
        return (time.perf_counter() - start) / calls

    return (derived, generated), median(20, seconds)
