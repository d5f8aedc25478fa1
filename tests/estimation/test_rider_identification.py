"""Riders identified from logs of our own making, whose gains and delay are known: exact logs, noisy ones, files, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr

COLUMNS = {"steer": "steer", "roll_rate": "roll_rate", "roll": "lean"}
PUSH = "30*sin(1.3*t) + 30*sin(4.1*t) + 20*sin(9.7*t)"


@pytest.fixture(scope="module")
def ride():
    """A rider with a delay on a bicycle that is pushed; Padé's approximation of order eight is exact to 1e-9 here."""
    bicycle = dr.derive(dr.gallery.bicycle())
    rider = dr.control.rider_control(bicycle, {"speed": 5.0}, delay=0.05, order=8, damping=(0.1, 0.06), lateral=None)
    loop = rider.on(bicycle, inputs={"push": PUSH})
    return rider, dr.simulate(loop, 10.0, start={"speed": 5.0}, samples=np.linspace(0, 10, 2001))


def table(run, noise: float = 0.0, seed: int = 0) -> dict[str, np.ndarray]:
    deviations = np.random.default_rng(seed).normal(0.0, noise, len(run.time)) if noise else 0.0
    return {"time": run.time, **{n: run[n] for n in COLUMNS.values()}, "steer_torque": -run["rider_torque"] + deviations}


def test_an_exact_log_gives_gains_and_delay(ride):
    rider, run = ride
    found = dr.estimation.identify_rider(run, torque="-rider_torque")
    assert found.delay == pytest.approx(0.05, abs=5e-6) and found.explained > 0.999999
    for loop, gain in rider.gains.items():
        assert found.gains[loop] == pytest.approx(gain, rel=5e-4), loop
    known = dr.estimation.identify_rider(run, torque="-rider_torque", delay=0.05)
    assert "delay" not in known.deviations and known.gains["steer"] == pytest.approx(found.gains["steer"], rel=1e-4)


def test_random_riders_on_random_rides(ride):
    """Other gains, delays and pushes; the loop may be any that balances."""
    rng, bicycle = np.random.default_rng(9), dr.derive(dr.gallery.bicycle())
    for _ in range(3):
        delay, speed = float(rng.uniform(0.02, 0.07)), float(rng.uniform(4.5, 6.0))
        rider = dr.control.rider_control(bicycle, {"speed": speed}, delay=delay, order=8, damping=(0.1, 0.05), lateral=None)
        push = " + ".join(f"{rng.uniform(5, 20):.3f}*sin({w:.3f}*t)" for w in rng.uniform(0.8, 10.0, 4))
        run = dr.simulate(rider.on(bicycle, inputs={"push": push}), 8.0, start={"speed": speed}, samples=np.linspace(0, 8, 2001))
        found = dr.estimation.identify_rider(run, torque="-rider_torque")
        assert found.delay == pytest.approx(delay, abs=5e-5)
        for loop, gain in rider.gains.items():
            assert found.gains[loop] == pytest.approx(gain, rel=2e-3), (loop, delay, speed)


def test_intervals_cover_the_truth(ride):
    """Of 60 logs with other noise, intervals of 95 % hold gains and delay in 95 % of the cases; 60 are 95 % ± 2.8 % each, and
    deviations are those of the estimates themselves."""
    rider, run = ride
    truth = {**rider.gains, "delay": 0.05}
    found = [dr.estimation.identify_rider(table(run, 0.3, seed), delay=(0.02, 0.09)) for seed in range(60)]
    for name, value in truth.items():
        inside = sum(low <= value <= high for low, high in (one.interval(name) for one in found))
        values = np.array([one.delay if name == "delay" else one.gains[name] for one in found])
        assert inside >= 52, (name, inside)  # fewer have a probability of 0.8 %
        assert values.std() == pytest.approx(np.mean([one.deviations[name] for one in found]), rel=0.3), name


def test_a_log_in_a_file(ride, tmp_path):
    """CSV with units in its header, a comment, missing cells and columns that do not matter; and a run that was saved."""
    rider, run = ride
    path, log = tmp_path / "ride.csv", table(run)
    rows = ["# test ride 3", "timestamp [ms],delta [deg],p [deg/s],phi [deg],bar [N*m],battery [V]"]
    for k, t in enumerate(log["time"]):
        bar = "" if k % 50 == 7 else repr(float(log["steer_torque"][k]))
        angles = [f"{float(np.degrees(log[name][k])):.12g}" for name in ("steer", "roll_rate", "lean")]
        rows.append(f"{1e3 * t:.6f},{','.join(angles)},{bar},12.4")
    path.write_text("\n".join(rows) + "\n")
    found = dr.estimation.identify_rider(path, torque="bar", names={"steer": "delta", "roll_rate": "p", "roll": "phi"})
    assert len(found.torque) == pytest.approx(1901 * 0.98, abs=3)
    for loop, gain in rider.gains.items():
        assert found.gains[loop] == pytest.approx(gain, rel=1e-3), loop
    run.save(tmp_path / "ride.nc")
    saved = dr.estimation.identify_rider(tmp_path / "ride.nc", torque="-rider_torque")
    assert saved.gains == dr.estimation.identify_rider(run, torque="-rider_torque").gains
    assert "k_steer" in str(saved) and "delay 0.05 ±" in str(saved)


def test_what_cannot_be_identified_is_named(ride):
    _, run = ride
    with pytest.raises(dr.errors.ArgumentError, match="must be the first of steer, roll_rate"):
        dr.estimation.identify_rider(run, loops=["roll"])
    with pytest.raises(dr.errors.DataError, match="no column 'torqe'"):
        dr.estimation.identify_rider(run, torque="torqe")
    with pytest.raises(dr.errors.ArgumentError, match="or a constant torque"):
        dr.estimation.identify_rider({**table(run), "steer_torque": np.zeros(len(run.time))})
    with pytest.raises(dr.errors.DataError, match="column 'lean' has no values"):
        dr.estimation.identify_rider({**table(run), "lean": np.full(len(run.time), np.nan)})
    found = dr.estimation.identify_rider(run, torque="-rider_torque", delay=0.05)
    with pytest.raises(dr.errors.ArgumentError, match="no interval of 'delay'; known are steer, roll_rate, roll"):
        found.interval("delay")
