"""Switches in the page: steps are cut there, dry friction sticks, and what cannot be integrated is said."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.expr.expression import parse
from draisine.studio.bundle import bundle
from draisine.studio.replay import replay
from studio_node import run_node

X, V, T, Y = sp.symbols("x v t y")
TIGHT = dr.methods.DOP853(rtol=1e-12, atol=1e-13)


def page_run(model, start, seconds, folder, step=None):
    """State at the end, the warning, and the time of a run in the page."""
    path = folder / "model.js"
    path.write_text(bundle(model, step=step).as_script(), encoding="utf-8")
    body = """
        load(given[0]); const live = born(); const why = live.reset(given[1]);
        if (why) throw new Error(why);
        live.advance(given[2], {});
        return { x: numbers(live.state), warning: live.warning, time: live.time, status: live.status };
        """
    found = run_node(body, [str(path), start, seconds], folder)
    assert found["status"] == "ok" and found["time"] == pytest.approx(seconds, abs=1e-9)
    return np.array(found["x"], dtype=float), found["warning"]


def oscillator(force):
    return dr.first_order("oscillator", {X: V, V: force})


def test_dry_friction_sticks(tmp_path):
    """x = 1 − 4 · 0.26 after four half swings: then it sticks."""
    x, warning = page_run(oscillator(-X - sp.Rational(13, 100) * sp.sign(V)), {"x": 1.0}, 20.0, tmp_path)
    assert abs(x[0] + 0.04) < 1e-9 and abs(x[1]) < 1e-9
    assert warning == ""


def test_a_pulse_that_steps_do_not_hit(tmp_path):
    law = "where(t > 0.5003, where(t < 0.5511, 1, 0), 0)"
    bike = dr.derive(dr.gallery.bicycle(), {"steer_torque": parse(law)})
    x, _ = page_run(bike, {"speed": 5.0}, 1.0, tmp_path)
    run = dr.simulate(bike, 1.0, start={"speed": 5.0}, method=TIGHT)
    np.testing.assert_allclose(x, [run[s.name][-1] for s in bike.states], rtol=0, atol=1e-9)
    assert abs(run["lean"][-1]) > 1e-3


def drawn(random):
    """A random oscillator whose force switches by time, position and velocity, and its start."""
    a, b, c, d, e = (float(v) for v in random.uniform(0.1, 1.0, 5))
    terms = [
        sp.Piecewise((a, 0.3 * b < X), (-b, True)),
        -c * sp.sign(V),
        d * sp.Abs(X - 0.2 * e),
        0.3 * e * sp.floor(2 * X + a),
        sp.Piecewise((2 * b, sp.And(c < T, c + 0.0123 > T)), (0, True)),
        0.5 * a * sp.Max(V, X - c),
        -0.4 * b * sp.ceiling(T / (0.2 + c)),
        sp.Piecewise((sp.Piecewise((d, V > 0), (-d, True)), X > 0), (0, True)),
    ]
    chosen = random.choice(len(terms), int(random.integers(1, 4)), replace=False)
    force = -(1 + a) * X - 0.1 * V + sum(terms[k] for k in chosen)
    return oscillator(force), {"x": float(random.uniform(-2, 2)), "v": float(random.uniform(-2, 2))}


@pytest.mark.parametrize("seed", range(10))
def test_random_switching_forces(seed, tmp_path):
    """Against runs in Python at tight tolerance, which slide as well."""
    model, start = drawn(np.random.default_rng(seed))
    run = dr.simulate(model, 4.0, start=start, method=TIGHT)
    x, warning = page_run(model, start, 4.0, tmp_path, step=0.002)
    assert run.status.kind == "FINISHED" and warning == ""
    np.testing.assert_allclose(x, [run["x"][-1], run["v"][-1]], rtol=0, atol=2e-9)


def test_sliding_on_two_surfaces_is_said(tmp_path):
    model = dr.first_order("two", {X: -sp.sign(X) * (2 + sp.sign(Y)), Y: -sp.sign(Y) * (2 + sp.sign(X))})
    x, warning = page_run(model, {"x": 0.5, "y": 0.5}, 2.0, tmp_path, step=0.002)
    assert "switches back and forth at sign" in warning and "order of a step" in warning
    assert np.abs(x).max() < 0.02


def test_inputs_and_states_from_outside(tmp_path):
    """Branches follow a changed input, a push and a restart."""
    u = sp.Symbol("u")
    model = dr.first_order("pushed", {X: V, V: sp.Piecewise((1, X + u > 0), (-2, True))}, inputs=[u])
    path = tmp_path / "model.js"
    path.write_text(bundle(model, step=0.002).as_script(), encoding="utf-8")
    body = """
        load(given); const live = born(), ends = [];
        live.reset({ x: 1 }); live.advance(0.1, { u: 0 }); ends.push(numbers(live.state));
        live.advance(0.1, { u: -5 }); ends.push(numbers(live.state));
        live.reset({ x: -1 }); live.advance(0.1, {}); ends.push(numbers(live.state));
        return ends;
        """
    first, second, third = run_node(body, str(path), tmp_path)
    np.testing.assert_allclose(first, [1.005, 0.1], atol=1e-12)
    np.testing.assert_allclose(second, [1.005 + 0.01 - 0.01, 0.1 - 0.2], atol=1e-12)
    np.testing.assert_allclose(third, [-1.01, -0.2], atol=1e-12)


def test_rides_with_switches_are_replayed(tmp_path):
    """Steps across a switch are counted and not compared; all others are those of Python."""
    model = oscillator(-X - sp.Rational(1, 2) * sp.sign(X - sp.Rational(1, 10)))
    path = tmp_path / "model.js"
    path.write_text(bundle(model, step=0.002).as_script(), encoding="utf-8")
    body = """
        load(given); const live = born(); live.reset({ x: 1 });
        live.record(true); live.advance(6, {}); live.record(false);
        return live.recording();
        """
    ride = tmp_path / "ride.csv"
    ride.write_text(run_node(body, str(path), tmp_path), encoding="utf-8")
    checked = replay(dr.load(ride), model)
    run = dr.simulate(model, 6.0, start={"x": 1.0}, method=TIGHT)
    assert checked.reproduced and checked.switched == len(run.switches) > 1
    assert checked.steps + checked.switched == 3000
    assert f"{checked.switched} more with a switch" in str(checked)


def test_models_of_the_gallery(tmp_path):
    """A loaded wheel that slips does not switch; the step is the same as with one smooth field."""
    made = bundle("sliding_bicycle")
    assert len(made.manifest["runtime"]["switches"]) == 2
    path = tmp_path / "model.js"
    path.write_text(made.as_script(), encoding="utf-8")
    body = """
        load(given); const live = born(); live.advance(0.2, {}); const cut = numbers(live.state);
        live.reset(live.manifest.start); live._switches = null; live.advance(0.2, {});
        return [cut, numbers(live.state), live.warning];
        """
    cut, plain, warning = run_node(body, str(path), tmp_path)
    np.testing.assert_allclose(cut, plain, rtol=1e-12, atol=1e-13)
    assert warning == ""


def jumps(model, start, calls, folder):
    """Samples beside jumps of a run in the page: times, and the column of an output or state, (samples, states)."""
    path = folder / "model.js"
    path.write_text(bundle(model).as_script(), encoding="utf-8")
    body = """
        load(given[0]); const live = born(); live.jumps = [];
        const why = live.reset(given[1]);
        if (why) throw new Error(why);
        for (const [seconds, inputs] of given[2]) live.advance(seconds, inputs);
        return live.jumps.map(({ time, state, outputs }) => ({ time, state: numbers(state), outputs: numbers(outputs) }));
        """
    return run_node(body, [str(path), start, calls], folder)


def test_charts_get_both_sides_of_jumps(tmp_path):
    """A relay that reverses where x passes zero, an input that is pressed, a ball that bounces; in a smooth motion none."""
    bounced = jumps(dr.gallery.superball(), {"z": 0.4, "x_rate": 3.0, "z_rate": -5.0}, [[0.1, {}]], tmp_path)
    assert [one["time"] for one in bounced] == pytest.approx([0.069290, 0.069290], abs=0.01)
    names = [s.name for s in dr.derive(dr.gallery.superball()).states]
    found = [one["state"][names.index("x_rate")] for one in bounced]
    assert found == pytest.approx([3.0, 9.0 / 7], abs=1e-9)
    relay = jumps(oscillator(-sp.sign(X) - sp.Rational(1, 100) * V), {"x": 1.0}, [[2.0, {}]], tmp_path)
    assert len(relay) == 2 and relay[0]["state"][0] > 0 > relay[1]["state"][0]
    bike = dr.gallery.bicycle()
    pressed = jumps(bike, {"speed": 5.0}, [[0.1, {}], [0.1, {"steer_torque": 1.0}], [0.1, {"steer_torque": 1.0}]], tmp_path)
    assert [one["time"] for one in pressed] == pytest.approx([0.1])
    assert jumps(bike, {"speed": 5.0, "lean": 0.1}, [[0.5, {}]], tmp_path) == []
