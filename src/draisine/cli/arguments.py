"""Values of arguments: models, NAME=VALUE pairs, initial conditions, numbers with units."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

import draisine
from draisine import gallery
from draisine.errors import ArgumentError
from draisine.expr.expression import evaluate_number, parse
from draisine.expr.units import Measured
from draisine.model.model import Model
from draisine.program.equations import Equations

T = TypeVar("T")


def model_of(name: str) -> Model | Equations:
    """A gallery model by name, or a model from a model file or a bicycle parameter file."""
    if name.endswith(".txt"):
        # loads CasADi, which other models do not need when their equations are cached
        from draisine.bicycle.measured import read_bicycle

        return read_bicycle(name).model()
    # the reader of files is loaded when it is used, as all names of the package are
    return draisine.read_model(name) if name.endswith(".toml") or "/" in name else gallery.model(name)


def motion_of(given: argparse.Namespace, rest: list[str]) -> tuple[Model | Equations, dict[str, float], dict[str, float]]:
    """Model, targets and parameters of a command about motions. --set sets a parameter, or a target like those of --at."""
    model = model_of(given.model)
    own = {p.name for p in (model if isinstance(model, Equations) else model.freeze()).parameters}
    known = numbers_of(given.set, "--set")
    parameters = {name: value for name, value in known.items() if name in own}
    others = {name: value for name, value in known.items() if name not in own}
    return model, given_once(motion_targets(given, rest), others, "--set"), parameters


def motion_targets(given: argparse.Namespace, rest: list[str]) -> dict[str, float]:
    """What fixes a motion: `--speed 5`, or `--at speed=5`."""
    return given_once(targets_of(rest, vars(given)), numbers_of(given.at, "--at"), "--at")


def given_once(targets: Mapping[str, float], others: Mapping[str, float], option: str) -> dict[str, float]:
    """Targets and those of an option, which may not be the same.

    >>> given_once({"speed": 5.0}, {"lean": 0.1}, "--at")
    {'speed': 5.0, 'lean': 0.1}
    """
    for name in sorted(targets.keys() & others.keys()):
        raise ArgumentError(f"{name} is given twice, also by {option} {name}; give it once")
    return {**targets, **others}


def targets_of(rest: list[str], options: Collection[str] = ()) -> dict[str, float]:
    """Initial conditions, `--roll-rate 0.5` or `--roll-rate=0.5`, by name; `options` of the command may have been meant.

    >>> targets_of(["--roll-rate", "0.5", "--speed=4.6"])
    {'roll_rate': 0.5, 'speed': 4.6}
    """
    targets: dict[str, float] = {}
    waiting = list(rest)
    while waiting:
        word = waiting.pop(0)
        if not word.startswith("--") or len(word) < 3:
            raise ArgumentError(f"unexpected {word!r}; write initial conditions as --name value")
        name, sign, value = word[2:].partition("=")
        if not sign:
            if not waiting:
                from difflib import get_close_matches  # only for the message

                meant = get_close_matches(name, [option.replace("_", "-") for option in options], n=1)
                raise ArgumentError(
                    f"--{name} needs a number, e.g. --{name} 1.0" + (f"; did you mean --{meant[0]}?" if meant else "")
                )
            value = waiting.pop(0)
        if identifier(name) in targets:
            raise ArgumentError(f"--{name} is given twice; give it once")
        targets[identifier(name)] = number_of(value, f"--{name}")
    return targets


def identifier(text: str) -> str:
    """A name as models spell it: `roll-rate` is `roll_rate`."""
    return text.strip().replace("-", "_")


def pairs_of(texts: list[str], option: str) -> list[tuple[str, str]]:
    """NAME=VALUE as names and texts."""
    pairs = []
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name or not value:
            raise ArgumentError(f"{option} {text!r}: write NAME=VALUE")
        pairs.append((identifier(name), value.strip()))
    return list(named_once(pairs, option).items())


def named_once(pairs: Iterable[tuple[str, T]], option: str) -> dict[str, T]:
    """Values by name; a name given twice is refused.

    >>> named_once([("speed", 1), ("lean", 2)], "--set")
    {'speed': 1, 'lean': 2}
    """
    found: dict[str, T] = {}
    for name, value in pairs:
        if name in found:
            raise ArgumentError(f"{option} {name} is given twice; give it once")
        found[name] = value
    return found


def numbers_of(texts: list[str], option: str) -> dict[str, float]:
    """NAME=VALUE as numbers by name.

    >>> numbers_of(["trail=8 cm", "m_frame=60"], "--set")
    {'trail': 0.08, 'm_frame': 60.0}
    """
    return {name: number_of(value, f"{option} {name}") for name, value in pairs_of(texts, option)}


def laws_of(texts: list[str], option: str) -> dict[str, float | str]:
    """NAME=LAW as numbers where possible, otherwise as texts."""
    return {name: number_or_text(value) for name, value in pairs_of(texts, option)}


def names_of(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def number_or_text(text: str) -> float | str:
    """A number where the text is one."""
    try:
        return float(text)
    except ValueError:
        return text


def number_of(text: str, option: str) -> float:
    """A number, or a number with a unit or an expression of numbers ("18 deg", "pi/10")."""
    try:
        return float(text)
    except ValueError:
        with_unit = Measured.read(text)
        try:
            return with_unit if with_unit is not None else evaluate_number(parse(text))
        except ValueError as problem:
            raise ArgumentError(f"{option} {text!r}: {problem}; write a number, or one with a unit such as '5 deg'") from None
