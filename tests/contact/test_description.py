"""Descriptions of contacts that open: arguments, checks, model files, fixed modes."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import draisine as dr
from draisine.errors import ArgumentError, ModelError
from draisine.model.contact.dry_friction import IMPACTS, DryFriction, dry_friction
from draisine.model.contact_modes import in_modes
from draisine.model.files import from_toml, to_toml

G = 9.81
TIGHT = dr.methods.DOP853(rtol=1e-12, atol=1e-13)


def described(**contact: Any) -> dr.Model:
    """A box over the ground with a wheel, and a contact of its tip."""
    m = dr.Model("box")
    m.gravity(G)
    m.parameter("mu", 0.3)
    m.parameter("r", 0.1, "m")
    box, wheel = m.body("box", mass=1.0, inertia=(1, 1, 1)), m.body("wheel", mass=1.0, inertia=(1, 1, 1))
    m.free(box)
    m.revolute("spin", box, wheel, axis="y")
    m.point("tip", box, (0, 0, 1))
    m.point("post", "ground", (2, 0, 0))
    m.contact("touch", **{"point": "tip", **contact})
    return m


def law_of(m: dr.Model) -> DryFriction:
    law = m.freeze().point_contacts[0].friction
    assert law is not None
    return law


def test_coefficients_of_friction() -> None:
    """One number, a pair, texts, expressions, infinity."""
    law = law_of(described(friction=0.4))
    assert str(law.static) == str(law.kinetic) == "0.4" and law.restitution.value == 0.0 and law.impact == "energetic"
    assert law_of(described()).static == law_of(described(friction=0)).static
    law = law_of(described(friction=("2*mu", "mu"), restitution="mu", impact="newton"))
    assert (str(law.static), str(law.kinetic), str(law.restitution), law.impact) == ("2*mu", "mu", "mu", "newton")
    assert law_of(described(friction=np.array([0.5, 0.4]))).amounts().keys() == {
        "static friction",
        "kinetic friction",
        "restitution",
        "tangential restitution",
    }
    assert (law_of(described(friction=math.inf)).static, law_of(described(friction=math.inf)).kinetic) == (None, None)
    mixed = law_of(described(friction=(math.inf, 0.3)))
    assert mixed.static is None and str(mixed.kinetic) == "0.3"
    assert described(friction=None).freeze().unilateral == ()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"friction": -0.1}, r"contact 'touch': its static friction is -0.1; it must not be negative"),
    ({"friction": (0.3, 0.5)}, r"contact 'touch': its kinetic friction, 0.5, exceeds the static one, 0.3"),
    ({"friction": (0.3, math.inf)}, r"kinetic friction, inf, exceeds the static one"),
    ({"friction": (0.3, 0.2, 0.1)}, r"friction is a coefficient, or a pair \(static, kinetic\)"),
    ({"friction": {"static": 0.3, "kinetic": 0.2}}, r"friction is a coefficient, or a pair"),
    ({"friction": math.nan}, r"friction of contact 'touch'"),
    ({"friction": "5 cm"}, r"friction of contact 'touch'"),
    ({"friction": "nu"}, r"static friction of contact 'touch': unknown name 'nu'; known are mu, r"),
    ({"friction": ("mu", "2*mu")}, r"kinetic friction of contact 'touch' is 0.6 .*; it must be at most static friction"),
    ({"friction": "mu - 1"}, r"static friction of contact 'touch' is -0.7 .*it must be zero or positive"),
    ({"friction": "r"}, r"static friction of contact 'touch'.*m"),
    ({"restitution": 1.5}, r"contact 'touch': its restitution is 1.5; it lies between 0 and 1"),
    ({"restitution": "4*mu"}, r"restitution of contact 'touch' is 1.2 .*; it must be at most 1: an impact does not gain energy"),
    ({"impact": "hard"}, r"impact must be one of 'energetic', 'poisson', 'newton', got 'hard'"),
    ({"friction": None, "restitution": 0.5}, r"restitution belongs to a contact that can open; give friction="),
    ({"friction": None, "impact": "newton"}, r"an impact law belongs to a contact that can open"),
    ({"radius": -0.1}, r"radius of contact 'touch' is -0.1 m; it must be positive, or 0 for a point"),
    ({"on_radius": 0}, r"contact 'touch': on_radius is 0; leave it out for a plane"),
    ({"point": "top"}, r"contact 'touch': 'top' is neither a point nor a body of model 'box'; did you mean 'tip'"),
    ({"on": "posts"}, r"contact 'touch': 'posts' is neither a point nor a body of model 'box'; did you mean 'post'"),
    ({"on": "box"}, r"contact 'touch': 'tip' and 'box' both belong to body 'box' and cannot move relative to each other"),
    ({"point": "post"}, r"contact 'touch': 'post' and 'ground' both belong to the ground"),
]


@pytest.mark.parametrize(("given", "message"), WRONG, ids=[str(given) for given, _ in WRONG])
def test_errors_name_the_contact_and_the_remedy(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        described(**given).freeze()


def test_names_of_modes_are_taken() -> None:
    m = described(friction=0.3)
    m.parameter("touch_closed", 1.0)
    with pytest.raises(ModelError, match=r"'touch_closed' names both a parameter and the mode of contact 'touch'"):
        m.freeze()
    m = described(friction=0.3)
    m.wheel("touch", "wheel", 0.3)
    with pytest.raises(ModelError, match=r"'touch' names both a wheel and a contact"):
        m.freeze()
    with pytest.raises(ModelError, match=r"already has a contact 'touch'"):
        described(friction=0.3).contact("touch", "box")


def test_parameters_beyond_the_law_are_refused_in_runs() -> None:
    m = described(friction=("mu", 0.3))
    with pytest.raises(ModelError, match=r"kinetic friction of contact 'touch' is 0.3; it must be at most static friction"):
        dr.simulate(m, 0.1, parameters={"mu": 0.1})


def test_events_and_outputs_name_contacts() -> None:
    m = described(friction=0.3)
    m.output("room", "gap(touch)", "m")
    m.event("presses", "touch_normal_force - 1", "record")
    run = dr.simulate(m, 0.1, start={"box_z": 0.5})
    np.testing.assert_array_equal(run["room"], run["touch_gap"])
    assert run["touch_gap"][0] == pytest.approx(1.5)


# ------------------------------------------------------------------------------------------------------------ files


def random_amount(rng: np.random.Generator, largest: float) -> Any:
    return [float(rng.uniform(0, largest)), f"{rng.uniform(0, largest):.3g}*mu", "mu"][rng.integers(3)]


def random_friction(rng: np.random.Generator) -> dict[str, Any]:
    kind, mu = rng.integers(5), float(rng.uniform(0, 1))
    friction = [mu, (mu, mu * float(rng.uniform(0, 1))), math.inf, (math.inf, mu), (1.0, random_amount(rng, 1.0))][kind]
    return {"friction": friction, "restitution": random_amount(rng, 1.0), "impact": str(rng.choice(IMPACTS))}


def random_model(rng: np.random.Generator) -> dr.Model:
    m = described(friction=random_amount(rng, 2.0))
    for k in range(rng.integers(1, 4)):
        where: dict[str, Any] = [{}, {"on": "post"}, {"on": "post", "on_radius": float(rng.uniform(-2, -1))}][rng.integers(3)]
        radius = [0.0, "r", float(rng.uniform(0, 1))][rng.integers(3)]
        law = random_friction(rng) if rng.integers(4) else {"friction": None}
        m.contact(f"contact_{k}", ["tip", "box"][rng.integers(2)], radius=radius, **where, **law)
    if rng.integers(2):
        law = dr.contact.Creep(1e3, float(rng.uniform(1, 9))) if rng.integers(2) else dr.contact.Rolling()
        m.wheel("rim", "wheel", 0.3, 0.01, contact=law, **(random_friction(rng) if rng.integers(3) else {}))
    return m


def test_model_files_are_exact(tmp_path: Path) -> None:
    rng = np.random.default_rng(20)
    for _ in range(60):
        m = random_model(rng)
        assert from_toml(to_toml(m)).freeze() == m.freeze()
    dr.write_model(m, tmp_path / "box.toml")
    assert dr.read_model(tmp_path / "box.toml").freeze() == m.freeze()


def test_errors_in_files_have_lines() -> None:
    text = to_toml(described(friction=0.3))
    for old, new, message in (
        ("friction = 0.3", "friction = [0.1, 0.2]", r"line \d+: contact 'touch': its kinetic friction"),
        ("friction = 0.3", "fricton = 0.3", r"line \d+: contact 'touch': unknown key 'fricton'; did you mean 'friction'"),
        ("friction = 0.3", "friction = [0.1, [2]]", r"line \d+: contact 'touch': 'friction' must be an amount"),
        ("friction = 0.3", "friction = 0.3\npermanent = true", r"line \d+: contact 'touch': a permanent contact does not slip"),
        ('point = "tip"', "", r"line \d+: contact 'touch': 'point' is missing"),
    ):
        with pytest.raises(ModelError, match=message):
            from_toml(text.replace(old, new, 1))


# ------------------------------------------------------------------------------------------------------ fixed modes


def rod(friction: Any = 0.5) -> dr.Model:
    """A slender rod of 1 m on its foot."""
    m = dr.Model("rod")
    m.gravity(G)
    first, second = m.body("first", mass=0.0), m.body("second", mass=0.0)
    body = m.body("rod", mass=1.0, center_of_mass=(0, 0, 0.5), inertia=(1 / 12, 1 / 12, 1e-9))
    m.prismatic("x", "ground", first, axis="x")
    m.prismatic("z", first, second, axis="z")
    m.revolute("theta", second, body, axis="y")
    m.contact("foot", body, friction=friction)
    return m


def test_fixed_modes_are_analyzed() -> None:
    """A rod that stands on its foot is a pendulum with ω² = −3 g/2 l; in the air it falls freely."""
    stands = rod().in_modes({"foot": "stick"})
    assert not stands.unilateral
    poles = dr.linearize(stands).eigenvalues
    assert max(poles.real) == pytest.approx(math.sqrt(1.5 * G), rel=1e-12)
    held = dr.simulate(stands, 0.3, start={"theta": 0.2})
    free = dr.simulate(rod(math.inf), 0.3, start={"theta": 0.2, "z": 0.0})
    assert free.modes[-1].modes == {"foot": "stick"}
    for name in ("theta", "foot_normal_force", "foot_friction_needed"):
        np.testing.assert_allclose(held[name], free[name], atol=1e-8)
    flies = dr.simulate(rod().in_modes({"foot": "open"}), 0.3)
    assert flies["z_rate"][-1] == pytest.approx(-0.3 * G, rel=1e-12)


@pytest.mark.parametrize("kind", ["ground", "frame", "bowl", "ball"])
def test_fixed_modes_have_certificates(kind: str) -> None:
    """The derivation from energies has permanent contacts from positions alone."""
    m = dr.Model("certified")
    m.gravity((1.0, 0.5, -G))
    body = m.body("body", mass=1.0, inertia=(0.1, 0.12, 0.13), center_of_mass=(0.01, 0.02, 0.03))
    m.free(body)
    table = m.body("table", mass=2.0, inertia=(0.2, 0.3, 0.25))
    m.free(table)
    m.frame("top", table, (0.1, 0, 0.3), [("x", "20 deg")])
    m.point("center", "ground", (0, 0, 1.0))
    where = {"ground": {}, "frame": {"on": "top"}, "bowl": {"on": "center", "on_radius": -1.0}}
    m.contact("touch", body, radius=0.2, friction=0.3, **{**where, "ball": {"on": "top", "on_radius": 0.3}}[kind])
    certificate = dr.certify(m.in_modes({"touch": "stick"}))
    assert certificate.passed, str(certificate)
    assert "energies" in certificate.derivations


def test_modes_that_cannot_be_fixed() -> None:
    for modes, message in (
        ({"foot": "slip"}, r"contact 'foot' cannot be fixed while it slips"),
        ({"feet": "stick"}, r"no contact 'feet' opens and slips \(there are foot\)"),
        ({"foot": "closed"}, r"the mode of contact 'foot' is 'stick' or 'open', got 'closed'"),
        ("stick", r"give modes by contact, such as \{'front': 'stick'\}"),
    ):
        with pytest.raises(ArgumentError, match=message):
            rod().in_modes(modes)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"contact 'foot' has no friction and cannot stick"):
        rod(0.0).in_modes({"foot": "stick"})


def test_a_bicycle_that_rolls_is_the_ideal_one() -> None:
    """Friction changes nothing while it suffices; with fixed modes the description itself is the ideal one."""
    ideal = dr.gallery.bicycle().freeze()
    law = dry_friction(0.8, 0.0, "energetic", "wheels")
    bicycle = replace(ideal, wheels=tuple(wheel._replace(friction=law) for wheel in ideal.wheels))
    assert in_modes(bicycle, {wheel.name: "stick" for wheel in ideal.wheels}) == ideal
    start = {"speed": 4.6, "roll_rate": 0.5}
    one, other = (dr.simulate(system, 1.0, start=start, method=TIGHT) for system in (bicycle, ideal))
    assert [change.modes for change in one.modes] == [{wheel.name: "stick" for wheel in ideal.wheels}]
    for name in ("lean", "steer", "speed", "rear_wheel_normal_force", "front_wheel_friction_needed"):
        np.testing.assert_allclose(one[name], other[name], rtol=0, atol=1e-8)
    assert not one.warnings


@pytest.mark.parametrize("above", [3.3e-3, 1e-6, 0.0])
def test_contact_that_passes_just_above_the_ground_is_no_degenerate_constraint(above: float) -> None:
    """The lowest place of a pendulum's end is as good as on the ground, where its gap has no rate: it never closes."""
    m = dr.Model("pendulum")
    m.gravity(9.81)
    rod = m.body("rod", mass=1.0, center_of_mass=(0, 0, -0.3), inertia=(0.03, 0.03, 1e-3))
    m.revolute("turn", "ground", rod, axis="y", at=(0.0, 0.0, 0.6 + above))
    start = {"turn": 0.5, "turn_rate": 0.0}
    free = dr.simulate(m, 2.0, start=start)
    m.contact("end", m.point("tip", rod, (0, 0, -0.6)), friction=0.3)
    run = dr.simulate(m, 2.0, start=start)
    assert run.status.kind == "FINISHED", run.status
    np.testing.assert_allclose(run.at(2.0)["turn"], free.at(2.0)["turn"], atol=1e-7)
