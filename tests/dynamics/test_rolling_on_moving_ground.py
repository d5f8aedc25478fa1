"""Balls and disks that turn over on ground that moves: no position of theirs is singular."""

import numpy as np
import pytest

import draisine as dr


def ball(velocity: tuple[object, object]) -> dr.Model:
    m = dr.Model("ball")
    b = m.body("b", mass=2.0, inertia=(0.008, 0.008, 0.008))
    m.free(b)
    m.wheel("w", b, radius=0.0, tube=0.1)
    m.ground(velocity=velocity)
    m.output("vx", "velocity_x(b)", "m/s")
    m.output("vy", "velocity_y(b)", "m/s")
    return m


@pytest.mark.parametrize("velocity", [0.5, -1.3])
def test_a_ball_rolls_steadily_on_a_moving_belt(velocity: float) -> None:
    """It keeps its speed; the body turns about its axle many times."""
    run = dr.simulate(ball((velocity, 0.0)), 5.0, start={"vx": 1.0})
    assert not run.warnings and "singular" not in str(run.status)
    assert np.allclose(run["vx"], 1.0, atol=1e-7)
    assert np.allclose(run["w_normal_force"], 2.0 * 9.81, atol=1e-6)


def test_a_ball_on_a_turntable_moves_on_a_circle() -> None:
    """v̇ = 2/7 Ω e_z × v for a homogeneous ball, from random starts."""
    rng, model = np.random.default_rng(7), ball(("-1.0*y", "1.0*x"))
    for _ in range(3):
        x, y, vx, vy = rng.uniform(-0.5, 0.5, 4)
        run = dr.simulate(model, 8.0, start={"b_x": x, "b_y": y, "vx": vx, "vy": vy})
        assert "branch" not in str(run.status)
        turned = np.exp(1j * 2 / 7 * run.time)
        place = x + 1j * y + (vx + 1j * vy) * (turned - 1) / (1j * 2 / 7)
        assert np.allclose(run["b_x"] + 1j * run["b_y"], place, atol=2e-6)


def test_a_disk_turns_over_on_a_moving_belt() -> None:
    """An upright disk keeps its speed over the belt."""
    m = dr.Model("disk")
    b = m.body("b", mass=2.0, inertia=(0.01, 0.02, 0.01))
    m.free(b)
    m.wheel("w", b, radius=0.2)
    m.ground(velocity=(0.5, 0.0))
    m.output("vx", "velocity_x(b)", "m/s")
    run = dr.simulate(m, 4.0, start={"vx": 2.0})
    assert "singular" not in str(run.status)
    assert np.allclose(run["vx"], 2.0, atol=1e-7)
