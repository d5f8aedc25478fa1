"""Gallery entries of contacts beyond ideal rolling on a plane: waves, the wheelset, a bicycle that slides."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr
from draisine import gallery
from draisine.gallery.entries.sliding_bicycle import rolling_start
from draisine.gallery.entries.wheelset import RUNS, centerd, critical_speed, wheelset
from gallery.chapter_five import eigenvalues, rates


@pytest.mark.parametrize("study", ["wheel_over_waves", "wheelset_hunts", "bicycle_slides"])
def test_studies_hold(study: str) -> None:
    assert gallery.study(study)().figures


@pytest.mark.parametrize("name", list(RUNS))
def test_the_wheelset_has_the_eigenvalues_of_the_chapters_equations(name: str) -> None:
    """Contact in three dimensions against the chapter's plane contact and approximate creep."""
    speed, springs, conicity, _ = RUNS[name]
    parameters = {"speed": speed, "conicity": conicity, "suspension": springs}
    linear = dr.linearize(wheelset(), centerd(speed, conicity), parameters=parameters)
    ours = np.sort_complex(np.linalg.eigvals(linear.A))
    ours = ours[np.abs(ours) > 1e-6]
    theirs = eigenvalues(speed, conicity, springs)
    assert len(ours) == len(theirs) == 5
    np.testing.assert_allclose(ours, theirs, atol=0.03)
    hunting = [found[np.argmax(found.real)] for found in (ours, theirs)]
    assert abs(hunting[0].imag) == pytest.approx(abs(hunting[1].imag), rel=1e-4)
    assert hunting[0].real == pytest.approx(hunting[1].real, abs=0.005)


def test_the_wheelset_moves_as_the_chapters_equations_say() -> None:
    """The first quarter of a second of the unstable run, by an integrator of SciPy's."""
    from scipy.integrate import solve_ivp

    speed, springs, conicity, _ = RUNS["unstable"]
    start = centerd(speed, conicity)
    first = [0.002, 0.0, 0.0, 0.0, start["turn_rate"] - speed / 0.46]
    theirs = solve_ivp(lambda _, s: rates(s, speed, conicity, springs), (0, 0.25), first, rtol=1e-7, atol=1e-10)
    parameters = {"speed": speed, "conicity": conicity, "suspension": springs}
    run = dr.simulate(wheelset(), 0.25, start={**start, "lateral": 0.002}, parameters=parameters)
    assert run["lateral"][-1] == pytest.approx(theirs.y[0, -1], abs=2e-6)
    assert run["yaw"][-1] == pytest.approx(theirs.y[1, -1], abs=2e-6)


def test_a_conical_wheelset_is_stable_up_to_a_speed_that_falls_with_conicity() -> None:
    """Between the chapter's two runs at 100 m/s lies the conicity that is critical there."""
    model = wheelset()
    assert critical_speed(model, 0.05) > 100 > critical_speed(model, 0.08)


def test_stiff_tires_give_the_eigenvalues_of_ideal_rolling() -> None:
    """Weave, capsize and caster of the benchmark at 5 m/s; the error falls as one over the stiffness."""
    targets = {"speed": 5.0, "lean": 0.0, "steer": 0.0, "roll_rate": 0.0, "steer_rate": 0.0}
    ideal = np.linalg.eigvals(dr.linearize(gallery.bicycle(), targets).A)
    wanted = [value for value in ideal if abs(value) > 1e-3 and value.imag >= 0]
    assert len(wanted) == 3
    model, start = gallery.sliding_bicycle(), rolling_start(speed=5.0)
    apart = []
    for stiffness in (1e5, 1e6):
        found = np.linalg.eigvals(dr.linearize(model, start, parameters={"tire_stiffness": stiffness}).A)
        apart.append(max(np.abs(found - value).min() for value in wanted))
    assert apart[1] < 0.01
    assert 8 < apart[0] / apart[1] < 12
