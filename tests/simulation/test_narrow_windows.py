"""Windows of the state that a motion passes in a fraction of a step, written in any way: v² = v₀² + 2 ∑ force · width."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr

FORMS = (
    "where(abs(x - ({c})) < {w}, {f}, 0)",
    "where({w} > abs({c} - x), {f}, 0)",
    "where(abs(x - ({c})) - {w} < 0, {f}, 0)",
    "where(3*abs(x - ({c})) < 3*{w}, {f}, 0)",
    "where(max(x - ({c}), ({c}) - x) <= {w}, {f}, 0)",
    "where(min({c} + {w} - x, x - ({c}) + {w}) > 0, {f}, 0)",
    "where(hypot(x - ({c}), 0.3) < hypot({w}, 0.3), {f}, 0)",
    "where(sqrt((x - ({c}))^2) < {w}, {f}, 0)",
    "where((x - ({c}))^2 < {w}^2, {f}, 0)",
    "where(x > {c} - {w}, where(x < {c} + {w}, {f}, 0), 0)",
)


def conditions(run: dr.Trajectory) -> list[str]:
    """The switches but for corners of their arguments."""
    names = [switch.name for switch in run.switches]
    return [name for name in names if "<" in name or ">" in name or not name.startswith(("abs", "min", "max"))]


def block() -> dr.Model:
    """A mass of 1 kg on a line."""
    model = dr.Model("block")
    model.gravity(0)
    model.body("block", 1.0, inertia=(1, 1, 1))
    model.prismatic("x", "ground", "block")
    model.generalized_force("x", model.input("f", "N"))
    return model


@pytest.mark.parametrize("form", FORMS)
def test_windows_at_random_places(form: str) -> None:
    rng = np.random.default_rng(len(form))
    for k in range(3):
        center, width = rng.uniform(0.5, 8.0), 10 ** rng.uniform(-4, -1.5)
        force, speed = 0.4 / width * rng.uniform(0.2, 1.0), rng.uniform(1.0, 3.0)
        law = form.format(c=f"{center:.6f}", w=f"{width:.6g}", f=f"{force:.6f}")
        center, width, force = float(f"{center:.6f}"), float(f"{width:.6g}"), float(f"{force:.6f}")
        method = (dr.methods.DOP853(), dr.methods.Radau(), dr.methods.RK4(0.25))[k]
        run = dr.simulate(block(), 10.0, start={"x_rate": speed}, inputs={"f": law}, method=method)
        assert run["x_rate"][-1] == pytest.approx(np.sqrt(speed**2 + 4 * force * width), rel=1e-8), (law, method)
        assert len(conditions(run)) == 2


def test_two_windows_of_one_condition_in_one_step() -> None:
    """min(|x − 2|, |x − 5|) < 0.01 is passed twice."""
    run = dr.simulate(block(), 10.0, start={"x_rate": 1.0}, inputs={"f": "where(min(abs(x - 2), abs(x - 5.3)) < 0.01, 10, 0)"})
    assert run["x_rate"][-1] == pytest.approx(np.sqrt(1.0 + 2 * 2 * 10 * 0.02), rel=1e-8)
    assert len(conditions(run)) == 4


def test_corners_that_stay_positive_do_not_switch() -> None:
    model = block()
    model.parameter("width", -1e-9, "m")
    run = dr.simulate(model, 10.0, start={"x_rate": 1.0}, inputs={"f": "where(abs(x - 3.123) < width, 10, 0)"})
    assert run["x_rate"][-1] == 1.0
    assert not conditions(run)
