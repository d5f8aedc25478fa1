"""Node functions: one function applied at many nodes, with exact sparse first and second derivatives, in compiled code.

A cluster is a function φ(w, d) that is evaluated at many nodes: w are unknowns of the nonlinear program, gathered by an index
array, and d are constants. Its Jacobian and products of the Hessian of μᵀφ with directions are separate programs, which are
derived only when their machine code is not in the cache. A program of one product, forward over reverse, is a quarter as long as
that of all entries of a bicycle's Hessian and compiled in a quarter of the time; it runs over nodes and directions.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.codegen.compile import begin_compiling
from draisine.codegen.jit.kernel import Kernel, compile
from draisine.codegen.passes import BRIEF
from draisine.numerics.parallel import split_rows
from draisine.program.casadi_functions import CasadiCode
from draisine.program.program import LazyProgram, Program, Slot

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]

PER_THREAD = 1_500_000  # operations per thread, at least: 0.1 ms of work in vectors, so that starting the thread does not matter
MOST_THREADS = 2
TOGETHER = 8  # nodes per thread are a multiple of this: full SIMD vectors except at the end


class Cluster(Protocol):
    """Interface of a cluster; `where` (copies, arguments) holds the indices of the unknowns that are its arguments."""

    where: Indices

    @property
    def width(self) -> int:
        """Number of results."""

    @property
    def digest(self) -> str:
        """What its code follows from."""

    @property
    def jacobian_indices(self) -> tuple[Indices, Indices]:
        """Result and argument of each entry of the Jacobian."""

    @property
    def hessian_indices(self) -> tuple[Indices, Indices]:
        """The two arguments, in order, of each entry of the Hessian's upper triangle."""

    def begin_compiling(self) -> Callable[[], None]:
        """Begin to compile all programs; the function returned waits for them, and loads them."""

    def values(self, w: Reals) -> Reals:
        """(copies, width) at arguments (copies, arguments)."""

    def jacobian(self, w: Reals) -> Reals:
        """(copies, entries)."""

    def hessian(self, w: Reals, mu: Reals) -> Reals:
        """(copies, entries) of the Hessian of μᵀφ; μ (copies, width)."""


@dataclass(frozen=True, eq=False)
class Directions:
    """Directions whose products with a symmetric matrix of known sparsity contain all of its entries."""

    vectors: Reals  # (directions, size), of zeros and ones
    which: Indices  # the direction of each entry of the upper triangle, and its row in the product
    row: Indices

    @staticmethod
    def of(one: Indices, other: Indices, size: int) -> Directions:
        """Columns that cover all entries, those without a row in common together: each entry is alone in its row of a product."""
        pattern = np.zeros((size, size), dtype=bool)
        pattern[one, other] = pattern[other, one] = True
        chosen = np.diag(pattern).copy()
        left = pattern & ~chosen[:, None] & ~chosen
        while left.any():
            column = int(left.sum(axis=0).argmax())
            chosen[column], left[column], left[:, column] = True, False, False
        groups: list[list[int]] = []
        for column in np.flatnonzero(chosen).tolist():
            free = (g for g in groups if not (pattern[:, g].any(axis=1) & pattern[:, column]).any())
            group = next(free, None)
            if group is None:
                groups.append([column])
            else:
                group.append(column)
        vectors, group_of = np.zeros((len(groups), size)), np.zeros(size, dtype=np.int64)
        for k, group in enumerate(groups):
            vectors[k, group], group_of[group] = 1.0, k
        columns = np.where(chosen[other], other, one)
        return Directions(vectors, group_of[columns], np.where(chosen[other], one, other))

    def products(self, product: Callable[..., Reals], *arguments: Reals) -> Reals:
        """(nodes, entries) of the matrix at each node, of products at nodes and directions (rows of all arguments)."""
        nodes, count = len(arguments[0]), len(self.vectors)
        if not count:
            return np.zeros((nodes, 0))
        repeated = [np.tile(a, (count, 1)) for a in arguments]
        made = product(*repeated, np.repeat(self.vectors, nodes, axis=0)).reshape(count, nodes, -1)
        return np.ascontiguousarray(made[self.which, :, self.row].T)


@dataclass(frozen=True, eq=False)
class Formula:
    """φ(w, d) with its derivatives as programs: `value` maps the slots w and d to φ."""

    value: Program

    @cached_property
    def _symbols(self) -> list[ca.SX]:
        return self.value.symbols()

    @cached_property
    def _phi(self) -> ca.SX:
        return self.value.function.call(self._symbols)[0]

    @cached_property
    def _mu(self) -> ca.SX:
        return ca.SX.sym("mu", self.width)

    @property
    def width(self) -> int:
        return self.value.outputs[0].size

    @cached_property
    def _jacobian_sparsity(self) -> ca.Sparsity:
        return self.value.function.jac_sparsity(0, 0)

    @cached_property
    def _hessian_sparsity(self) -> ca.Sparsity:
        """Sparsity by propagation through the gradient: cheaper than forming the Hessian, and never too small."""
        w, d = self._symbols
        gradient = ca.gradient(ca.dot(self._mu, self._phi), w)
        pattern = ca.Function("gradient", [w, d, self._mu], [gradient]).jac_sparsity(0, 0)
        return ca.triu(pattern + pattern.T)

    @cached_property
    def jacobian_indices(self) -> tuple[Indices, Indices]:
        return _triplets(self._jacobian_sparsity)

    @cached_property
    def hessian_indices(self) -> tuple[Indices, Indices]:
        return _triplets(self._hessian_sparsity)

    @cached_property
    def jacobian(self) -> LazyProgram:
        """(w, d) → the entries of ∂φ/∂w."""

        def derive() -> tuple[list[ca.SX], ca.SX]:
            w, d = self._symbols
            entries = ca.project(ca.jacobian(self._phi, w), self._jacobian_sparsity)
            return [w, d], entries

        return self._recipe("jacobian", self.value.inputs, self._jacobian_sparsity.nnz(), derive)

    @cached_property
    def hessian_product(self) -> LazyProgram:
        """(w, d, mu, direction) → the Hessian of μᵀφ times the direction."""

        def derive() -> tuple[list[ca.SX], ca.SX]:
            w, d = self._symbols
            direction = ca.SX.sym("direction", w.numel())
            product = ca.jtimes(ca.gradient(ca.dot(self._mu, self._phi), w), w, direction)
            return [w, d, self._mu, direction], ca.densify(product)

        count = self.value.inputs[0].size
        inputs = (*self.value.inputs, Slot("mu", (self.width, 1)), Slot("direction", (count, 1)))
        return self._recipe("hessian_product", inputs, count, derive)

    @cached_property
    def directions(self) -> Directions:
        return Directions.of(*self.hessian_indices, self.value.inputs[0].size)

    def _recipe(
        self, what: str, inputs: tuple[Slot, ...], count: int, derive: Callable[[], tuple[list[ca.SX], ca.SX]]
    ) -> LazyProgram:
        name, outputs = f"{self.value.name}_{what}", (Slot(what, (count, 1)),)

        def make() -> Program:
            symbols, entries = derive()
            # code generation shares equal subexpressions; a search here would take longer than the derivation
            function = ca.Function(name, symbols, [_column(entries)], [s.name for s in inputs], [what])
            return Program(name, inputs, outputs, CasadiCode(function))

        digest = hashlib.sha256(f"optimal {what} 3; {self.value.digest}".encode()).hexdigest()
        return LazyProgram(name, inputs, outputs, digest, make)

    @staticmethod
    def build(name: str, w: ca.SX, d: ca.SX, phi: ca.SX) -> Formula:
        return Formula(Program.build(name, {"w": w, "d": d}, {"phi": ca.densify(ca.SX(phi))}))


class _Cluster:
    """A formula and the sizes of its results."""

    formula: Formula

    @property
    def width(self) -> int:
        return self.formula.width

    @property
    def digest(self) -> str:
        return self.formula.value.digest

    @property
    def jacobian_indices(self) -> tuple[Indices, Indices]:
        return self.formula.jacobian_indices

    @property
    def hessian_indices(self) -> tuple[Indices, Indices]:
        return self.formula.hessian_indices


class CompiledCluster(_Cluster):
    """A formula at many nodes in machine code: several nodes at a time in SIMD vectors, and on two threads where that is faster.

    Results at a node do not depend on its neighbors or on the number of threads, bit for bit. The code is compiled quickly: what
    the nodes of a mesh take in one search, at any level, is small beside the linear systems of its steps.
    """

    def __init__(self, formula: Formula, where: Indices, d: Reals) -> None:
        self.formula, self.where = formula, np.asarray(where, dtype=np.int64)
        self._d = np.ascontiguousarray(d)  # (copies, numbers)

    @cached_property
    def _value(self) -> Kernel:
        return compile(self.formula.value, vectorized=True, passes=BRIEF, quick=True)

    @cached_property
    def _jacobian(self) -> Kernel:
        return compile(self.formula.jacobian, vectorized=True, passes=BRIEF, quick=True)

    @cached_property
    def _hessian_product(self) -> Kernel:
        return compile(self.formula.hessian_product, vectorized=True, passes=BRIEF, quick=True)

    def begin_compiling(self) -> Callable[[], None]:
        """Generate the code of all programs; LLVM compiles it in another thread, for which the function returned waits."""
        missing = [name for name in ("value", "hessian_product", "jacobian") if f"_{name}" not in self.__dict__]
        programs = [getattr(self.formula, name) for name in missing]
        compiled = begin_compiling(*programs, vectorized=True, quick=True, passes=BRIEF)

        def finish() -> None:
            self.__dict__ |= {f"_{name}": kernel for name, kernel in zip(missing, compiled(), strict=True)}

        return finish

    def adopt(self, other: CompiledCluster) -> None:
        """Use the machine code of a cluster of the same formula."""
        self.__dict__ |= {name: getattr(other, name) for name in ("_value", "_jacobian", "_hessian_product")}

    @cached_property
    def _length(self) -> int:
        return self.formula.value.function.n_instructions()

    def values(self, w: Reals) -> Reals:
        return self._over(_mapped(self._value), 1, w, self._d)

    def jacobian(self, w: Reals) -> Reals:
        return self._over(_mapped(self._jacobian), 8, w, self._d)

    def hessian(self, w: Reals, mu: Reals) -> Reals:
        directions, product = self.formula.directions, _mapped(self._hessian_product)
        return self._over(partial(directions.products, product), 7 * len(directions.vectors), w, self._d, mu)

    def _over(self, function: Callable[..., Reals], factor: int, *arguments: Reals) -> Reals:
        count = len(arguments[0])
        wanted = count * self._length * factor // PER_THREAD
        threads = max(1, min(wanted, MOST_THREADS, os.cpu_count() or 1))
        each = max(-(-count // (threads * TOGETHER)), 1) * TOGETHER
        parts = split_rows(lambda rows: function(*rows), arguments, each)
        return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _mapped(kernel: Kernel) -> Callable[..., Reals]:
    return lambda *rows: kernel.map(*rows)[0]


class SingleCluster(_Cluster):
    """A formula at one node (conditions at the ends) in CasADi's interpreter: compiling would take longer."""

    def __init__(self, formula: Formula, where: Indices, d: Reals) -> None:
        self.formula, self.where = formula, np.asarray(where, dtype=np.int64).reshape(1, -1)
        self._d = d

    @cached_property
    def _value(self) -> _Interpreted:
        return _Interpreted(self.formula.value)

    @cached_property
    def _jacobian(self) -> _Interpreted:
        return _Interpreted(self.formula.jacobian.build())

    @cached_property
    def _hessian_product(self) -> _Interpreted:
        return _Interpreted(self.formula.hessian_product.build())

    def begin_compiling(self) -> Callable[[], None]:
        _ = self._value, self._jacobian, self._hessian_product
        return lambda: None

    def values(self, w: Reals) -> Reals:
        return self._value(w, self._d)

    def jacobian(self, w: Reals) -> Reals:
        return self._jacobian(w, self._d)

    def hessian(self, w: Reals, mu: Reals) -> Reals:
        directions = self.formula.directions

        def products(w: Reals, mu: Reals, vectors: Reals) -> Reals:
            rows = zip(w, mu, vectors, strict=True)
            return np.concatenate([self._hessian_product(at, self._d, weights, vector) for at, weights, vector in rows])

        return directions.products(products, w, mu)


class _Interpreted:
    """A program with one result in CasADi's interpreter. Arguments are written into its buffers: copying dominates the call."""

    def __init__(self, program: Program) -> None:
        self._given = [np.zeros(slot.size) for slot in program.inputs]
        self._taken = np.zeros(program.outputs[0].size)
        self._function = program.function  # owns the buffer
        self._buffer: Any
        self._buffer, self._run = self._function.buffer()
        for k, numbers in enumerate(self._given):
            self._buffer.set_arg(k, numbers.data)
        self._buffer.set_res(0, self._taken.data)

    def __call__(self, *arguments: Reals) -> Reals:
        for numbers, argument in zip(self._given, arguments, strict=True):
            numbers[:] = argument.ravel()
        self._run()
        return self._taken[None].copy()


def _column(matrix: ca.SX) -> ca.SX:
    return ca.vec(ca.densify(ca.SX(matrix.nz[:]))) if matrix.nnz() else ca.SX(0, 1)


def _triplets(pattern: ca.Sparsity) -> tuple[Indices, Indices]:
    rows, columns = pattern.get_triplet()
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
