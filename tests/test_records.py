"""Data classes that are quickly defined behave like the standard library's."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from functools import cached_property
from typing import Any

import pytest

from draisine.records import dataclass


def wheels(decorator: Any) -> Any:
    """The same class, once of ours and once of the standard library's."""

    @decorator(frozen=True)
    class Wheel:
        """A wheel."""

        radius: float
        name: str = "front"
        spokes: list[int] = field(default_factory=list)
        seen: int = field(default=0, compare=False, repr=False)
        girth: float = field(init=False)
        tyre: str = field(default="slick", kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "girth", 2 * self.radius)

        @cached_property
        def area(self) -> float:
            return self.radius**2

    return Wheel


@pytest.fixture
def both() -> tuple[Any, Any]:
    return wheels(dataclass), wheels(dataclasses.dataclass)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((0.3,), {}),
        ((0.3, "rear"), {"tyre": "knobby"}),
        ((), {"name": "rear", "radius": 0.3}),
        ((0.3, "rear", [36], 7), {}),
        ((), {}),
        ((0.3,), {"radius": 0.4}),
        ((0.3,), {"rim": 1}),
        ((0.3,), {"girth": 1.0}),
        ((0.3, "rear", [], 0, "slick"), {}),
    ],
)
def test_calls_go_as_in_the_standard_library(both, values, named):
    told = []
    for wheel in both:
        try:
            made = wheel(*values, **named)
        except TypeError as problem:
            told.append(str(problem).replace("wheels.<locals>.", ""))
        else:
            told.append((vars(made), repr(made), made.area, dataclasses.asdict(made)))
    assert told[0] == told[1]


def test_comparing_hashing_copying(both):
    ours, _ = both
    a, b = ours(0.3, seen=1), ours(0.3, seen=2)
    assert a == b and a != ours(0.4) and a != object() and (a == 3) is False
    assert a.spokes is not b.spokes
    assert copy.copy(a) == copy.deepcopy(a) == a and dataclasses.replace(a, radius=0.5).girth == 1.0
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        hash(a)
    assert [f.name for f in dataclasses.fields(a)] == [f.name for f in dataclasses.fields(both[1])]
    assert ours.__match_args__ == both[1].__match_args__


def test_what_is_frozen_stays(both):
    for wheel in both:
        one = wheel(0.3)
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'radius'"):
            one.radius = 1.0
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'name'"):
            del one.name
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        dataclasses.dataclass(type("Loose", (both[0],), {}))


def test_those_who_inherit(both):
    for wheel, decorator in zip(both, (dataclass, dataclasses.dataclass), strict=True):
        driven = decorator(frozen=True)(type("Driven", (wheel,), {"__annotations__": {"torque": "float"}, "torque": 2.0}))
        plain = type("Plain", (wheel,), {"extra": 0})
        assert driven(0.3, torque=1.0) != driven(0.3) == driven(0.3) != wheel(0.3)
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'torque'"):
            driven(0.3).torque = 2.0
        with pytest.raises(TypeError, match="cannot inherit non-frozen"):
            decorator(type("Loose", (wheel,), {}))
        made = plain(0.3)
        made.extra = 5  # no field, and another class
        assert made.extra == 5 and made != wheel(0.3)


def test_what_inspection_shows(both):
    def shown(wheel: Any) -> list[Any]:
        return [(p.name, p.kind, p.annotation) for p in inspect.signature(wheel).parameters.values()]

    assert shown(both[0]) == shown(both[1])
    assert both[0].__doc__ == "A wheel."


@dataclass
class Loose:
    amount: float
    label: str = ""


@dataclass(frozen=True, eq=False)
class Kept:
    amount: float


@dataclass(frozen=True)
class Single:
    amount: float

    def __repr__(self) -> str:
        return "one"


@pytest.mark.parametrize("decorator", [dataclass, dataclasses.dataclass])
def test_an_equality_of_its_own_keeps_the_hash_of_the_fields(decorator):
    @decorator(frozen=True)
    class Near:
        amount: float

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Near) and abs(self.amount - other.amount) < 0.5

    assert Near(1.0) == Near(1.2) and hash(Near(1.0)) == hash((1.0,))


def test_kinds_of_classes():
    one = Loose(1.0)
    one.amount = 2.0
    assert one == Loose(2.0) and Loose.__hash__ is None and repr(one) == "Loose(amount=2.0, label='')"
    assert Kept(1.0) != Kept(1.0) and len({Kept(1.0), Kept(1.0)}) == 2
    assert len({Single(1.0), Single(1.0)}) == 1 and hash(Single(1.0)) == hash((1.0,)) and repr(Single(1.0)) == "one"
    for made in (one, Single(3.0)):
        assert pickle.loads(pickle.dumps(made)) == made
