"""Whatever a model file holds, it is read and derived, or refused by a `ModelError`: mutations of the gallery's own files."""

from __future__ import annotations

import copy
import random
import re
import tomllib
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import draisine as dr
from draisine.dynamics.derive import derive
from draisine.errors import ModelError
from draisine.model.files import from_toml, to_toml
from draisine.model.model import Model
from draisine.model.toml_files import inline

LONGEST = 12_000  # characters: of longer files the gallery has shorter relatives
WHERE = re.compile(r"hostile\.toml(, line \d+(, column \d+)?)?: ")

# what is put in place of a value, as TOML writes it
ODD = (
    *("0", "-1", "1e308", "1e-308", "nan", "inf", "true", "99999999999999999999", "1979-05-27", "[]", "{}", "[1]", "[0, 0, 0]"),
    *('""', '"x"', '"pi"', '"t"', '"ground"', '"a b"', '"é"', '"\\u0000"', '"1 m"', '"3 kg"', '"1/0"', '"0/0"', '"1e400"'),
    *('"sqrt(-1)"', '"log(0)"', '"acos(2)"', '"atan2(0,0)"', '"t^t"', '"rate(1)"', '"where(t,1,0)"', '"((((1))))"', '"-"'),
)
NAMES = ("x", "ground", "1a", "", "a b", "t", "é", "pi", "sin", "name", "__x", "a" * 300)
WRAPPED = ("0*({})", "1/({})", "({})/0", "sqrt({})", "1e300*({})", "log({})", "rate({})", "({})*t", "{} + nobody")
FACTORS = (0.0, -1.0, 1e9, 1e-9, 1e150, 1e-150)


class Raw(str):
    """A value as TOML writes it."""


@cache
def files() -> dict[str, str]:
    made = {name: dr.gallery.model(name) for name in dr.gallery.models()}
    texts = {name: to_toml(model) for name, model in made.items() if isinstance(model, Model)}
    return {name: text for name, text in texts.items() if len(text) < LONGEST}


def places(table: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = table.items() if isinstance(table, dict) else enumerate(table) if isinstance(table, list) else ()
    return [place for key, value in items for place in ((*path, key), *places(value, (*path, key)))]


def at(content: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        content = content[key]
    return content


def written(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{inline(str(key))} = {written(item)}" for key, item in value.items()) + " }"
    return "[" + ", ".join(map(written, value)) + "]" if isinstance(value, list) else inline(value)


def text_of(content: dict[str, Any]) -> str:
    lines = [f"{inline(str(key))} = {written(value)}" for key, value in content.items() if not isinstance(value, dict)]
    for key, value in content.items():
        if isinstance(value, dict):
            lines += [f"[{inline(str(key))}]", *(f"{inline(str(name))} = {written(item)}" for name, item in value.items())]
    return "\n".join(lines) + "\n"


def changed(content: dict[str, Any], pick: random.Random) -> None:
    """One change: a value or key deleted, replaced, renamed, wrapped, scaled, or taken from elsewhere."""
    path = pick.choice(places(content))
    parent, key, value = at(content, path[:-1]), path[-1], at(content, path)
    kind = pick.randrange(5)
    if kind == 0:
        del parent[key]
    elif kind == 1:
        parent[key] = Raw(pick.choice(ODD))
    elif kind == 2 and isinstance(key, str):
        parent[pick.choice(NAMES)] = parent.pop(key)
    elif kind == 3:
        parent[key] = copy.deepcopy(at(content, pick.choice(places(content))))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        parent[key] = value * pick.choice(FACTORS)
    elif isinstance(value, str) and not isinstance(value, Raw):
        parent[key] = pick.choice(WRAPPED).format(value)


def hostile(name: str, seed: int) -> str:
    pick, text = random.Random(seed), files()[name]
    if pick.random() < 0.1:  # a file that was cut, or has a letter too much
        begin = pick.randrange(len(text))
        end = pick.choice((len(text), min(len(text), begin + 20)))
        return text[:begin] + pick.choice(("", "\x00", '"', "[", "=", "é")) + text[end:]
    content = tomllib.loads(text)
    for _ in range(pick.choice((1, 1, 2, 3))):
        changed(content, pick)
    return text_of(content)


def read(name: str, seed: int) -> Model | None:
    try:
        return from_toml(hostile(name, seed), "hostile.toml")
    except ModelError as refused:
        assert WHERE.match(str(refused)), str(refused)
        return None


@given(st.data())
@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_a_file_is_read_or_refused(data):
    read(data.draw(st.sampled_from(sorted(files()))), data.draw(st.integers(0, 2**32)))


SMALL = ("chaplygin_sleigh", "four_bar", "unicycle", "rolling_disk")


@given(st.sampled_from(SMALL), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@pytest.mark.filterwarnings("ignore")
def test_what_is_read_is_derived_or_refused(name, seed):
    model = read(name, seed)
    if model is not None:
        try:
            derive(model)
        except ModelError as refused:
            assert str(refused)
