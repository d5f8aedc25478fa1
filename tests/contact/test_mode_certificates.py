"""Certificates of equations in given modes: the system of all modes beside energies with Coulomb's law, and planted errors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_mode_equations import bicycle, pendulums

import draisine as dr
from draisine.dynamics.verify import mode_certificate
from draisine.errors import ArgumentError
from draisine.program.equations import Equations

SKIDS = {"rear_wheel": "slip", "front_wheel": "stick", "saddle": "open"}


def test_random_modes_are_certified() -> None:
    """A bicycle with a saddle, and pendulums with a stop and dry friction: every combination that the freedoms allow."""
    rng = np.random.default_rng(5)
    wheels = [{**SKIDS, name: str(rng.choice(["slip", "stick"]))} for name in ("rear_wheel", "front_wheel")]
    cases: list[tuple[dr.Model, dict[str, str]]] = [(bicycle(), modes) for modes in (*wheels, dict.fromkeys(SKIDS, "slip"))]
    free = {"tip": "open", "shoulder_low": "open", "shoulder_high": "open", "elbow_friction": "slip"}
    cases += [(pendulums(), free | {"tip": mode}) for mode in ("slip", "open")]
    cases += [(pendulums(), free | {"shoulder_low": "stick"}), (dr.gallery.block_on_slope(), {"front": "slip", "rear": "slip"})]
    for model, modes in cases:
        certificate = dr.certify(model, modes=modes, count=4)
        assert certificate.passed and certificate.states == 4, certificate
        assert max(line.worst for line in certificate.lines) < 1e-11
        what = {line.what for line in certificate.lines}
        assert ("power of friction" in what) == ("slip" in modes.values())


def test_friction_that_depends_on_the_slip_and_moving_ground() -> None:
    """Stribeck's curve; and a belt, whose velocity is part of the slip."""
    m = dr.Model("block")
    m.gravity(9.81)
    carriage, body = m.body("carriage", mass=0.0), m.body("body", mass=2.0)
    m.prismatic("x", "ground", carriage, axis="x")
    m.prismatic("z", carriage, body, axis="z")
    m.contact("floor", body, friction="0.2 + 0.3*exp(-slip/0.5)")
    assert dr.certify(m, modes={"floor": "slip"}).passed
    certificate = dr.certify(dr.gallery.belt_oscillator(), modes={"belt": "slip"})
    assert certificate.passed and not any("coefficient" in text for text in certificate.undecided)


def heavier(e: Equations) -> Equations:
    m = bicycle()
    system = m.freeze()
    bodies = tuple(b._replace(mass=b.mass * 1.001) if b.name == "frame" else b for b in system.bodies)
    return dr.derive(replace(system, bodies=bodies))


def rougher(e: Equations) -> Equations:
    system = bicycle().freeze()
    wheels = tuple(w._replace(friction=w.friction._replace(kinetic=w.friction.kinetic * 0.999)) for w in system.wheels)
    return dr.derive(replace(system, wheels=wheels))


@pytest.mark.parametrize("planted", [heavier, rougher])
def test_planted_errors_are_found(planted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mode_certificate, "derive", planted)
    certificate = dr.certify(bicycle(), modes=SKIDS, count=2)
    assert not certificate.passed and certificate.verdict.startswith("these fail: accelerations")


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match=r"certify: model 'bicycle' has contacts .*certify\(model, modes="):
        dr.certify(bicycle())
    with pytest.raises(ArgumentError, match="those of saddle are missing"):
        dr.certify(bicycle(), modes={"rear_wheel": "slip", "front_wheel": "stick"})
    with pytest.raises(ArgumentError, match="'stick', 'slip' or 'open', got 'roll'"):
        dr.certify(bicycle(), modes={"rear_wheel": "roll"})
    with pytest.raises(ArgumentError, match="no contact 'rear' opens"):
        dr.certify(bicycle(), modes={"rear": "slip"})
    with pytest.raises(ArgumentError, match="stop 'shoulder_low' has no friction"):
        dr.certify(pendulums(), modes={"shoulder_low": "slip"})
    with pytest.raises(ArgumentError, match="modes= is for one model with contacts"):
        dr.certify(dr.gallery.bicycle(), modes={"rear_wheel": "stick"})
