"""Data classes whose methods are written late behave as those of the standard library: random classes by both decorators."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import pickle
import random
import subprocess
import sys
import typing
from collections.abc import Callable, Sequence
from dataclasses import MISSING, FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from draisine.dataclass import dataclass

DEFAULTS = [MISSING, 3, "text", None, 2.5, (1, 2)]


def drawn(rng: random.Random, bases: tuple[type, type], frozen: bool) -> tuple[type, type]:
    """One class by each decorator: random fields, methods of its own and options, on one base each."""
    names = rng.sample(["a", "b", "c", "d", "e"], rng.randint(0, 4))
    options = {"frozen": frozen, "eq": rng.random() < 0.7, "repr": rng.random() < 0.8}
    options["kw_only"] = bool(dataclasses.is_dataclass(bases[0]) and dataclasses.fields(bases[0])) or rng.random() < 0.3
    members, made, has_default = {}, rng.random() < 0.3, False
    for name in names:
        kind = rng.randrange(4)
        if kind == 0 and (options["kw_only"] or not has_default):
            continue
        has_default = True
        choice = {"repr": rng.random() < 0.7, "compare": rng.random() < 0.7, "init": rng.random() < 0.8}
        members[name] = {
            0: rng.choice(DEFAULTS[1:]),
            1: rng.choice(DEFAULTS[1:]),
            2: field(default=rng.choice(DEFAULTS[1:]), hash=rng.choice([None, True, False]), **choice),
            3: field(default_factory=list if rng.random() < 0.3 else tuple, **choice),
        }[kind]
    namespaces = []
    for _ in range(2):
        space = {"__annotations__": dict.fromkeys(names, "object"), "__module__": __name__, "__doc__": "drawn", **members}
        if made:
            space["__annotations__"]["shared"] = "ClassVar[int]"
            space["shared"] = 7
            space["__post_init__"] = lambda self: object.__setattr__(self, "noted", "yes")
            space["__repr__"] = lambda self: "own"
        space = {name: copy.copy(value) if isinstance(value, dataclasses.Field) else value for name, value in space.items()}
        namespaces.append(space)
    title = f"Drawn{rng.randrange(10**9)}"
    return tuple(
        by(**options)(type(title, (base,), space))
        for by, base, space in zip((dataclass, dataclasses.dataclass), bases, namespaces, strict=True)
    )


def outcomes(call: Callable[..., object], pair: Sequence[Any], *arguments: Any, **named: Any) -> list[object]:
    """What a call gives for ours and for the standard one: a value, or an error."""

    def outcome(of: Any) -> object:
        try:
            return call(of, *arguments, **named)
        except Exception as error:
            return type(error), str(error)

    return [outcome(of) for of in pair]


def same(call: Callable[..., object], pair: Sequence[Any], *arguments: Any) -> bool:
    ours, standard = outcomes(call, pair, *arguments)
    return ours == standard


def compared(pair: tuple[type, type], rng: random.Random) -> None:
    ours = pair[0]
    assert same(
        lambda c: [(f.name, f.type, f.default, f.init, f.repr, f.compare, f.kw_only) for f in dataclasses.fields(c)], pair
    )
    assert same(lambda c: str(inspect.signature(c)), pair)
    assert same(lambda c: c.__match_args__, pair)
    assert same(lambda c: [getattr(c.__dataclass_params__, name) for name in ("init", "repr", "eq", "frozen")], pair)
    parameters = list(inspect.signature(ours).parameters.values())
    positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    for _ in range(3):
        values = [rng.choice([1, 2.0, "x"]) for _ in positional[: rng.randint(0, len(positional))]]
        others = [p for p in parameters[len(values) :] if p.default is p.empty or rng.random() < 0.5]
        made = outcomes(
            lambda cls, /, *given, **by_name: cls(*given, **by_name),
            pair,
            *values,
            **{p.name: rng.choice([1, 2.0, "x"]) for p in others},
        )
        assert type(made[0]) is ours
        assert same(vars, made) and same(dataclasses.asdict, made)
        if ours.__dataclass_params__.repr or "__repr__" in vars(ours):
            assert same(repr, made)
        assert same(lambda m: dataclasses.replace(m) == m, made)
        assert same(lambda m: vars(copy.deepcopy(m)), made)
        if ours.__dataclass_params__.eq:
            assert same(hash, made) and same(lambda m: m.__eq__(3), made) and made[0] != made[1]
        for name in (*vars(made[0]), "other"):
            assert same(lambda m, name: (setattr(m, name, 1), vars(m)), made, name)
            assert same(lambda m, name: (delattr(m, name), vars(m)), made, name)


def test_random_classes_behave_as_those_of_the_standard_library():
    rng = random.Random(15)
    for _ in range(150):
        frozen = rng.random() < 0.7
        pair = (object, object)
        for _ in range(rng.randint(1, 3)):  # each the base of the next
            pair = drawn(rng, pair, frozen)
            compared(pair, rng)


@dataclass(frozen=True)
class Point:
    """A point."""

    x: float
    y: float = 0.0
    dimension: ClassVar[int] = 2


def test_methods_are_written_when_they_are_first_used():
    @dataclass(frozen=True)
    class Late:
        x: float

    assert {name: type(vars(Late)[name]).__name__ for name in ("__init__", "__eq__", "__hash__")} == dict.fromkeys(
        ("__init__", "__eq__", "__hash__"), "_Method"
    )
    assert Late(1.0) == Late(1.0)
    assert inspect.isfunction(vars(Late)["__init__"]) and inspect.isfunction(vars(Late)["__eq__"])
    assert type(vars(Late)["__hash__"]).__name__ == "_Method"


def test_pickles_and_subclasses_by_either_decorator():
    assert pickle.loads(pickle.dumps(Point(1.0, 2.0))) == Point(1.0, 2.0)

    @dataclasses.dataclass(frozen=True)
    class Standard(Point):
        z: float = 3.0

    @dataclass(frozen=True)
    class Ours(Standard):
        w: float = 4.0

    class Plain(Ours):
        pass

    assert repr(Ours(1.0)) == f"{Ours.__qualname__}(x=1.0, y=0.0, z=3.0, w=4.0)"
    assert typing.get_type_hints(Point.__init__) == {"x": float, "y": float, "return": type(None)}
    plain = Plain(1.0)
    plain.note = "of a subclass without decorator"
    del plain.note
    for change in (lambda: setattr(plain, "x", 2.0), lambda: delattr(plain, "w"), lambda: setattr(Ours(1.0), "note", 1)):
        with pytest.raises(FrozenInstanceError):
            change()


def test_a_frozen_class_and_one_that_is_not_do_not_inherit_from_each_other():
    with pytest.raises(TypeError, match="frozen all together"):

        @dataclass
        class Changing(Point):
            z: float = 0.0


FIRST_RUN = """
import dataclasses, json, sys
made = []
process = dataclasses._process_class
def noted(cls, init, *rest):
    if init:
        made.append((cls.__module__, cls.__name__))
    return process(cls, init, *rest)
dataclasses._process_class = noted
import draisine as dr
dr.simulate(dr.gallery.bicycle(), 0.1, start={"speed": 4.6})
print(json.dumps([made, sorted(sys.modules)]))
"""


def test_a_first_trajectory_defines_no_class_by_the_standard_decorator(tmp_path, monkeypatch):
    """Neither derived nor read from disk; it imports no masked arrays, no random generators and no OpenSSL."""
    monkeypatch.setenv("DRAISINE_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        reported = subprocess.run([sys.executable, "-c", FIRST_RUN], capture_output=True, text=True, check=True).stdout
        made, modules = json.loads(reported)
        assert [name for name in made if name[0].startswith("draisine")] == []
        assert {"numpy.ma", "numpy.random", "hashlib", "_hashlib"} & set(modules) == set()
