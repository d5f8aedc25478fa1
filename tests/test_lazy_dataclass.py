"""`dataclass` of `lazy_dataclass` against that of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

import draisine
from draisine.lazy_dataclass import _Initializer, dataclass

Decorator = Callable[..., Any]


def plain(decorator: Decorator) -> type[Any]:
    @decorator(frozen=True)
    class Point:
        """A point."""

        dimension: ClassVar[int] = 2
        x: float
        y: float = 0.0
        names: list[str] = dataclasses.field(default_factory=list)
        note: str = dataclasses.field(default="", compare=False, repr=False)
        length: float = dataclasses.field(init=False, hash=False, default=1.0)

        def __post_init__(self) -> None:
            object.__setattr__(self, "length", abs(self.x))

    return Point  # type: ignore[no-any-return]


def keyword(decorator: Decorator) -> type[Any]:
    @decorator(frozen=True, kw_only=True)
    class Settings:
        level: int = 1
        name: str
        made: dict[str, int] = dataclasses.field(init=False, default_factory=dict)

    return Settings  # type: ignore[no-any-return]


def identical(decorator: Decorator) -> type[Any]:
    @decorator(frozen=True, eq=False)
    class Code:
        address: int
        size: int = dataclasses.field(default=0, kw_only=True)

    return Code  # type: ignore[no-any-return]


def empty(decorator: Decorator) -> type[Any]:
    @decorator(frozen=True)
    class Nothing:
        pass

    return Nothing  # type: ignore[no-any-return]


def own_methods(decorator: Decorator) -> type[Any]:
    @decorator(frozen=True)
    class Own:
        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and other.x % 2 == self.x % 2

        def __repr__(self) -> str:
            return "own"

    return Own  # type: ignore[no-any-return]


def own_hash(decorator: Decorator) -> type[Any]:
    @decorator(frozen=True)
    class Hashed:
        x: int

        def __hash__(self) -> int:
            return 5

    return Hashed  # type: ignore[no-any-return]


def derived(decorator: Decorator) -> type[Any]:
    @decorator(frozen=True)
    class Base:
        x: int
        y: int = 2

        def __init__(self, x: int) -> None:
            object.__setattr__(self, "x", x)

    @decorator(frozen=True)
    class Derived(Base):
        z: int = 3

    return Derived  # type: ignore[no-any-return]


def changeable(decorator: Decorator) -> type[Any]:
    @decorator
    class Open:
        x: int = 1

    return Open  # type: ignore[no-any-return]


CASES: dict[Callable[[Decorator], type[Any]], list[Callable[[type[Any]], Any]]] = {
    plain: [lambda c: c(1.0), lambda c: c(1.0, 2.0, ["a"], "n"), lambda c: c(x=-1.0, note="m"), lambda c: c(1.0, note="other")],
    keyword: [lambda c: c(name="a"), lambda c: c(name="a", level=2), lambda c: c(level=1, name="a")],
    identical: [lambda c: c(1), lambda c: c(1), lambda c: c(2, size=3)],
    empty: [lambda c: c(), lambda c: c()],
    own_methods: [lambda c: c(1), lambda c: c(3), lambda c: c(2)],
    own_hash: [lambda c: c(1), lambda c: c(2), lambda c: c(1)],
    derived: [lambda c: c(1), lambda c: c(1, 2, 3), lambda c: c(1, z=5)],
    changeable: [lambda c: c(), lambda c: c(2)],
}


@pytest.fixture(params=CASES, ids=lambda case: case.__name__)
def pair(request: pytest.FixtureRequest) -> tuple[type[Any], type[Any], list[Callable[[type[Any]], Any]]]:
    return request.param(dataclass), request.param(dataclasses.dataclass), CASES[request.param]


def outcome(work: Callable[[], Any]) -> Any:
    """What a call gives, or the error that it raises."""
    try:
        return work()
    except Exception as error:
        return type(error), re.sub(r"^.*?\.", "", str(error))


def test_it_is_the_standard_one_in_all_that_is_said_of_it(pair: Any) -> None:
    ours, standard, _ = pair

    def told(cls: type[Any]) -> list[Any]:
        kinds = ("name", "type", "init", "repr", "hash", "compare", "kw_only")
        return [
            [[getattr(f, kind) for kind in kinds] for f in dataclasses.fields(cls)],
            [f.default for f in dataclasses.fields(cls)],
            cls.__match_args__,
            repr(cls.__dataclass_params__),  # type: ignore[attr-defined]
            cls.__hash__ is None or cls.__hash__ is object.__hash__,
            sorted(name for name in vars(cls) if name in ("__repr__", "__eq__", "__init__", "__setattr__", "__delattr__")),
            str(inspect.signature(cls)),
            {name: str(p.default) for name, p in inspect.signature(cls).parameters.items()},
            cls.__init__.__qualname__.split(".")[-2:],
            cls.__init__.__annotations__,
        ]

    assert told(ours) == told(standard)


def test_instances_behave_alike(pair: Any) -> None:
    ours, standard, makers = pair
    instances = [[make(cls) for make in makers] for cls in (ours, standard)]

    def told(made: list[Any]) -> list[Any]:
        first = made[0]
        name = dataclasses.fields(first)[0].name if dataclasses.fields(first) else "x"
        return [
            [repr(one) if "object at" not in repr(one) else "" for one in made],
            [[one == other for other in made] for one in made],
            [one == 7 for one in made],
            [outcome(lambda one=one, other=other: hash(one) == hash(other)) for one in made for other in made],
            [vars(one) for one in made],
            outcome(lambda: setattr(copy.copy(first), name, 1)),
            outcome(lambda: setattr(copy.copy(first), "unknown", 1)),
            outcome(lambda: delattr(copy.copy(first), name)),
            [dataclasses.asdict(one) for one in made],
            [vars(copy.deepcopy(one)) for one in made],
            outcome(lambda: vars(dataclasses.replace(first))),
            outcome(lambda: type(first)(1, 2, 3, 4, 5, 6)),
            outcome(lambda: type(first)(unknown=1)),
            outcome(lambda: vars(type(first)())),
        ]

    assert told(instances[0]) == told(instances[1])


@dataclass(frozen=True)
class Stored:
    x: float
    inner: Any = None


def test_pickled_copied_and_matched() -> None:
    one = Stored(1.0, Stored(2.0))
    assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)
    match one:
        case Stored(x, Stored(y)):
            assert (x, y) == (1.0, 2.0)
        case _:
            pytest.fail("no match")
    assert len({one, Stored(1.0, Stored(2.0)), Stored(1.0)}) == 2


def test_a_representation_that_contains_itself() -> None:
    inner: list[Any] = []
    one = Stored(1.0, inner)
    inner.append(one)
    assert repr(one) == "Stored(x=1.0, inner=[...])"


@pytest.mark.parametrize(("first", "second"), [(dataclass, dataclasses.dataclass), (dataclasses.dataclass, dataclass)])
def test_subclasses_by_either(first: Decorator, second: Decorator) -> None:
    """Users derive from our classes by the standard decorator."""

    @first(frozen=True)
    class Law(ABC):
        scale: float = 1.0

        @abstractmethod
        def force(self) -> float: ...

    @second(frozen=True)
    class Linear(Law):
        rate: float = 2.0

        def force(self) -> float:
            return self.scale * self.rate  # type: ignore[no-any-return]

    assert Linear(3.0).force() == 6.0 and Linear(3.0) == Linear(3.0, 2.0) != Linear(3.0, 4.0)
    assert repr(Linear(3.0)).endswith("Linear(scale=3.0, rate=2.0)")
    with pytest.raises(dataclasses.FrozenInstanceError, match="rate"):
        Linear().rate = 1.0
    with pytest.raises(TypeError, match="abstract"):
        Law()
    with pytest.raises(TypeError, match="frozen"):

        @dataclasses.dataclass
        class Other(Law):
            pass


def test_a_plain_subclass_may_have_further_attributes() -> None:
    class More(Stored):
        pass

    more = More(1.0)
    more.further = 2  # type: ignore[attr-defined]
    assert more.further == 2  # type: ignore[attr-defined]
    del more.further  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError):
        more.x = 2.0  # type: ignore[misc]
    assert repr(more).endswith("More(x=1.0, inner=None)") and more != Stored(1.0)


def test_the_initializer_is_written_at_the_first_call() -> None:
    cls = plain(dataclass)
    assert isinstance(vars(cls)["__init__"], _Initializer)
    cls(1.0)
    assert inspect.isfunction(vars(cls)["__init__"])


KNOWN = """
import json, sys
import draisine as dr
dr.simulate(dr.gallery.bicycle(), 0.1, start={"speed": 4.6})
print(json.dumps([m.__file__ for n, m in sys.modules.items() if n.startswith("draisine") and getattr(m, "__file__", None)]))
"""


def test_modules_of_a_run_use_it() -> None:
    """What the run of a known model loads, and what a first run loads."""
    package = Path(draisine.__file__).parent
    path = os.pathsep.join([str(package.parent), os.environ.get("PYTHONPATH", "")])
    reported = subprocess.run(
        [sys.executable, "-c", KNOWN], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path}
    )
    standard = re.compile(r"^from dataclasses import .*\bdataclass\b", re.MULTILINE)
    files = [Path(file) for file in json.loads(reported.stdout)]
    found = [file.name for file in files if file.suffix == ".py" and standard.search(file.read_text("utf-8"))]
    assert found == [] and len(files) > 100
