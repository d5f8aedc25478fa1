"""Our sine and cosine against many digits."""

from __future__ import annotations

import casadi as ca
import mpmath
import numpy as np
import pytest

from draisine.codegen.jit.kernel import compile
from draisine.program.program import Program

RNG = np.random.default_rng(9)
ANGLES = {
    "small": 10.0 ** RNG.uniform(-300.0, -1.0, 300),
    "ordinary": RNG.uniform(-7.0, 7.0, 1000),
    "quarter turns": np.arange(-600, 600) * (np.pi / 2),
    "beside quarter turns": np.nextafter(np.arange(1, 600) * (np.pi / 2), 0.0),
    "an hour of rolling": RNG.uniform(-8e5, 8e5, 1000),
    "far quarter turns": RNG.integers(-520_000, 520_000, 500) * (np.pi / 2),
    "beyond": 10.0 ** RNG.uniform(5.9, 22.0, 300),
}


@pytest.fixture(scope="module")
def kernel():
    x = ca.SX.sym("x")
    return compile(Program.build("both", {"x": x}, {"sine": ca.sin(x), "cosine": ca.cos(x)}))


@pytest.mark.parametrize("name", ANGLES)
def test_errors_stay_below_one_unit_in_the_last_place(kernel, name):
    angles = ANGLES[name]
    with mpmath.workdps(60):
        for found, exact in zip(kernel.map(angles), (mpmath.sin, mpmath.cos), strict=True):
            for angle, value in zip(angles, found[:, 0], strict=True):
                true = exact(mpmath.mpf(float(angle)))
                unit = float(np.spacing(abs(float(true))))
                assert abs(mpmath.mpf(float(value)) - true) < 0.85 * unit, (name, angle)


def test_special_angles(kernel):
    for angle in (float("inf"), float("-inf"), float("nan")):
        assert np.isnan(kernel(angle)).all()
    assert [float(v[0]) for v in kernel(0.0)] == [0.0, 1.0]
    sine, cosine = kernel(-0.0)
    assert np.signbit(sine[0])
    assert cosine[0] == 1.0
    assert float(kernel(5e-324)[0][0]) == 5e-324
