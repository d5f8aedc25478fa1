"""Laws of friction of contacts: Stribeck's curve, blades, and friction that depends on the direction, against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from package_models import GRAVITY, TIGHT, particle
from scipy.integrate import quad, solve_ivp

import draisine as dr
from draisine.errors import ModelError
from draisine.expr.expression import evaluate_number
from draisine.model.files import from_toml, to_toml


def test_stribeck_curve_of_a_contact() -> None:
    """A block comes to rest: time and way are integrals of the law."""
    model = particle(friction=(0.5, "0.3 + 0.2*exp(-slip/0.4)"))
    run = dr.simulate(model, 3.0, start={"z": 0.0, "x": 0.0, "x_rate": 2.0}, method=TIGHT)
    assert run.status.kind == "FINISHED" and not run.warnings
    law = lambda v: GRAVITY * (0.3 + 0.2 * np.exp(-v / 0.4))  # noqa: E731
    stop = run.modes[1].time
    np.testing.assert_allclose(stop, quad(lambda v: 1 / law(v), 0, 2, epsabs=1e-13)[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["x"][-1], quad(lambda v: v / law(v), 0, 2, epsabs=1e-13)[0], rtol=0, atol=1e-9)
    assert run.modes[1].modes == {"floor": "stick"}
    again = from_toml(to_toml(model))
    assert again.freeze() == model.freeze()
    single = particle(friction="0.3 + 0.2*exp(-slip/0.4)")
    law_of_both = single.freeze().point_contacts[0].friction
    assert law_of_both is not None and law_of_both.static is not None and evaluate_number(law_of_both.static) == 0.5
    assert from_toml(to_toml(single)).freeze() == single.freeze()
    with pytest.raises(ModelError, match="x_rate"):
        particle(friction=(0.5, "0.3 + x_rate")).freeze()


def puck(**contact: Any) -> dr.Model:
    """A point on a table that does not turn."""
    m = dr.Model("puck")
    m.gravity(GRAVITY)
    links = [m.body(f"link_{axis}", mass=0.0) for axis in "xy"]
    body = m.body("puck", mass=1.5)
    for axis, parent, child in zip("xyz", ["ground", *links], [*links, body], strict=True):
        m.prismatic(axis, parent, child, axis=axis)
    m.contact("table", body, **contact)
    return m


def test_friction_that_depends_on_the_direction() -> None:
    """Against an independent integration of the law of largest dissipation on an ellipse."""
    along, across = 0.2, 0.6
    model = puck(friction=along, friction_across=across)
    run = dr.simulate(model, 1.2, start={"x": 0, "y": 0, "z": 0, "x_rate": 2.0, "y_rate": 1.5}, method=TIGHT)
    assert run.status.kind == "FINISHED" and not run.warnings

    def rates(_: float, s: np.ndarray) -> np.ndarray:
        v = s[2:]
        return np.array([*v, *(-GRAVITY * np.array([along**2, across**2]) * v / np.hypot(along * v[0], across * v[1]))])

    times = np.linspace(0.0, 0.3, 7)  # the slip ends nearly along the track
    judge = solve_ivp(rates, (0, 0.3), [0, 0, 2.0, 1.5], rtol=1e-12, atol=1e-13, t_eval=times)
    mine = run.at(times)
    np.testing.assert_allclose([mine[n] for n in ("x", "y", "x_rate", "y_rate")], judge.y, rtol=0, atol=1e-9)
    f = np.array([mine["table_longitudinal_force"], mine["table_lateral_force"]]) / (1.5 * GRAVITY)
    np.testing.assert_allclose((f[0] / along) ** 2 + (f[1] / across) ** 2, 1.0, rtol=0, atol=1e-9)
    assert run.modes[-1].modes == {"table": "stick"}
    # it holds on a slope up to the coefficient of the direction
    for axis, mu in (("x", along), ("y", across)):
        for share, mode in ((0.99, "stick"), (1.01, "slip")):
            pulled = puck(friction=along, friction_across=across)
            pulled.generalized_force(axis, share * mu * 1.5 * GRAVITY)
            (first, *_) = dr.simulate(pulled, 0.1, start={"z": 0}).modes
            assert first.modes == {"table": mode}


def sledge(**options: Any) -> dr.Model:
    """A blade below the center of a body that turns about the vertical, above the ground."""
    m = dr.Model("sledge")
    m.gravity(GRAVITY)
    links = [m.body(f"link_{axis}", mass=0.0) for axis in "xyz"]
    body = m.body("sledge", mass=2.0, inertia=(0.1, 0.1, 0.1))
    for axis, parent, child in zip("xyz", ["ground", *links], links, strict=False):
        m.prismatic(axis, parent, child, axis=axis)
    m.revolute("heading", links[2], body, axis="z")
    m.knife_edge(body, name="blade", **options)
    return m


def test_a_blade_glides_and_skids() -> None:
    """Its path is a circle of radius v/ω while m v ω < μ N: the lateral force is that of the turn."""
    model = sledge(friction=0.5)
    start = {"x": 0, "y": 0, "z": 0, "heading": 0, "x_rate": 2.0, "y_rate": 0, "heading_rate": 1.0}
    run = dr.simulate(model, 2.0, start=start, method=TIGHT)
    assert run.status.kind == "FINISHED" and not run.warnings and run.modes[0].modes == {"blade": "stick"}
    np.testing.assert_allclose(run["x"], 2 * np.sin(run["time"]), rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["y"], 2 * (1 - np.cos(run["time"])), rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["blade_lateral_force"], 2.0 * 2.0 * 1.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["blade_longitudinal_force"], 0.0, atol=1e-12)
    fast = dr.simulate(model, 0.1, start={**start, "heading_rate": 3.0})  # 6 m/s² > 0.5 g
    assert fast.modes[0].modes == {"blade": "slip"}
    np.testing.assert_allclose(fast["blade_lateral_force"][0], 0.5 * 2.0 * GRAVITY, rtol=0, atol=1e-9)
    lands = dr.simulate(sledge(friction=0.5, friction_along=0.1), 1.0, start={**start, "z": 0.1, "heading_rate": 0}, method=TIGHT)
    speed = 2.0 - 0.1 * np.sqrt(2 * GRAVITY * 0.1)  # the impact takes μ p
    np.testing.assert_allclose(lands.at(np.nextafter(lands.modes[1].time, 9))["x_rate"], speed, rtol=0, atol=1e-9)
    assert np.ptp(lands["total_energy"] - lands["work"]) < 1e-9
    again = from_toml(to_toml(model))
    assert again.freeze() == model.freeze()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"friction": None, "friction_across": 0.1}, "leave out friction_across"),
        ({"friction": 0.1, "friction_across": 0.0}, "must be positive"),
        ({"friction": np.inf, "friction_across": 0.1}, "must be finite"),
        ({"friction": 0.0, "friction_across": np.inf}, "infinite"),
        ({"friction": 0.1, "along": "w"}, "direction"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        puck(**options).freeze()
