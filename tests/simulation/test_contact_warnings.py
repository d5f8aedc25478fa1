"""Warnings of single runs about ideal contacts: found at accepted steps, with the time at which a margin becomes negative."""

import re
import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import draisine as dr
from planar_mass import planar_mass


def since(run: dr.Trajectory, what: str) -> float:
    """The time that the warning with this beginning states."""
    (text,) = (w for w in run.warnings if w.startswith(what))
    found = re.search(r"from t = ([-\d.e+]+) s", text)
    assert found
    return float(found[1])


def least(run: dr.Trajectory, what: str) -> float:
    (text,) = (w for w in run.warnings if w.startswith(what))
    found = re.search(r"\(least ([-\d.e+]+) N", text)
    assert found
    return float(found[1])


def pendulum() -> dr.Model:
    """A mass on a cable of 1 m in a vertical plane."""
    m = planar_mass("cable_pendulum")
    m.cable("line", ["o", "p"], 1.0)
    m.output("s", "x*z_rate-z*x_rate", "m^2/s")
    return m


@pytest.mark.parametrize("speed", [5.0, 5.6, 6.3, 6.9])
def test_a_cable_becomes_slack_between_samples(speed: float) -> None:
    """Tension m (v² + g cos φ) of a pendulum, φ from SciPy at tight tolerance."""
    g = 9.81

    def tension(t: float, y: np.ndarray) -> float:
        return y[1] ** 2 + g * np.cos(y[0])

    reference = solve_ivp(
        lambda t, y: [y[1], -g * np.sin(y[0])], (0, 2), [0.0, speed], events=tension, rtol=1e-11, atol=1e-12, dense_output=True
    )
    first = reference.t_events[0][0]
    fine = np.linspace(0, 2, 40001)
    push = -min(tension(0.0, y) for y in reference.sol(fine).T)
    for samples in (2, 7, None):
        run = dr.simulate(pendulum(), 2.0, start={"x": 0.0, "z": -1.0, "s": speed}, samples=samples)
        assert since(run, "cable line") == pytest.approx(first, abs=2e-5)
        (text,) = run.warnings
        found = re.search(r"by up to ([\d.]+) N", text)
        assert found and float(found[1]) == pytest.approx(push, rel=2e-3)
    calm = dr.simulate(pendulum(), 2.0, start={"x": 0.0, "z": -1.0, "s": np.sqrt(5 * g) + 0.01}, samples=2)
    assert not calm.warnings


BEGIN = {"speed": 5.0}


def test_pulses_of_torque_on_a_bicycle_with_few_samples() -> None:
    """Random pulses: the time is that of the pulse, and the force that of a run with many samples inside it."""
    bicycle, rng = dr.gallery.bicycle(), np.random.default_rng(4)
    for length in (1e-3, 0.03, 0.4):
        begin = round(float(rng.uniform(0.1, 0.5)), 4)
        end = round(begin + length, 4)
        pulse = {"pedal_torque": f"where(t>{begin},where(t<{end},{rng.uniform(250, 900):.1f},0),0)"}
        run = dr.simulate(bicycle, 1.0, start=BEGIN, inputs=pulse, samples=2)
        inside = np.linspace(begin, end, 102)[1:-1]
        fine = dr.simulate(bicycle, 1.0, start=BEGIN, inputs=pulse, samples=inside)
        assert fine["front_wheel_normal_force"].min() < 0
        what = "the normal force on front_wheel"
        assert since(run, what) == pytest.approx(begin, abs=1e-5)
        assert least(run, what) == pytest.approx(fine["front_wheel_normal_force"].min(), rel=1e-3)
        many = dr.ensemble(bicycle, 1.0, cases={"speed": [5.0]}, inputs=pulse)
        assert many["least_normal_force"][0] == pytest.approx(least(run, what), rel=1e-2)


def test_a_smooth_load_inside_a_step() -> None:
    """A pulse of 20 ms without switches: the time of the zero from a run with samples around it."""
    bicycle = dr.gallery.bicycle()
    pulse = {"pedal_torque": "300*exp(-((t-0.437)/0.02)^2)"}
    run = dr.simulate(bicycle, 1.0, start=BEGIN, inputs=pulse, samples=2)
    times = np.linspace(0.38, 0.437, 2001)
    force = dr.simulate(bicycle, 1.0, start=BEGIN, inputs=pulse, samples=times)["front_wheel_normal_force"]
    zero = brentq(lambda t: np.interp(t, times, force), times[0], times[-1])
    assert since(run, "the normal force on front_wheel") == pytest.approx(zero, abs=1e-4)


def test_a_sampled_control_pulls_between_samples() -> None:
    """Inputs that a control sets for one period only."""
    bicycle = dr.gallery.bicycle()
    control = dr.control.Sampled(lambda t, x: {"pedal_torque": 300.0 if 0.245 < t < 0.255 else 0.0}, rate=50)
    one = dr.control.Sampled(lambda t, x: {"pedal_torque": 300.0 if 0.235 < t < 0.245 else 0.0}, rate=50)
    assert not dr.simulate(bicycle, 1.0, start=BEGIN, control=control, samples=2).warnings  # no instant lies there
    run = dr.simulate(bicycle, 1.0, start=BEGIN, control=one, samples=2)
    assert since(run, "the normal force on front_wheel") == pytest.approx(0.24, abs=1e-6)


def test_sensitivities_do_not_change_the_warnings() -> None:
    start = {"x": 0.0, "z": -1.0, "s": 6.0}
    plain = dr.simulate(pendulum(), 1.0, start=start, samples=2)
    varied = dr.simulate(pendulum(), 1.0, start=start, samples=2, sensitivity=["start.s"])
    assert since(varied, "cable line") == pytest.approx(since(plain, "cable line"), abs=1e-5)


def test_steps_cost_no_evaluations_and_no_imports() -> None:
    code = (
        "import sys, draisine as dr; r = dr.simulate(dr.gallery.bicycle(), 2.0, start={'speed': 5.0}, samples=2);"
        "print(r.statistics.evaluations, sorted({'casadi', 'scipy', 'sympy'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    few = dr.simulate(dr.gallery.bicycle(), 2.0, start=BEGIN, samples=2)
    from draisine.simulation.simulate import compute

    steps_only = compute(dr.gallery.bicycle(), 2.0, start=BEGIN).run
    assert few.statistics.evaluations == steps_only.evaluations
    assert out.split(" ", 1)[1].strip() == "[]"
