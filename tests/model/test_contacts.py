"""Descriptions of grounds, tangential laws and surfaces in contact: files, and complaints that name the item and the cure."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import draisine as dr
from draisine.errors import ModelError
from draisine.expr.expression import parse
from draisine.gallery.entries.sliding_bicycle import sliding_bicycle
from draisine.gallery.entries.waves import wheel_on_waves
from draisine.gallery.entries.wheelset import wheelset
from draisine.model.files import from_toml, to_toml
from draisine.model.model import Model

LAWS = [
    dr.contact.Rolling(),
    dr.contact.Creep(1e4, "stiffness", friction=0.5),
    dr.contact.Creep("12 kN", 1e4),
    dr.contact.LinearTire(1e4, "30 cm"),
    dr.contact.LinearTire(1e4, 0.3, 2e4, 0.9, 0.05),
    dr.contact.Coulomb(0.8),
    dr.contact.ShenHedrickElkins(0.3, "2.8 mm", "1.7 mm", 5073.0, 8.27e10, 4.85, 4.55, 2.27),
]


def wheel(law: object = dr.contact.Rolling()) -> Model:
    m = Model("wheel")
    m.parameter("stiffness", 1e4, "N")
    m.body("disc", 2.0, inertia=(0.1, 0.2, 0.1))
    m.free("disc")
    m.wheel("rim", "disc", 0.3, contact=law)  # type: ignore[arg-type]
    return m


def peanut() -> Model:
    """A ball on a sphere."""
    m = Model("peanut")
    m.body("ball", 2.0, inertia=(0.1, 0.1, 0.1))
    m.free("ball", at=(0, 0, 1.4))
    u, v, a, b = (m.surface_parameter(name, "rad") for name in ("own_u", "own_v", "other_u", "other_v"))
    own = (f"0.4*sin({u})", f"0.4*cos({u})*sin({v})", f"-0.4*cos({u})*cos({v})")
    other = (f"sin({a})", f"cos({a})*sin({b})", f"cos({a})*cos({b})")
    m.touch("kiss", "ball", own, (u, v), "ground", other, (a, b), dr.contact.Rolling())
    return m


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_laws_come_back_from_files(law: object) -> None:
    system = wheel(law).freeze()
    assert from_toml(to_toml(system)).freeze() == system


@pytest.mark.parametrize("make", [wheel_on_waves, wheelset, sliding_bicycle, peanut], ids=lambda make: make.__name__)
def test_descriptions_come_back_from_files(make: Callable[[], Model]) -> None:
    system = make().freeze()
    assert from_toml(to_toml(system)).freeze() == system


def test_a_moving_ground_comes_back_from_a_file() -> None:
    m = wheel()
    m.ground(slope="3 deg", height="0.1*sin(x - t)", velocity=("-2*y", "1 km/h"))
    assert from_toml(to_toml(m.freeze())).freeze() == m.freeze()
    assert m.freeze().ground.velocity[1] == parse(repr(1000 / 3600))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{ law = "glue" }', "law 'glue' is unknown"),
        ('{ law = "coulomb" }', "'friction' is missing"),
        ('{ law = "coulomb", friction = 0.5, stiffness = 3 }', "unknown key 'stiffness'"),
        ('{ law = "coulomb", friction = -0.5 }', "friction of the contact of wheel 'rim' is -0.5; it must be positive"),
    ],
)
def test_files_with_bad_laws_are_refused(text: str, says: str) -> None:
    given = to_toml(wheel(dr.contact.Coulomb(0.5)).freeze())
    start = given.index("contact = {")
    changed = given[:start] + "contact = " + text + given[given.index("}", start) + 1 :]
    with pytest.raises((ModelError, ModelError), match=says):
        from_toml(changed).freeze()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: m.touch("two", "ball", ("own_u", 0, 0), ("own_u",), "ground", (0, 0, 0), ("a", "b")), "needs two parameters"),
        (
            lambda m: m.touch(
                "two", "ball", ("own_u", "w", 0), ("own_u", "w"), "ground", ("other_u", "other_v", 0), ("other_u", "other_v")
            ),
            "'w' is not a surface parameter",
        ),
        (
            lambda m: m.touch(
                "two", "ball", ("own_u", 0, 0), ("own_u", "own_v"), "ground", ("other_u", 0, 0), ("other_u", "other_v")
            ),
            "its surface does not depend on its parameter 'own_v'",
        ),
        (
            lambda m: m.touch(
                "two", "bull", ("own_u", "own_v", 0), ("own_u", "own_v"), "ground", ("other_u", 0, 0), ("other_u", "b")
            ),
            "'bull' is neither a point nor a body",
        ),
        (lambda m: m.surface_parameter("place", low=1.0, high=0.0), "the span of surface parameter 'place'"),
        (lambda m: m.output("press", "kiss_normal_multiplier"), "unknown name 'kiss_normal_multiplier'"),
    ],
)
def test_complaints_about_surfaces_name_the_contact(change: Callable[[Model], object], says: str) -> None:
    m = peanut()
    with pytest.raises(ModelError, match=says):
        change(m)
        m.freeze()
