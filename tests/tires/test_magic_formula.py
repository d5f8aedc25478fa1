"""Forces by the Magic Formula: published numbers, a second implementation, derivatives, relaxation, sides and ranges."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from tests.tires.published_magic_formula import mf52, mf61

import draisine as dr
from draisine.model.contact.magic_formula import COEFFICIENTS, MagicFormula
from draisine.model.contact.tires import TireState

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "tires.json").read_text())["magic_formula"]
CAR: dict[str, float] = REFERENCE["parameters"]["A31_pacejka2006_205_60R15"]
PARTS = ("longitudinal", "lateral", "overturning", "rolling", "aligning")


def drawn(version: str, seed: int) -> dict[str, float]:
    """Coefficients of a tire of our own making: those of the table, changed at random, and small ones in all other places."""
    rng = np.random.default_rng(seed)
    found = {name: value * rng.uniform(0.8, 1.2) for name, value in CAR.items() if name in COEFFICIENTS[version]}
    for name in sorted(COEFFICIENTS[version] - found.keys()):
        if name.startswith("L") and name not in ("LONGVL", "LATERAL_STIFFNESS", "LONGITUDINAL_STIFFNESS"):
            found[name] = rng.uniform(0.85, 1.15)
        elif name[:3] in (
            "PDX",
            "PEX",
            "PHX",
            "PVX",
            "PHY",
            "PVY",
            "PEY",
            "QBZ",
            "QDZ",
            "QEZ",
            "QSX",
            "QSY",
            "PPX",
            "PPY",
            "PPZ",
        ) or name in ("PPMX1", "RBX3", "RBY4", "REX1", "REX2", "REY1", "REY2", "RHY1", "RHY2", "PKY5"):
            found[name] = rng.uniform(-0.05, 0.05)
    found |= {"INFLPRES": found["NOMPRES"] * 1.1} if version == "6.1" else {}
    if version == "motorcycle":
        found |= {"PCY1": 1.1, "PCY2": 0.8, "PDY1": 1.2, "PDY2": -0.02, "PDY3": 0.05, "PEY1": -0.9, "PEY2": -1.0, "PEY4": -0.5}
        found |= {"PEY5": 0.3, "PKY1": -16.0, "PKY2": 1.6, "PKY3": 1.1, "PKY4": 0.4, "PKY5": 0.1, "PKY6": -0.9, "PKY7": 0.1}
    return found


@pytest.mark.parametrize("variant", ["program", "book"])
def test_forces_are_those_of_the_table(variant: str) -> None:
    tire = MagicFormula("6.1", CAR, variant)
    for row in REFERENCE["numbers"]["A31"]:
        found = tire.forces(row["Fz"], row["kappa"], row["alpha"], row["gamma"])
        listed = row["mftyre" if variant == "program" else "book"]
        np.testing.assert_allclose(
            [found.longitudinal, found.lateral, found.aligning], [listed[n] for n in ("Fx", "Fy", "Mz")], rtol=1e-12
        )


def test_forces_are_those_of_public_rows() -> None:
    """Longitudinal force of the book to all printed digits; side force and moment within the spread of implementations."""
    tire = MagicFormula("6.1", CAR, "book")
    for row in REFERENCE["public_rows"]:
        found = tire.forces(row["fz_n"], row["kappa"], row["alpha_rad"], row["gamma_rad"])
        assert abs(found.longitudinal - row["fx_n"]) < 5e-10 * max(abs(row["fx_n"]), 1.0)
        assert abs(found.lateral - row["fy_n"]) < 0.005 * row["fz_n"]
        if row["gamma_rad"] == 0.0:
            assert abs(found.aligning - row["mz_nm"]) < 0.02 * 120.0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("variant", ["program", "book"])
@pytest.mark.parametrize("version", ["5.2", "6.1", "motorcycle"])
def test_forces_are_those_of_a_second_implementation(version: str, variant: str, seed: int) -> None:
    given = drawn(version, seed)
    tire = MagicFormula(version, given, variant)
    rng = np.random.default_rng(100 + seed)
    other = mf61 if version == "6.1" else mf52
    more: dict[str, Any] = {"motorcycle": True} if version == "motorcycle" else {}
    for k in range(40):
        load, speed = rng.uniform(800.0, 7000.0), rng.choice([-1.0, 1.0]) * rng.uniform(1.0, 50.0)
        kappa, alpha = rng.uniform(-0.3, 0.3), rng.choice([-1.0, 1.0]) * rng.uniform(0.02, 0.3)
        gamma = 0.0 if k % 5 == 0 else rng.choice([-1.0, 1.0]) * rng.uniform(0.02, 0.9 if version == "motorcycle" else 0.1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # outside of the ranges that were drawn
            found = np.array(tire.forces(load, kappa, alpha, gamma, speed))
        expected = other(given, load, kappa, alpha, gamma, speed, variant, **more)
        scale = np.array([load, load, load * 0.3, load * 0.3, load * 0.1])
        np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=1e-12, err_msg=f"{PARTS}")


@pytest.mark.parametrize(("variant", "by_hand"), [("program", -0.3 * 4000 * 0.01), ("book", -0.3 * 2000 * 0.01)])
def test_rolling_resistance_over_the_load(variant: str, by_hand: float) -> None:
    """At half the nominal load, QSY7 = 0.85: the exponent is that of the load itself in programs, and added to 1 in the book."""
    given = {"FNOMIN": 4000, "UNLOADED_RADIUS": 0.3, "PCY1": 1.2, "PDY1": -1, "PKY1": -15, "PKY2": 2, "QSY1": 0.01}
    tire = MagicFormula("6.1", {**given, "QSY7": 0.85}, variant)
    assert tire.forces(2000.0).rolling == pytest.approx(by_hand * 0.5**0.85, rel=1e-12)
    assert tire.forces(4000.0).rolling == pytest.approx(-12.0, rel=1e-12)
    flat = MagicFormula("6.1", {**given, "QSY7": 0.0}, variant)
    assert abs(flat.forces(0.0).rolling) < 12.0 * 1e-6  # none in the air
    as_load = MagicFormula("6.1", {**given, "QSY7": 1.0 if variant == "program" else 0.0}, variant)
    assert as_load.forces(1234.0).rolling == pytest.approx(MagicFormula("6.1", given, variant).forces(1234.0).rolling, rel=1e-11)


@pytest.mark.parametrize("version", ["5.2", "6.1", "motorcycle"])
def test_derivatives_are_exact_also_at_zero_slip(version: str) -> None:
    """CasADi's derivatives against complex steps of the same equations in NumPy."""
    tire = MagicFormula(version, drawn(version, 7))
    c = tire.numbers()
    names = ("load", "along", "across", "camber", "speed", "direction")
    symbols = [ca.SX.sym(name) for name in names]
    forces = ca.vertcat(*tire.evaluate(ca, c, TireState(*symbols)))
    jacobian = ca.Function("jacobian", symbols, [ca.jacobian(forces, ca.vertcat(*symbols))])
    rng = np.random.default_rng(5)
    points = [[3000.0, 0.0, 0.0, 0.0, 20.0, 1.0]] + [
        [rng.uniform(500, 6000), rng.uniform(-0.3, 0.3), rng.uniform(-0.3, 0.3), rng.uniform(-0.2, 0.2), 20.0, 1.0]
        for _ in range(8)
    ]
    for point in points:
        exact = jacobian(*point).full()
        assert np.isfinite(exact).all()
        for k in range(len(names)):
            moved = [complex(x) for x in point]
            moved[k] += 1e-30j
            step = np.array([complex(part).imag for part in tire.evaluate(np, c, TireState(*moved))]) / 1e-30
            np.testing.assert_allclose(exact[:, k], step, rtol=1e-9, atol=1e-9 * np.abs(exact[:, k]).max() + 1e-12)


def test_forces_and_slopes_are_continuous_through_zero() -> None:
    """Across zero slip and camber, with every coefficient: second differences over 2 h shrink with h."""
    tire = MagicFormula("6.1", drawn("6.1", 3))
    for name in ("slip", "slip_angle", "camber"):
        for h in (1e-3, 1e-4, 1e-5):
            sides = {k: np.array(tire.forces(4000.0, **{name: k * h})) for k in (-1, 0, 1)}
            jump = np.abs(sides[1] - 2 * sides[0] + sides[-1]) / h  # of the slope
            assert (jump < 1e7 * h + 1e-4).all(), (name, h, jump)


def test_a_mirrored_tire_turns_left_as_the_other_turns_right() -> None:
    tire = MagicFormula("6.1", CAR)
    other = tire.on_other_side()
    for part, sign in zip(PARTS, (1, -1, -1, 1, -1), strict=True):
        here = getattr(tire.forces(3000.0, 0.05, 0.04, 0.03), part)
        there = getattr(other.forces(3000.0, 0.05, -0.04, -0.03), part)
        assert there == sign * here
    assert tire.forces(3000.0, slip_angle=0.0).lateral != 0.0  # ply steer and conicity


def test_values_outside_of_the_ranges_cause_a_warning() -> None:
    tire = MagicFormula("6.1", {**CAR, "FZMIN": 500.0, "FZMAX": "8 kN", "ALPMIN": "-15 deg", "ALPMAX": "15 deg"})
    with pytest.warns(UserWarning, match=r"load 9000 is outside of the range of the tire file, 500 to 8000"):
        tire.forces(9000.0)
    with pytest.warns(UserWarning, match="slip_angle"):
        tire.forces(4000.0, slip_angle=np.linspace(0, 0.4, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tire.forces(4000.0, slip_angle=0.2)


def test_what_cannot_be_is_refused_by_name() -> None:
    with pytest.raises(dr.errors.ModelError, match="unknown coefficient 'PCY9'"):
        MagicFormula("6.1", {"FNOMIN": 4000.0, "PCY9": 1.0})
    with pytest.raises(dr.errors.ModelError, match="FNOMIN, the nominal load, is missing"):
        MagicFormula("6.1", {"PCY1": 1.0})
    with pytest.raises(dr.errors.ModelError, match="version of MagicFormula must be one of"):
        MagicFormula("7.0", {"FNOMIN": 4000.0})
    with pytest.raises(dr.errors.ModelError, match="needs relaxation lengths"):
        MagicFormula("6.1", CAR, transient=True)
    with pytest.raises(dr.errors.ArgumentError, match="LMUY of MagicFormula depends on grip"):
        MagicFormula("6.1", {**CAR, "LMUY": "grip"}).forces(4000.0)


@pytest.mark.parametrize(
    ("version", "changed", "says"),
    [
        ("6.1", {"PKY1": 15.0}, "PKY1 = 15 has the other sign in tire files"),
        ("5.2", {"PKX1": -20.0}, "PKX1 = -20 has the other sign in tire files"),
        ("6.1", {"PKY2": None}, "PKY1 needs PKY2, which is not 0"),
        ("5.2", {"PKY2": 0.0}, "PKY1 needs PKY2, which is not 0"),
        ("motorcycle", {"PKY3": None}, "PKY1 needs PKY3, which is not 0"),
        ("5.2", {"PTX1": 0.0, "PTY1": 2.0, "PTY2": 1.5}, "with PTX1 = 0 a relaxation length is not positive"),
        ("5.2", {"PTX1": 2.0, "PTY1": -1.0, "PTY2": 1.5}, "with PTY1 = -1 a relaxation length is not positive"),
        ("6.1", {"VERTICAL_STIFFNESS": 2e5, "QFZ2": 400.0}, "the stiffness at the nominal load is at least"),
    ],
)
def test_coefficients_without_a_force_are_refused(version: str, changed: dict[str, float | None], says: str) -> None:
    """Forces that have no value, or that push a tire along its slip."""
    usual = {
        "FNOMIN": 4000.0, "UNLOADED_RADIUS": 0.3, "PCX1": 1.6, "PDX1": 1.1, "PKX1": 20.0, "PCY1": 1.3, "PDY1": -1.0,
        "PKY1": -15.0, "PKY2": 2.0, "PKY3": 1.0 if version == "motorcycle" else 0.0,
    }  # fmt: skip
    MagicFormula(version, usual)
    with pytest.raises(dr.errors.ModelError, match=says):
        MagicFormula(version, {name: value for name, value in {**usual, **changed}.items() if value is not None})


@pytest.mark.parametrize("version", ["5.2", "6.1", "motorcycle"])
def test_a_tire_without_side_forces_has_none(version: str) -> None:
    given = {"FNOMIN": 4000.0, "UNLOADED_RADIUS": 0.3, "PCX1": 1.6, "PDX1": 1.1, "PKX1": 20.0}
    forces = MagicFormula(version, given).forces(4000.0, slip=0.05, slip_angle=0.1, camber=0.2)
    assert forces.longitudinal == pytest.approx(4400 * np.sin(1.6 * np.arctan(20 * 0.05 / (1.6 * 1.1))), rel=1e-8)
    assert forces.lateral == forces.aligning == 0.0


def test_a_file_with_relaxation_lengths_of_zero_has_none() -> None:
    zeros = dict.fromkeys(("PTX1", "PTX2", "PTX3", "PTY1", "PTY2"), 0.0)
    given = {**CAR, "UNLOADED_RADIUS": 0.3}
    assert not MagicFormula("5.2", {k: v for k, v in given.items() if k in COEFFICIENTS["5.2"]} | zeros).relaxes


def test_relaxation_lengths() -> None:
    """σ = K/c, and of version 5.2 those of PTX and PTY."""
    given = {**CAR, "LONGITUDINAL_STIFFNESS": 4e5, "LATERAL_STIFFNESS": 1.5e5}
    tire = MagicFormula("6.1", given)
    along, across = tire.relaxation_lengths(np, tire.numbers(), 4000.0, 0.0)
    h = 1e-6
    slope = (tire.forces(4000.0, slip_angle=h).lateral - tire.forces(4000.0, slip_angle=-h).lateral) / (2 * h)
    assert along == pytest.approx(4000.0 * CAR["PKX1"] / 4e5, rel=1e-8)
    assert across == pytest.approx(-slope / 1.5e5, rel=0.02)  # the table is not symmetric
    old = MagicFormula(
        "5.2", {"FNOMIN": 4000.0, "UNLOADED_RADIUS": 0.3, "PTX1": 1.5, "PTX2": 0.2, "PTX3": 0.1, "PTY1": 2.0, "PTY2": 1.8}
    )
    dfz, load = 0.25, 5000.0
    along, across = old.relaxation_lengths(np, old.numbers(), load, 0.0)
    assert along == pytest.approx(load * (1.5 + 0.2 * dfz) * np.exp(-0.1 * dfz) * 0.3 / 4000.0, rel=1e-8)
    assert old.relaxation_lengths(np, old.numbers(), None, 0.0)[0] == pytest.approx(1.5 * 0.3, rel=1e-14)  # at the nominal load
    assert across == pytest.approx(2.0 * np.sin(2 * np.arctan(load / (1.8 * 4000.0))) * 0.3, rel=1e-8)


def test_the_motorcycle_form_has_no_pole_without_load() -> None:
    """C D + ε is not zero at any small load, since ε has the sign of D: the force stays opposed to the slip angle."""
    given = {"FNOMIN": 1250.0, "PCY1": 1.2, "PDY1": -1.3, "PCY2": 0.8, "PKY1": -13.0, "PKY2": 2.0, "PKY3": 1.5, "PKY6": -0.95}
    forces = MagicFormula("motorcycle", given).forces(load=np.linspace(-1e-5, 1e-5, 2001), slip_angle=0.1)
    assert (forces.lateral < 0.0).all()
