"""Constraints: what each one holds, what is refused in words, and files that read back the same."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from draisine.errors import ModelError
from draisine.expr.expression import FLOAT_FUNCTIONS, Expr, evaluate, parse
from draisine.model.files import from_toml, to_toml
from draisine.model.items import ResidualConstraint
from draisine.model.model import Model
from draisine.model.validate import check_numbers, check_system


def shop() -> Model:
    """A crank, a slider on it, a free plate, and frames on all of them."""
    m = Model("shop")
    m.parameter("reach", 0.7, "m")
    m.input("push", "N")
    for name in ("crank", "block", "plate"):
        m.body(name, 1.0, inertia=(1, 1, 1))
    m.revolute("turn", "ground", "crank")
    m.prismatic("slide", "crank", "block")
    m.free("plate")
    m.frame("pin", "crank", (1, 0, 0), [("x", 0.3)])
    m.point("edge", "block", (0, "reach", 0))
    m.point("corner", "plate", (0.1, 0.2, 0.3))
    m.point("other_corner", "plate", (0.1, -0.2, 0.3))
    m.point("roof", "ground", (0, 0, 3))
    m.point("wall", "ground", (0, 3, 0))
    return m


def rows(constraint: ResidualConstraint) -> dict[str, str]:
    return {name: str(residual) for name, residual in constraint.residuals}


# -------------------------------------------------------------------- what each one holds


def test_residuals_by_name() -> None:
    m = shop()
    assert rows(m.close_point("p", "pin", "corner")) == {f"p_{i}": f"offset_{i}(pin, corner)" for i in "xyz"}
    assert rows(m.close_point("q", "ground", "plate", axes="zx")) == {
        "q_z": "offset_z(ground, plate)",
        "q_x": "offset_x(ground, plate)",
    }
    assert rows(m.rod("r", "edge", "corner", "2*reach")) == {"r": "distance(edge, corner) - 2*reach"}
    assert rows(m.cable("c", ["edge", "roof", "corner"], "3 ft")) == {
        "c": "distance(edge, roof) + distance(roof, corner) - 0.9144"
    }
    assert rows(m.gear("g", "turn", "slide", -2, "5 cm")) == {"g": "slide - -2*turn - 0.05"}
    assert rows(m.rack("k", "turn", "slide", "reach")) == {"k": "slide - turn*reach"}
    assert rows(m.prescribe("w", "turn", "30 deg")) == {"w": f"turn - {np.pi / 6!r}"}
    assert rows(m.prescribe("s", "slide_rate", "2*t", level="velocity")) == {"s": "slide_rate - 2*t"}
    assert rows(m.constrain("u", "turn*slide")) == {"u": "turn*slide"}
    assert rows(m.constrain("v", {"a": "plate_vx - t", "b": "plate_vy"}, "velocity", "m/s")) == {
        "a": "plate_vx - t",
        "b": "plate_vy",
    }
    units = {constraint.name: (constraint.level, constraint.unit) for constraint in m.freeze().constraints}
    assert units == {
        **dict.fromkeys("pqrckg", ("position", "m")),
        "w": ("position", "rad"),
        "s": ("velocity", "m/s"),
        "u": ("position", ""),
        "v": ("velocity", "m/s"),
    }


def test_joints_and_items_stand_for_their_names() -> None:
    m = shop()
    bodies, joints = m._items["bodies"], m._items["joints"]
    assert rows(m.gear("g", joints["turn"], joints["slide"], 2)) == {"g": "slide - 2*turn"}
    assert rows(m.rod("r", bodies["crank"], m._items["points"]["corner"], 1)) == {"r": "distance(crank, corner) - 1"}
    with pytest.raises(
        ModelError,
        match=r"rack 'k': joint 'plate_motion' does not have exactly one coordinate " r".it has plate_x, plate_y, .*; name",
    ):
        m.rack("k", joints["plate_motion"], "slide", 1)


def _turned(axis: int, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    matrix = np.eye(3)
    j, k = (axis + 1) % 3, (axis + 2) % 3
    matrix[j, j] = matrix[k, k] = c
    matrix[k, j], matrix[j, k] = s, -s
    return matrix


def _residual(expr: Expr, offset: np.ndarray, rotation: np.ndarray) -> float:
    """Value of a closing's residual where b is seen from a at this offset and with these axes."""
    special = {f"offset_{a}": (lambda _, i=i: offset[i]) for i, a in enumerate("xyz")}
    special |= {f"cosine_{a}{b}": (lambda _, i=i, j=j: rotation[i, j]) for i, a in enumerate("xyz") for j, b in enumerate("xyz")}
    return float(evaluate(expr, lambda name: 0.0, FLOAT_FUNCTIONS, special))


@pytest.mark.parametrize("axis", range(3))
def test_a_hinge_holds_all_but_the_turn_about_its_axis(axis: int) -> None:
    """Five rows vanish for any turn about the axis; a further small turn θ shows in the rows of that name as θ, sign included."""
    constraint = shop().close_hinge("h", "pin", "corner", "xyz"[axis])
    assert len(constraint.residuals) == 5
    held = _turned(axis, 0.8)
    assert all(abs(_residual(expr, np.zeros(3), held)) < 1e-15 for _, expr in constraint.residuals)
    small = 1e-6
    for about in {0, 1, 2} - {axis}:
        reported = {name: _residual(expr, np.zeros(3), _turned(about, small) @ held) for name, expr in constraint.residuals}
        wanted = {name: small if name == f"h_turn_{'xyz'[about]}" else 0.0 for name in reported}
        assert reported == pytest.approx(wanted, abs=1e-11)
    assert {constraint.unit_of(name) for name, _ in constraint.residuals if "turn" in name} == {""}
    assert constraint.unit_of("h_x") == "m"


@pytest.mark.parametrize("axis", range(3))
def test_a_slider_holds_all_but_the_way_along_its_axis(axis: int) -> None:
    constraint = shop().close_slider("s", "pin", "corner", "xyz"[axis])
    assert len(constraint.residuals) == 5
    along = np.eye(3)[axis]
    assert all(_residual(expr, 0.7 * along, np.eye(3)) == 0.0 for _, expr in constraint.residuals)
    small = 1e-6
    for about in range(3):
        reported = {name: _residual(expr, 0.7 * along, _turned(about, small)) for name, expr in constraint.residuals}
        wanted = {name: small if name == f"s_turn_{'xyz'[about]}" else 0.0 for name in reported}
        assert reported == pytest.approx(wanted, abs=1e-11)
    turned_over = _turned(axis, math.pi / 2) @ _turned((axis + 1) % 3, math.pi / 2)  # the axes exchanged
    assert max(abs(_residual(expr, 0.7 * along, turned_over)) for _, expr in constraint.residuals) > 1.0
    for across in {0, 1, 2} - {axis}:
        reported = {name: _residual(expr, np.eye(3)[across], np.eye(3)) for name, expr in constraint.residuals}
        assert {name for name, value in reported.items() if value} == {f"s_{'xyz'[across]}"}


# -------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda m: m.close_point("loop", "pinn", "corner"),
            "constraint 'loop': 'pinn' is neither a point nor a body of model 'shop'; did you mean 'pin'?",
        ),
        (
            lambda m: m.rod("rod", "edge", "cornr", 1.0),
            "constraint 'rod': 'cornr' is neither a point nor a body of model 'shop'; did you mean 'corner'?",
        ),
        (
            lambda m: m.close_point("loop", "corner", "other_corner"),
            "constraint 'loop': 'corner' and 'other_corner' both belong to body 'plate' and cannot move relative to each other;",
        ),
        (
            lambda m: m.cable("rope", ["roof", "wall", "ground"], 6.0),
            "constraint 'rope': 'roof' and 'wall' both belong to the ground and cannot "
            "move relative to each other; use a point of another",
        ),
        (
            lambda m: m.close_hinge("loop", "pin", "pin"),
            "constraint 'loop': it connects 'pin' to itself; name two different points or bodies",
        ),
        (
            lambda m: m.close_hinge("loop", "pin", "corner", "q"),
            "constraint 'loop': its axis must be 'x', 'y', 'z' or a vector such as (0, 1, 1), got 'q'",
        ),
        (
            lambda m: m.close_slider("loop", "pin", "corner", "xy"),
            "constraint 'loop': its axis must be 'x', 'y', 'z' or a vector such as (0, 1, 1), got 'xy'",
        ),
        (
            lambda m: m.close_point("loop", "pin", "corner", axes="xx"),
            "constraint 'loop': axes must be distinct letters of x, y, z, such as 'xyz' or 'xy'; got 'xx'",
        ),
        (
            lambda m: m.close_point("loop", "pin", "corner", axes=""),
            "constraint 'loop': axes must be distinct letters of x, y, z",
        ),
        (lambda m: m.rod("rod", "edge", "corner", 0), "length of constraint 'rod' is 0 m; it must be positive; use close_point"),
        (
            lambda m: m.cable("rope", ["edge", "roof", "corner"], "reach - 1"),
            "length of constraint 'rope' is -0.3 (from 'reach - 1' at the default parameters) m; it must be positive",
        ),
        (
            lambda m: m.rod("rod", "edge", "corner", "5 kg"),
            "length of rod 'rod': got '5 kg' (mass), expected a length such as 'm'",
        ),
        (
            lambda m: m.rod("rod", "edge", "corner", "1 + 0.1*t"),
            "length of rod 'rod': '1 + 0.1*t' depends on time; prescribe the distance instead",
        ),
        (lambda m: m.cable("rope", ["edge"], 1.0), "cable 'rope': needs two points or more, got 1"),
        (
            lambda m: m.cable("rope", ["edge", "roof", "roof"], 1.0),
            "cable 'rope': point 'roof' is listed twice in a row; remove one",
        ),
        (
            lambda m: m.gear("gear", "trun", "slide", 2),
            "constraint 'gear': unknown name 'trun'; did you mean 'turn'?",
        ),
        (lambda m: m.gear("gear", "turn", "slide", 0), "gear 'gear': its ratio is 0; to keep slide constant use prescribe"),
        (
            lambda m: m.gear("gear", "turn", "slide", 2, phase="5 deg"),
            "phase of gear 'gear': got '5 deg' (angle or plain number), expected a length such as 'm'",
        ),
        (
            lambda m: m.gear("gear", "turn", "2*slide", 2),
            "gear 'gear': the unit of '2*slide' is unknown; give it, for example unit='m' or unit='rad'",
        ),
        (lambda m: m.rack("rack", "turn", "slide", 0), "rack 'rack': its radius is 0; give the radius of the pinion"),
        (
            lambda m: m.prescribe("wave", "slide", "push"),
            "constraint 'wave' may depend on parameters, coordinates, outputs and time only, but 'push' is an input",
        ),
        (
            lambda m: m.prescribe("wave", "slide", "10 rad"),
            "law of prescribed motion 'wave': got '10 rad' (angle or plain number), expected a length such as 'm'",
        ),
        (
            lambda m: m.constrain("aim", "slide_rate - turn"),
            "constraint 'aim' may depend on parameters, coordinates, outputs and time only, but 'slide_rate' is a velocity",
        ),
        (
            lambda m: m.constrain("aim", "slide_rate - push", level="velocity"),
            "constraint 'aim' may depend on parameters, coordinates, velocities, outputs and time only, but 'push' is an input",
        ),
        (
            lambda m: m.constrain("aim", "slide", level="velocty"),
            "constraint 'aim': its level must be 'position' or 'velocity', got 'velocty'; did you mean 'velocity'?",
        ),
        (lambda m: m.constrain("aim", {}), "constraint 'aim' has no residual; give an expression that must stay zero"),
        (lambda m: m.constrain("aim", "slide +"), "residual 'aim' of constraint 'aim': "),
        (
            lambda m: m.constrain("aim", "slide", unit="mm"),
            "constraint 'aim': values are in SI units, but its unit is 'mm'; give the unit 'm'",
        ),
        (lambda m: m.constrain("aim", "slide", unit="furlong"), "unit of constraint 'aim': 'furlong' is not a unit"),
        (
            lambda m: (m.rod("rod", "edge", "corner", 1), m.rod("rod", "edge", "plate", 1)),
            "'shop' already has a constraint 'rod'; choose another name",
        ),
        (
            lambda m: (m.close_point("a", "pin", "corner"), m.rod("a_x", "edge", "corner", 1)),
            "model 'shop': 'a_x' names both a residual of constraint 'a' and a residual of constraint 'a_x'; rename one of them",
        ),
        (
            lambda m: (m.wheel("front", "plate", 1), m.rod("front_x", "edge", "corner", 1)),
            "model 'shop': 'front_x' names both a constraint of wheel 'front' and a residual of constraint 'front_x'; rename one",
        ),
        (lambda m: m.rod("2r", "edge", "corner", 1), "constraints: '2r' is not a valid name"),
    ],
)
def test_refused_in_words(spoil: Callable[[Model], object], message: str) -> None:
    m = shop()
    with pytest.raises(ModelError) as caught:
        spoil(m)
        m.freeze()
    assert str(caught.value).startswith(message)


def test_a_residual_with_more_than_the_places_of_one_body_may_stand() -> None:
    m = shop()
    m.constrain("carried", "distance(corner, other_corner) - slide", unit="m")
    m.cable("rope", ["edge", "roof", "wall", "corner"], 9.0)  # two pulleys on the ground
    assert len(m.freeze().constraints) == 2


def test_constraints_made_by_hand_are_checked_too() -> None:
    system = shop().freeze()
    with pytest.raises(ModelError, match="constraint 'x' has no residual"):
        check_system(replace(system, constraints=(ResidualConstraint("x", ()),)))
    with pytest.raises(ModelError, match="constraint 'x': its level must be 'position' or 'velocity', got 'speed'"):
        check_system(replace(system, constraints=(ResidualConstraint("x", (("x", parse("slide")),), "speed"),)))


def test_lengths_are_checked_at_other_parameters_too() -> None:
    m = shop()
    m.rod("rod", "edge", "corner", "reach")
    system = m.freeze()
    check_numbers(system, {"reach": 0.1})
    with pytest.raises(ModelError, match=r"length of constraint 'rod' is -0\.1"):
        check_numbers(system, {"reach": -0.1})


# -------------------------------------------------------------------- files


def everything() -> Model:
    m = shop()
    m.close_point("point", "pin", "plate")
    m.close_point("flat", "pin", "edge", axes="yx")
    m.close_hinge("hinge", "pin", "corner", "y")
    m.close_slider("guide", "ground", "plate", "z")
    m.rod("rod", "edge", "corner", "reach*2")
    m.cable("rope", ["edge", "roof", "corner"], "3 m")
    m.gear("train", "turn", "slide", -2, "5 cm")
    m.gear("mesh", "turn", "heading(plate)", "0.9*reach")
    m.rack("rack", "turn", "slide", "reach", 0.1)
    m.rack("drum", "turn", "slide", "5 cm")
    m.prescribe("wave", "turn", "0.3*sin(2*t)")
    m.prescribe("pace", "slide_rate", "2 cm/s", level="velocity")
    m.prescribe("leg", "distance(edge, roof)", "2 + 0.1*t")
    m.table("path", [0, 1, 2], [0, 0.5, 0])
    m.prescribe("tracked", "slide", "path(t)")
    m.prescribe("still", "turn + slide/reach", "0.9*reach", unit="rad")
    m.constrain("product", "turn*slide")
    m.constrain("level", "position_z(edge) - position_z(plate)", unit="m")
    m.constrain("roll", {"ahead": "slide_rate - plate_vx*cos(turn)", "aside": "plate_vy - t"}, level="velocity", unit="m/s")
    m.constrain("cam", "slide - turn*turn", unit="m")
    return m


def test_every_kind_reads_back_the_same_and_by_its_name() -> None:
    m = everything()
    text = to_toml(m)
    again = from_toml(text)
    assert again.freeze() == m.freeze()
    assert to_toml(again) == text
    tables = tomllib.loads(text)["constraints"]
    assert {name: table["kind"] for name, table in tables.items()} == {
        "point": "close_point",
        "flat": "close_point",
        "hinge": "close_hinge",
        "guide": "close_slider",
        "rod": "rod",
        "rope": "cable",
        "train": "gear",
        "mesh": "gear",
        "rack": "rack",
        "drum": "rack",
        "wave": "prescribe",
        "pace": "prescribe",
        "leg": "prescribe",
        "tracked": "prescribe",
        "still": "prescribe",
        "product": "constrain",
        "level": "constrain",
        "roll": "constrain",
        "cam": "constrain",
    }
    assert tables["train"] == {"kind": "gear", "first": "turn", "second": "slide", "ratio": -2, "phase": 0.05, "unit": "m"}
    assert tables["rope"] == {"kind": "cable", "points": ["edge", "roof", "corner"], "length": 3}


SHOP = to_toml(shop())


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("a = 'pin'", "constraint 'x': 'kind' is missing; give one of close_point, close_hinge"),
        ("kind = 'close_pont'", "constraint 'x': kind 'close_pont' is unknown; did you mean 'close_point'?"),
        ("kind = 'close_point'\na = 'pin'", "constraint 'x': 'b' is missing; give it in quotes"),
        ("kind = 'rod'\na = 'pin'\nb = 'corner'\nlenght = 1", "constraint 'x': unknown key 'lenght'; did you mean 'length'?"),
        ("kind = 'close_hinge'\na = 'pin'\nb = 'corner'\naxis = 'w'", "constraint 'x': its axis must be"),
        ("kind = 'cable'\npoints = 'pin'\nlength = 1", "constraint 'x': 'points' must be a list of texts, got 'pin'"),
        (
            "kind = 'constrain'\nlevel = 'position'",
            "constraint 'x': give either one 'residual' or a table of 'residuals' by name",
        ),
        ("kind = 'constrain'\nresidual = 'slide'\nlevel = 'speed'", "constraint 'x': level 'speed' is unknown"),
        ("kind = 'prescribe'\nmeasure = 'slide'\nlaw = '3 kg'", "law of prescribed motion 'x': got '3 kg' (mass)"),
    ],
)
def test_complaints_about_files(table: str, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        from_toml(f"{SHOP}\n[constraints.x]\n{table}\n")
    assert re.match(rf"model text, line \d+: {re.escape(message)}", str(caught.value))


def test_a_copy_and_another_reference_body_keep_the_constraints() -> None:
    m = everything()
    assert Model.of(m.freeze()).freeze() == m.freeze()


def test_what_a_model_is_made_of_lists_its_ties() -> None:
    from draisine.dynamics.derive import derive
    from draisine.gallery.entries.atwood import atwood
    from draisine.symbolic.rendering.model_text import describe, describe_as_data

    m = atwood()
    lines = describe(derive(m), m.freeze()).splitlines()
    place = lines.index("constraints")
    assert lines[place + 1] == "  cable  cable  points = heavy – heavy_side – light_side – light, length = l_cable"
    assert describe_as_data(derive(m), m.freeze())["residual_constraints"] == {
        "cable": {"kind": "cable", "points": ["heavy", "heavy_side", "light_side", "light"], "length": "l_cable"}
    }
