"""Our arctangents against many digits, and calls packed into vectors against single ones."""

from __future__ import annotations

import casadi as ca
import mpmath
import numpy as np
import pytest

from draisine.codegen.jit.kernel import compile
from draisine.codegen.jit.modules import module_text
from draisine.codegen.jit.packing import packed_order, packs_of
from draisine.codegen.passes import Passes
from draisine.program.program import Program
from draisine.program.ssa import to_ssa

RNG = np.random.default_rng(4)
BORDERS = np.array([0.4375, 0.6875, 1.1875, 2.4375])
NUMBERS = {
    "small": 10.0 ** RNG.uniform(-300.0, -1.0, 300),
    "ordinary": RNG.uniform(-4.0, 4.0, 2000),
    "large": -(10.0 ** RNG.uniform(0.5, 300.0, 300)),
    "at borders": np.concatenate([BORDERS, np.nextafter(BORDERS, 0.0), np.nextafter(BORDERS, 9.0)]),
}


def units(found: float, true: mpmath.mpf) -> float:
    return float(abs(mpmath.mpf(float(found)) - true) / mpmath.mpf(float(np.spacing(abs(float(true))))))


@pytest.fixture(scope="module")
def kernels():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    one = Program.build("one", {"x": x}, {"f": ca.atan(x)})
    two = Program.build("two", {"y": y, "x": x}, {"f": ca.atan2(y, x)})
    return {wide: (compile(one, vectorized=wide), compile(two, vectorized=wide)) for wide in (False, True)}


@pytest.mark.parametrize("name", NUMBERS)
def test_errors_of_one_number_stay_below_a_unit_in_the_last_place(kernels, name: str) -> None:
    x = NUMBERS[name]
    found = kernels[False][0].map(x)[0][:, 0]
    with mpmath.workdps(60):
        assert max(units(f, mpmath.atan(mpmath.mpf(float(a)))) for f, a in zip(found, x, strict=True)) < 0.85
    np.testing.assert_array_equal(kernels[True][0].map(x)[0][:, 0], found)  # vectors have the same bits


def test_errors_of_two_numbers_in_all_quadrants(kernels) -> None:
    y, x = RNG.normal(size=(2, 3000)) * 10.0 ** RNG.uniform(-3.0, 3.0, (2, 3000))
    far = 10.0 ** RNG.uniform(-149.0, 149.0, (2, 300)) * RNG.choice([-1.0, 1.0], (2, 300))
    y, x = np.concatenate([y, far[0]]), np.concatenate([x, far[1]])
    found = kernels[False][1].map(y, x)[0][:, 0]
    with mpmath.workdps(60):
        exact = [mpmath.atan2(mpmath.mpf(float(b)), mpmath.mpf(float(a))) for b, a in zip(y, x, strict=True)]
        assert max(units(f, e) for f, e in zip(found, exact, strict=True)) < 1.3
    np.testing.assert_array_equal(kernels[True][1].map(y, x)[0][:, 0], found)


def test_special_numbers(kernels) -> None:
    special = np.array([0.0, -0.0, 1e-300, -5e-324, 1e160, -1e-160, np.inf, -np.inf, np.nan, 1.0, -1.0])
    for wide in (False, True):
        one, two = kernels[wide]
        found, true = one.map(special)[0][:, 0], np.arctan(special)
        np.testing.assert_array_equal(found, true)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(true))
        y, x = (a.ravel() for a in np.meshgrid(special, special))
        found, true = two.map(y, x)[0][:, 0], np.arctan2(y, x)
        np.testing.assert_allclose(found, true, rtol=3e-16, atol=0)
        np.testing.assert_array_equal(np.signbit(found)[~np.isnan(true)], np.signbit(true)[~np.isnan(true)])


def nested(count: int) -> Program:
    """Arctangents, sines and cosines of `count` numbers, and of each other."""
    x = ca.SX.sym("x", count)
    first = [ca.atan(x[i]) for i in range(count)]
    angles = [(1 + i) * f for i, f in enumerate(first)]
    turned = [ca.sin(a) * x[i] + ca.cos(a) for i, a in enumerate(angles)]
    last = [ca.atan2(turned[i], x[i - 1]) + ca.sin(x[i]) for i in range(count)]
    return Program.build(f"nested_{count}", {"x": x}, {"y": ca.vertcat(*first, *turned, *last)})


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7])
def test_packed_calls_have_the_same_bits(count: int) -> None:
    program = nested(count)
    x = RNG.uniform(-3.0, 3.0, count)
    x[0] = 1e6 if count % 2 else x[0]  # its sine is far: one lane goes to the library
    results = [compile(program, passes=passes)(x)[0] for passes in (Passes(), Passes(packing=False))]
    np.testing.assert_array_equal(*results)
    assert ("wide_arctangent" in module_text(program)) == (count > 1)
    assert "wide_" not in module_text(program, Passes(packing=False))


def test_packs_hold_independent_calls_in_an_order_that_can_be_computed() -> None:
    ssa = to_ssa(nested(6).tape)
    values = [v for v in range(len(ssa.values)) if ssa.values[v].operands]
    packs = packs_of(ssa, values, sincos=True)
    assert sorted(pack.lanes for pack in packs) == [2, 2, 2, 2, 4, 4, 4, 4]  # four sets of six calls
    order = packed_order(ssa, values, packs)
    assert sorted(order) == sorted(values)
    place = {v: k for k, v in enumerate(order)}
    for v in order:
        assert all(place[o] < place[v] for o in ssa.values[v].operands if o in place)
    for pack in packs:
        assert max(place[v] for v in pack.values) - min(place[v] for v in pack.values) == len(pack.values) - 1
        assert all(place[o] < place[pack.values[0]] for row in pack.operands for o in row if o in place)
