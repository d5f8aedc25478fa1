"""Double pendulum, cart and pole, spherical pendulum: by hand, by Lagrangian, by graph; and on the command line."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import draisine as dr
from draisine import gallery
from draisine.cli.main import main
from draisine.gallery.entries.cart_pole import cart_pole, cart_pole_graph, cart_pole_swing_up
from draisine.gallery.entries.double_pendulum import double_pendulum, double_pendulum_graph, double_pendulum_twice
from draisine.gallery.entries.spherical_pendulum import (
    spherical_pendulum,
    spherical_pendulum_by_angles,
    spherical_pendulum_passes,
)

BY_HAND = ["delebecque_bicycle", "double_pendulum", "cart_pole", "spherical_pendulum", "spherical_pendulum_by_angles"]
OTHERS = {"m_upper": 1.3, "m_lower": 0.7, "l_upper": 0.9, "l_lower": 1.4, "gravity": 9.5}


def test_double_pendulum_is_that_of_the_books() -> None:
    """M = [[(m₁+m₂) l₁², m₂ l₁ l₂ c], [·, m₂ l₂²]], right side from θ̇² and weights."""
    e = double_pendulum()
    m1, m2, l1, l2, g = OTHERS.values()
    a, b, wa, wb = 0.7, -1.9, 2.1, -0.6
    c, s = math.cos(a - b), math.sin(a - b)
    matrix = np.array([[(m1 + m2) * l1**2, m2 * l1 * l2 * c], [m2 * l1 * l2 * c, m2 * l2**2]])
    side = np.array(
        [-m2 * l1 * l2 * s * wb**2 - (m1 + m2) * g * l1 * math.sin(a), m2 * l1 * l2 * s * wa**2 - m2 * g * l2 * math.sin(b)]
    )
    slope = e.dynamics([0.0], [a, b, wa, wb], [], [OTHERS[p.name] for p in e.parameters])[0]
    assert slope[2:] == pytest.approx(np.linalg.solve(matrix, side), rel=1e-12)


def test_descriptions_are_certified() -> None:
    for graph, typed in ((double_pendulum_graph(), double_pendulum()), (cart_pole_graph(), cart_pole())):
        certificate = dr.certify(graph, against=typed, count=8)
        assert certificate.passed, str(certificate)


def test_double_pendulum_study_holds() -> None:
    study = double_pendulum_twice(until=8.0)
    assert set(study.figures) == {"tip", "apart", "angles"}


def test_cart_pole_study_holds() -> None:
    study = cart_pole_swing_up()
    assert set(study.figures) == {"swing_up", "energy"}


def test_spherical_pendulum_study_holds() -> None:
    study = spherical_pendulum_passes(until=30.0)
    assert set(study.figures) == {"rosette", "closest_pass", "work"}


def test_conical_pendulum_turns_at_its_rate_and_pulls_its_rod() -> None:
    """At the angle α the bob goes round at √(g/(l cos α)), and the rod pulls with m g/cos α; both descriptions."""
    angle = 1.1
    rate = math.sqrt(9.81 / math.cos(angle))
    place = {"x": math.sin(angle), "y": 0.0, "z": -math.cos(angle), "y_rate": rate * math.sin(angle)}
    method = dr.methods.DOP853(rtol=1e-12, atol=1e-13)
    run = dr.simulate(spherical_pendulum(), 5.0, start=place, method=method)
    assert run["z"] == pytest.approx(np.full_like(run.time, -math.cos(angle)), abs=1e-9)
    assert run["x"] == pytest.approx(math.sin(angle) * np.cos(rate * run.time), abs=1e-8)
    assert run["rod_multiplier"] == pytest.approx(np.full_like(run.time, -9.81 / math.cos(angle)), rel=1e-8)
    again = dr.simulate(spherical_pendulum_by_angles(), 5.0, start={"polar": angle, "azimuth_rate": rate}, method=method)
    assert again["azimuth"] == pytest.approx(rate * again.time, abs=1e-8)


def test_it_goes_over_the_top_too() -> None:
    """Exactly through both poles of the angles: a plane swing with more than enough energy."""
    run = dr.simulate(
        spherical_pendulum(), 6.0, start={"x": 0.0, "y": 0.0, "x_rate": 7.0}, method=dr.methods.DOP853(rtol=1e-11, atol=1e-13)
    )
    assert run.status.complete and run["z"].max() > 0.999
    assert run.energy_drift is not None and run.energy_drift < 1e-9 and np.abs(run["y"]).max() < 1e-12


def test_equations_typed_by_hand_are_among_the_models() -> None:
    for name in BY_HAND:
        assert isinstance(gallery.model(name), dr.Equations), name
    assert set(BY_HAND) <= set(gallery.models())


@pytest.mark.parametrize("name", BY_HAND)
def test_show(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    e = gallery.model(name)
    assert main(["show", name]) == 0
    out = capsys.readouterr().out
    assert f"{len(e.coordinates)} coordinates" in out and "degrees of freedom" in out and "with pivoting" in out
    for quantity in (*e.coordinates, *e.parameters, *e.inputs, *e.outputs):
        assert f"  {quantity.name} " in out or f"  {quantity.name}\n" in out, quantity.name
    assert main(["show", name, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["name"] == name and list(data["coordinates"]) == [c.name for c in e.coordinates]
    assert "bodies" not in data


def test_show_counts_what_is_free(capsys: pytest.CaptureFixture[str]) -> None:
    main(["show", "delebecque_bicycle"])
    assert "23 velocities, 20 velocity constraints, 3 degrees of freedom" in capsys.readouterr().out


def test_simulate_with_a_law_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "simulate",
        "cart_pole",
        "--pole",
        "0.1",
        "--set",
        "l_pole=0.8",
        "--input",
        "push=30*pole + 5*pole_rate",
        "--until",
        "1",
    ]
    assert main([*words, "--json"]) == 0
    final = json.loads(capsys.readouterr().out)["final"]
    words[1] = "cart_pole_graph"
    assert main([*words, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["final"]
    assert again["pole"] == pytest.approx(final["pole"], abs=1e-8) and final["cart"] == pytest.approx(again["cart"], abs=1e-8)
    assert main([*words[:6], "--until", "1", "--json"]) == 0
    assert abs(json.loads(capsys.readouterr().out)["final"]["pole"] - final["pole"]) > 0.1  # without the law it falls


def test_a_typed_pendulum_is_certified_against_its_graph(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", "double_pendulum", "--against", "double_pendulum_graph", "--states", "3"]) == 0
    assert "the two descriptions agree on the accelerations of upper_rate, lower_rate" in capsys.readouterr().out
