"""Many small functions of one kind, with exact sparse first and second derivatives, all evaluated at once by compiled code.

A cluster is a function φ(w, d) that is applied at many places: w are unknowns of the large problem, gathered by an index array,
and d numbers that stay as they are. Its Jacobian and the Hessian of μᵀφ are programs of their own; derivatives are formed only
when their machine code is not on disk yet.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.kernels.kernel import Kernel, compile
from draisine.program.program import Program, Slot
from draisine.program.recipe import Recipe

Reals = NDArray[np.float64]
Places = NDArray[np.int64]

PER_THREAD = 400_000  # operations below which a second thread costs more than it brings


class Cluster(Protocol):
    """What the large problem asks of a cluster; `where` (copies, arguments) says which unknowns are its arguments."""

    where: Places

    @property
    def width(self) -> int:
        """Number of results."""

    @property
    def slope_places(self) -> tuple[Places, Places]:
        """Result and argument of each entry of the Jacobian."""

    @property
    def bend_places(self) -> tuple[Places, Places]:
        """The two arguments, in order, of each entry of the Hessian's upper triangle."""

    def compile(self) -> None:
        """Have all machine code ready."""

    def values(self, w: Reals) -> Reals:
        """(copies, width) at arguments (copies, arguments)."""

    def slopes(self, w: Reals) -> Reals:
        """(copies, entries)."""

    def bends(self, w: Reals, mu: Reals) -> Reals:
        """(copies, entries) of the Hessian of μᵀφ; μ (copies, width)."""


@dataclass(frozen=True, eq=False)
class Formula:
    """φ(w, d) with its derivatives as programs: `value` takes the slots w and d and gives φ."""

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
    def _slope_pattern(self) -> ca.Sparsity:
        return self.value.function.jac_sparsity(0, 0)

    @cached_property
    def _bend_pattern(self) -> ca.Sparsity:
        """By propagation through the gradient: cheaper than forming the Hessian, and never too small."""
        w, d = self._symbols
        gradient = ca.gradient(ca.dot(self._mu, self._phi), w)
        pattern = ca.Function("gradient", [w, d, self._mu], [gradient]).jac_sparsity(0, 0)
        return ca.triu(pattern + pattern.T)

    @cached_property
    def slope_places(self) -> tuple[Places, Places]:
        return _places(self._slope_pattern)

    @cached_property
    def bend_places(self) -> tuple[Places, Places]:
        return _places(self._bend_pattern)

    @cached_property
    def slope(self) -> Recipe:
        """(w, d) → the entries of ∂φ/∂w."""

        def make() -> Program:
            w, d = self._symbols
            entries = ca.project(ca.jacobian(self._phi, w), self._slope_pattern)
            return Program.build(f"{self.value.name}_slope", {"w": w, "d": d}, {"slope": _column(entries)})

        return self._recipe("slope", self.value.inputs, self._slope_pattern.nnz(), make)

    @cached_property
    def bend(self) -> Recipe:
        """(w, d, mu) → the entries of the Hessian of μᵀφ, upper triangle."""

        def make() -> Program:
            w, d = self._symbols
            hessian = ca.hessian(ca.dot(self._mu, self._phi), w)[0]
            entries = ca.project(ca.triu(hessian), self._bend_pattern)
            return Program.build(f"{self.value.name}_bend", {"w": w, "d": d, "mu": self._mu}, {"bend": _column(entries)})

        return self._recipe("bend", (*self.value.inputs, Slot("mu", (self.width, 1))), self._bend_pattern.nnz(), make)

    def _recipe(self, what: str, inputs: tuple[Slot, ...], count: int, make: Callable[[], Program]) -> Recipe:
        digest = hashlib.sha256(f"optimal {what} 1; {self.value.digest}".encode()).hexdigest()
        return Recipe(f"{self.value.name}_{what}", inputs, (Slot(what, (count, 1)),), digest, make)

    @staticmethod
    def build(name: str, w: ca.SX, d: ca.SX, phi: ca.SX) -> Formula:
        return Formula(Program.build(name, {"w": w, "d": d}, {"phi": ca.densify(ca.SX(phi))}))


class CompiledCluster:
    """A formula at many places, by machine code, on two threads where that pays."""

    def __init__(self, formula: Formula, where: Places, d: Reals) -> None:
        self.formula, self.where = formula, np.asarray(where, dtype=np.int64)
        self._d = np.ascontiguousarray(d)  # (copies, numbers)

    @property
    def width(self) -> int:
        return self.formula.width

    @property
    def slope_places(self) -> tuple[Places, Places]:
        return self.formula.slope_places

    @property
    def bend_places(self) -> tuple[Places, Places]:
        return self.formula.bend_places

    @cached_property
    def _value(self) -> Kernel:
        return compile(self.formula.value)

    @cached_property
    def _slope(self) -> Kernel:
        return compile(self.formula.slope)

    @cached_property
    def _bend(self) -> Kernel:
        return compile(self.formula.bend)

    def compile(self) -> None:
        """Have all machine code ready."""
        _ = self._value, self._slope, self._bend

    def adopt(self, other: CompiledCluster) -> None:
        """Use the machine code of a cluster of the same formula."""
        self.__dict__ |= {name: getattr(other, name) for name in ("_value", "_slope", "_bend")}

    @cached_property
    def _length(self) -> int:
        return self.formula.value.function.n_instructions()

    def values(self, w: Reals) -> Reals:
        return self._over(self._value, 1, w, self._d)

    def slopes(self, w: Reals) -> Reals:
        return self._over(self._slope, 8, w, self._d)

    def bends(self, w: Reals, mu: Reals) -> Reals:
        return self._over(self._bend, 25, w, self._d, mu)

    def _over(self, kernel: Kernel, factor: int, *arguments: Reals) -> Reals:
        count = len(arguments[0])
        if count < 2 or (os.cpu_count() or 1) < 2 or count * self._length * factor < PER_THREAD:
            return _mapped(kernel, arguments)
        half = count // 2
        ahead = _helper().submit(_mapped, kernel, [a[:half] for a in arguments])
        behind = _mapped(kernel, [a[half:] for a in arguments])
        return np.concatenate([ahead.result(), behind])


class SingleCluster:
    """A formula at one place (conditions at the ends), by CasADi's interpreter: compiling would take longer."""

    def __init__(self, formula: Formula, where: Places, d: Reals) -> None:
        self.formula, self.where = formula, np.asarray(where, dtype=np.int64).reshape(1, -1)
        self._d = d

    @property
    def width(self) -> int:
        return self.formula.width

    @property
    def slope_places(self) -> tuple[Places, Places]:
        return self.formula.slope_places

    @property
    def bend_places(self) -> tuple[Places, Places]:
        return self.formula.bend_places

    @cached_property
    def _slope(self) -> Program:
        return self.formula.slope.made()

    @cached_property
    def _bend(self) -> Program:
        return self.formula.bend.made()

    def compile(self) -> None:
        _ = self._slope, self._bend

    def values(self, w: Reals) -> Reals:
        return self.formula.value(w[0], self._d)[0][None]

    def slopes(self, w: Reals) -> Reals:
        return self._slope(w[0], self._d)[0][None]

    def bends(self, w: Reals, mu: Reals) -> Reals:
        return self._bend(w[0], self._d, mu[0])[0][None]


@cache
def _helper() -> ThreadPoolExecutor:
    """One thread beside the caller's, for all clusters."""
    return ThreadPoolExecutor(1, "nodes")


def _mapped(kernel: Kernel, arguments: Sequence[Reals]) -> Reals:
    return kernel.map(*arguments)[0]


def _column(matrix: ca.SX) -> ca.SX:
    return ca.vec(ca.densify(ca.SX(matrix.nz[:]))) if matrix.nnz() else ca.SX(0, 1)


def _places(pattern: ca.Sparsity) -> tuple[Places, Places]:
    rows, columns = pattern.get_triplet()
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
