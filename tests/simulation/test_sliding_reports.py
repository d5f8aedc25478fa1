"""Forces, accelerations and outputs while a motion slides: closed forms, the same joint locked, and runs of ensembles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.dynamics.formulations import Augmented
from draisine.results.status import Ending
from draisine.simulation.contact_margins import LEAST_FORCE, MOST_FRICTION

G = 9.81
TIGHT = dr.methods.DOP853(rtol=1e-11, atol=1e-12)


def block() -> dr.Model:
    """A block that is pulled by a force a t, with dry friction up to c."""
    m = dr.Model("block")
    for name, value in (("mass", 2.0), ("a", 1.5), ("c", 3.0)):
        m.parameter(name, value)
    m.body("block", "mass", inertia=(0.1, 0.1, 0.1))
    m.prismatic("x", "ground", "block", axis="x")
    m.input("pull", "N")
    m.input("friction", "N")
    m.generalized_force("x", "pull + friction")
    m.output("acceleration", "rate(x_rate)")
    m.output("square", "friction^2")
    return m


LAWS = {"pull": "a*t", "friction": "-c*sign(x_rate)"}


@pytest.mark.parametrize(
    "method",
    [
        TIGHT,
        dr.methods.Radau(rtol=1e-9, atol=1e-11),
        dr.methods.RK4(step=0.01),
        dr.methods.Gauss(),
        dr.methods.CVODE(rtol=1e-9, atol=1e-11),
        dr.methods.IDA(rtol=1e-9, atol=1e-11),
    ],
)
def test_dry_friction_at_rest_balances_the_pull(method: Any) -> None:
    """Until a t = c: the friction is −a t, its square a² t², the acceleration 0; no warning. Then x = a (t − t₁)³/(6 m)."""
    rng = np.random.default_rng(3)
    for _ in range(2):
        a, c, mass = rng.uniform(0.5, 3.0), rng.uniform(1.0, 3.0), rng.uniform(0.5, 4.0)
        run = dr.simulate(
            block(),
            2.0 * c / a,
            parameters={"a": a, "c": c, "mass": mass},
            inputs=LAWS,
            method=method,
            events=[dr.Event("half", "friction + c/2")],
        )
        t, slips = run.time, c / a
        rests = t < slips * (1 - 1e-9)
        assert not run.warnings
        assert rests.sum() > 5
        np.testing.assert_allclose(run["friction"][rests], -a * t[rests], atol=1e-12)
        np.testing.assert_allclose(run["square"][rests], (a * t[rests]) ** 2, atol=1e-12)
        np.testing.assert_allclose(run["acceleration"][rests], 0.0, atol=1e-12)
        moves = t > slips * (1 + 1e-9)
        np.testing.assert_allclose(run["acceleration"][moves], a * (t[moves] - slips) / mass, atol=1e-9)
        assert run["x"][-1] == pytest.approx(a * slips**3 / (6 * mass), rel=1e-6)
        assert [e.time for e in run.events] == pytest.approx([slips / 2], rel=1e-9)
        middle = run.at(0.3 * slips)
        assert middle["friction"] == pytest.approx(-0.3 * c, rel=1e-12) and middle["acceleration"] == pytest.approx(
            0.0, abs=1e-12
        )


def test_energy_is_balanced_where_a_block_slips_and_sticks() -> None:
    run = dr.simulate(block(), 20.0, inputs={"pull": "4*sin(2*t)", "friction": LAWS["friction"]}, method=TIGHT)
    assert sum("sliding begins" in s.name for s in run.switches) > 3
    assert run.energy_drift < 1e-8
    np.testing.assert_allclose(2.0 * run["acceleration"], run["pull"] + run["friction"], atol=1e-12)


@pytest.mark.parametrize("how", [{}, {"formulation": Augmented()}, {"drift": dr.stabilization.Projection()}])
def test_a_bicycle_whose_steering_sticks_has_the_forces_of_one_with_locked_steering(how: dict[str, Any]) -> None:
    start = {"speed": 6.0, "lean": 0.05}
    run = dr.simulate(
        dr.gallery.model("bicycle"), 1.0, start=start, inputs={"steer_torque": "-50*sign(steer_rate)"}, method=TIGHT, **how
    )
    locked = dr.gallery.model("bicycle")
    locked.prescribe("lock", "steer", "0")
    other = dr.simulate(locked, 1.0, start=start, method=TIGHT)
    assert not run.warnings and not other.warnings
    forces = [c.name for c in run.channels if "force" in c.name or "friction" in c.name or "multiplier" in c.name]
    assert len(forces) > 20
    for name in forces:
        np.testing.assert_allclose(run[name], other[name], atol=1e-8, rtol=1e-8, err_msg=name)
    np.testing.assert_allclose(run["steer_torque"], other["lock_multiplier"], atol=1e-8)


def wheel_on_slope() -> dr.Model:
    """A wheel with a brake that holds it on a slope, given by the direction of gravity."""
    m = dr.Model("braked")
    for name, value in (("slope", 0.2), ("brake", 5.0)):
        m.parameter(name, value)
    m.gravity(("9.81*sin(slope)", 0, "-9.81*cos(slope)"))
    m.body("cart", 3.0, inertia=(0.1, 0.1, 0.1))
    m.body("slider", 0.0)
    m.prismatic("x", "ground", "slider", axis="x")
    m.prismatic("z", "slider", "cart", axis="z")
    m.body("hub", 2.0, inertia=(0.05, 0.1, 0.05))
    m.revolute("turn", "cart", "hub", axis="y")
    m.wheel("tire", "hub", radius=0.3)
    m.generalized_force("turn", "-brake*sign(turn_rate)")
    return m


def test_contact_forces_of_a_held_wheel_and_those_of_ensembles() -> None:
    """The brake holds: the tangential force is m g sin α of all masses; single runs and ensembles agree to the last bit."""
    cases = np.array([0.1, 0.2, 0.3])
    names = ["tire_longitudinal_force", "turn", "tire_friction_needed"]
    found = dr.ensemble(wheel_on_slope(), 1.0, {"slope": cases}, parameters={"brake": 50.0}, outputs=names)
    for i, slope in enumerate(cases):
        run = dr.simulate(wheel_on_slope(), 1.0, parameters={"slope": slope, "brake": 50.0})
        assert abs(run["tire_longitudinal_force"] + 5.0 * G * np.sin(slope)).max() < 1e-9
        for name in names:
            assert found[f"{name}.end"][i] == run[name][-1], name
        assert found[MOST_FRICTION][i] == pytest.approx(run["tire_friction_needed"].max(), rel=1e-12)
        assert found[LEAST_FORCE][i] == pytest.approx(run["tire_normal_force"].min(), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_friction_that_changes_its_own_normal_force(seed: int) -> None:
    """A bead on an inclined wire z = k x, with the friction μ N sign(ẋ) along x and N the multiplier: at rest N = m g. The
    accelerations of both sides are not linear in the law."""
    rng = np.random.default_rng(seed)
    slope, coefficient, push = rng.uniform(0.1, 0.4), rng.uniform(0.6, 0.9), rng.uniform(-0.5, 0.5)
    m = dr.Model("bead")
    m.body("bead", 2.0, inertia=(0.1, 0.1, 0.1))
    m.body("slider", 0.0)
    m.prismatic("x", "ground", "slider", axis="x")
    m.prismatic("z", "slider", "bead", axis="z")
    m.constrain("wire", f"z - {slope}*x", unit="m")
    m.output("acceleration", "rate(x_rate)")
    m.generalized_force("x", f"{push} - {coefficient}*wire_multiplier*sign(x_rate)")
    run = dr.simulate(m, 1.0, method=TIGHT)
    weight = 2.0 * G
    assert not run.warnings
    np.testing.assert_allclose(run["acceleration"], 0.0, atol=1e-9)
    np.testing.assert_allclose(run["wire_multiplier"], weight, rtol=1e-9)


def test_means_where_no_value_of_the_law_gives_the_motion() -> None:
    """ẋ = c − s, ẏ = s w with s = sign(x) and w = [x > 0]: the mean of s w is the share (1 + c)/2, while (2σ − 1) σ is not."""
    x, y = sp.symbols("x y")
    s, w = sp.sign(x), sp.Piecewise((1, x > 0), (0, True))
    c = sp.Rational(3, 10)
    system = dr.first_order("mean", {x: c - s, y: s * w}, outputs={"product": s * w, "law": s, "square": s**2})
    run = dr.simulate(system, 2.0, start={"x": 0.7}, method=TIGHT)
    late = run.time > 1.0 + 1e-9
    assert "means of both sides" in run.warnings[0]
    for name, value in (("product", 0.65), ("law", 0.3), ("square", 1.0)):
        np.testing.assert_allclose(run[name][late], value, atol=1e-12)
    assert run["y"][-1] == pytest.approx(1.0 + 0.65, abs=1e-9)


def test_products_of_two_laws_on_two_surfaces() -> None:
    """Two relays at once: each has its equivalent control, and their product is the product of these."""
    x, y, t = sp.symbols("x y t")
    system = dr.first_order(
        "two", {x: sp.sin(t) - 2 * sp.sign(x), y: sp.cos(t) - 2 * sp.sign(y)}, outputs={"both": sp.sign(x) * sp.sign(y)}
    )
    run = dr.simulate(system, 3.0, start={"x": 0.0, "y": 0.0}, method=TIGHT)
    assert not run.warnings
    np.testing.assert_allclose(run["both"], np.sin(run.time) * np.cos(run.time) / 4, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_equivalent_control_of_random_relays(seed: int) -> None:
    """Sliding mode control: on s = ẋ + λ x = 0 the input of a relay is −m λ ẋ − F, and x decays as e^(−λ t)."""
    rng = np.random.default_rng(seed)
    decay, mass, load = rng.uniform(0.5, 2.0), rng.uniform(0.5, 3.0), rng.uniform(-1.0, 1.0)
    m = block()
    run = dr.simulate(
        m,
        4.0,
        start={"x": 0.5},
        parameters={"mass": mass},
        inputs={"pull": f"{load}", "friction": f"-20*where(x_rate + {decay}*x >= 0, 1, -1)"},
        method=TIGHT,
    )
    begins = [s.time for s in run.switches if "begins" in s.name]
    late = run.time > begins[0]
    assert len(begins) == 1 and not run.warnings
    np.testing.assert_allclose(run["friction"][late], -mass * decay * run["x_rate"][late] - load, atol=1e-8)
    decays = run["x"][late] * np.exp(decay * run.time[late])
    np.testing.assert_allclose(decays, decays[0], rtol=1e-7)


def test_with_sensitivities_and_in_ensembles() -> None:
    given: dict[str, Any] = {"inputs": LAWS, "method": TIGHT}
    run = dr.simulate(block(), 3.0, **given)
    varied = dr.simulate(block(), 3.0, sensitivity=["c"], **given)
    rests = run.time < 1.99
    np.testing.assert_allclose(varied["friction"][rests], run["friction"][rests], atol=1e-12)
    assert any("sensitivities of forces" in warning for warning in varied.warnings)
    found = dr.ensemble(block(), 3.0, {"c": [3.0, 9.0]}, outputs=["friction", "acceleration"], **given)
    other = dr.simulate(block(), 3.0, parameters={"c": 9.0}, **given)
    assert found["friction.end"][1] == other["friction"][-1] == pytest.approx(-4.5, rel=1e-12)
    assert not any("slides" in warning for warning in found.warnings)


def stick_slip(c: float, load: Any, x0: float, until: float) -> list[tuple[float, float, Any, float]]:
    """ẍ = load(t, x) − c sign(ẋ) from rest, by SciPy and piece by piece: begin, end, states as functions of time, and the sign of
    the velocity, 0 where it sticks."""
    t, x, parts = 0.0, x0, []
    while t < until:
        times = np.linspace(t, until, 20_001)
        leaves = np.flatnonzero(np.abs(load(times, x)) > c)
        if not leaves.size or leaves[0] > 0:
            i = leaves[0] if leaves.size else 0
            end = brentq(lambda s, x=x: abs(load(s, x)) - c, times[i - 1], times[i], xtol=1e-15) if leaves.size else until
            parts.append((t, end, lambda s, x=x: np.array([x + 0 * s, 0 * s]), 0.0))
            t = end
            if not leaves.size:
                return parts
        side = np.sign(load(t + 1e-6, x))

        def stops(s: float, y: Any, begin: float = t, side: float = side) -> float:
            return y[1] * side if s > begin + 1e-5 else 1.0

        stops.terminal, stops.direction = True, -1  # type: ignore[attr-defined]
        found = solve_ivp(
            lambda s, y, side=side: [y[1], load(s, y[0]) - c * side],
            (t, until),
            [x, 0.0],
            method="DOP853",
            rtol=1e-12,
            atol=1e-13,
            events=stops,
            dense_output=True,
        )
        parts.append((t, float(found.t[-1]), found.sol, side))
        t, x = float(found.t[-1]), float(found.y[0, -1])
    return parts


@pytest.mark.parametrize("seed", range(4))
def test_random_stick_slip_against_an_integration_piece_by_piece(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, c, force, rate = rng.uniform(0.5, 4.0), rng.uniform(0.3, 2.0), rng.uniform(2.0, 4.0), rng.uniform(0.3, 2.0)
    m = block()
    m.generalized_force("x", f"-{k}*x")
    law = f"-{c}*sign(x_rate)" if seed % 2 else f"where(x_rate > 0, -{c}, {c})"
    laws = {"pull": f"{force}*sin({rate}*t)", "friction": law}
    run = dr.simulate(m, 12.0, start={"x": 0.1}, parameters={"mass": 1.0}, inputs=laws, method=TIGHT)
    assert run.status.kind == Ending.FINISHED and not run.warnings
    sticks = 0
    for begin, end, states, side in stick_slip(c, lambda t, x: force * np.sin(rate * t) - k * x, 0.1, 12.0):
        inside = (run.time > begin + 1e-6) & (run.time < end - 1e-6)
        t = run.time[inside]
        if t.size:
            x = states(t)[0]
            friction = -c * side if side else k * x - force * np.sin(rate * t)
            np.testing.assert_allclose(run["x"][inside], x, atol=1e-9)
            np.testing.assert_allclose(run["friction"][inside], friction, atol=1e-9)
            sticks += side == 0.0
    assert sticks > 0


# ------------------------------------------------------------------------------------------------------------- 0 = F


def implicit_friction(c: float) -> dr.Equations:
    """0 = F: a mass on a spring with dry friction, whose force is an algebraic unknown."""
    a, b, f = dynamicsymbols("a b f")
    laws = {"a": a.diff() - b, "b": b.diff() + a - f, "c": f + c * sp.sign(b)}
    return dr.symbolic.implicit("friction", laws, [a, b, f], start={a: 1.0, b: 0.0, f: 0.0})


@pytest.mark.parametrize("seed", range(3))
def test_implicit_equations_of_index_1_slide(seed: int) -> None:
    """The amplitude falls by 2 c every half period, until the spring is weaker; then the force balances the spring."""
    rng = np.random.default_rng(seed)
    c, x0 = rng.uniform(0.05, 0.2), rng.uniform(0.5, 1.5)
    run = dr.simulate(implicit_friction(c), 40.0, start={"a": x0}, method=TIGHT)
    turns = int(np.ceil((x0 - c) / (2 * c)))
    rest = (-1) ** turns * (x0 - 2 * c * turns)
    assert not run.warnings and "solved for its rates" in run.scene["reduction"]
    assert run["a"][-1] == pytest.approx(rest, abs=1e-9) and run["f"][-1] == pytest.approx(rest, abs=1e-9)
    assert run.switches[-1].time == pytest.approx(turns * np.pi, abs=1e-9)


def test_semi_explicit_equations_slide_in_ensembles_as_in_runs() -> None:
    p, q, y = sp.symbols("p q y")
    law = y + sp.Rational(13, 100) * sp.sign(q)
    system = dr.symbolic.semi_explicit("semi", {p: q, q: -p + y}, unknowns=[y], constraints={"law": law}, start={p: 1.0})
    run = dr.simulate(system, 20.0, start={"p": 1.0})
    found = dr.ensemble(system, 20.0, {"start.p": [1.0, 2.0]}, outputs=["p", "y"])
    assert run["p"][-1] == found["p.end"][0] and run["y"][-1] == found["y.end"][0]
    assert run["y"][-1] == pytest.approx(-0.04, abs=1e-6)


def test_what_remains_implicit_ends_where_it_would_slide() -> None:
    run = dr.simulate(implicit_friction(0.2), 40.0, start={"a": 1.0, "f": 0.0})
    assert run.status.kind == Ending.SLIDING_AMBIGUOUS and "reduce_index" in run.status.message
