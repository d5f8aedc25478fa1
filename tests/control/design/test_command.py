"""`draisine lqr` prints what the design gives, and its law rides."""

from __future__ import annotations

import json

import pytest

import draisine as dr
from draisine.cli.main import main

CALL = ["lqr", "bicycle", "--at", "speed=2", "--weight", "lean=10", "--weight", "steer=1", "--input-weight", "steer_torque=0.1"]


def test_gains_and_eigenvalues_are_printed(capsys, hold):
    assert main(CALL) == 0
    said = capsys.readouterr().out
    assert "feedback to steer_torque" in said and "closed loop" in said
    assert f"--input 'steer_torque={hold['steer_torque']}'" in said


def test_the_same_as_one_json_object(capsys, hold):
    assert main([*CALL, "--limit", "steer_torque=5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["gains"]["steer_torque"]["lean"] == pytest.approx(hold.K[0, 0], rel=1e-12)
    assert found["limits"] == {"steer_torque": [-5.0, 5.0]}
    assert max(z["re"] for z in found["eigenvalues"]) < 0


def test_the_law_printed_is_one_that_simulate_takes(capsys):
    assert main([*CALL, "--json"]) == 0
    law = json.loads(capsys.readouterr().out)["laws"]["steer_torque"]
    ride = ["simulate", "bicycle", "--speed", "2", "--lean", "0.05", "--until", "4", "--input", f"steer_torque={law}", "--json"]
    assert main(ride) == 0
    final = json.loads(capsys.readouterr().out)["final"]
    assert abs(final["lean"]) < 1e-4


def test_what_cannot_be_held_is_said(capsys):
    assert main(["lqr", "bicycle", "--speed", "2", "--weight", "lean=10", "--input-weight", "pedal_torque=1"]) == 1
    assert "not stabilizable" in capsys.readouterr().err


def test_laws_for_samples(capsys):
    assert main([*CALL, "--period", "20 ms", "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    law = dr.lqr(
        dr.gallery.bicycle(),
        {"speed": 2.0},
        weights={"lean": 10.0, "steer": 1.0},
        input_weights={"steer_torque": 0.1},
        period=0.02,
    )
    assert reported["gains"]["steer_torque"] == pytest.approx(law.as_data()["gains"]["steer_torque"], rel=1e-9)
    assert main([*CALL, "--period", "20 ms"]) == 0
    said = capsys.readouterr().out
    assert "sampled every 0.02 s with zero-order hold" in said and "--input" not in said
