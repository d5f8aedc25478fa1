"""What the words of a call mean: models, NAME=VALUE pairs, wishes, numbers with units, sweeps."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from draisine.errors import ArgumentError

if TYPE_CHECKING:
    from draisine.model.model import Model
    from draisine.program.equations import Equations

TARGETS = "further --NAME VALUE are wishes for the motion, as in simulate"


def model_of(name: str) -> Model | Equations:
    """A gallery model by name, or a model file or bicycle's parameter file by path."""
    if name.endswith(".txt"):
        from draisine.bicycle.measured import read_bicycle

        return read_bicycle(name).model()
    if name.endswith(".toml") or "/" in name:
        from draisine.model.files import read_model

        return read_model(name)
    from draisine import gallery

    return gallery.model(name)


def motion_of(given: argparse.Namespace, extra: list[str]) -> tuple[Model | Equations, dict[str, float], dict[str, float]]:
    """Model, wishes and parameters of a call about motions. What --set names is a parameter, or a wish like those of --at."""
    from draisine.program.equations import Equations

    model = model_of(given.model)
    targets = {**targets_of(extra), **numbers_of(given.at, "--at")}
    parameters: dict[str, float] = {}
    own = {p.name for p in (model if isinstance(model, Equations) else model.freeze()).parameters}
    for name, value in numbers_of(given.set, "--set").items():
        (parameters if name in own else targets)[name] = value
    return model, targets, parameters


def targets_of(extra: list[str]) -> dict[str, float]:
    """`--roll-rate 0.5` or `--roll-rate=0.5` as a wish.

    >>> targets_of(["--roll-rate", "0.5", "--speed=4.6"])
    {'roll_rate': 0.5, 'speed': 4.6}
    """
    targets: dict[str, float] = {}
    waiting = list(extra)
    while waiting:
        word = waiting.pop(0)
        if not word.startswith("--") or len(word) < 3:
            raise ArgumentError(f"unexpected {word!r}; wishes for the start are written --name value")
        name, sign, value = word[2:].partition("=")
        if not sign:
            if not waiting:
                raise ArgumentError(f"--{name} needs a number, e.g. --{name} 1.0")
            value = waiting.pop(0)
        targets[name.replace("-", "_")] = _number(value, f"--{name}")
    return targets


def pairs_of(texts: list[str], option: str) -> list[tuple[str, str]]:
    """NAME=VALUE as names and texts."""
    pairs = []
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name or not value:
            raise ArgumentError(f"{option} {text!r}: write NAME=VALUE")
        pairs.append((name.strip().replace("-", "_"), value.strip()))
    return pairs


def numbers_of(texts: list[str], option: str) -> dict[str, float]:
    """NAME=VALUE as numbers by name.

    >>> numbers_of(["trail=8 cm", "m_frame=60"], "--set")
    {'trail': 0.08, 'm_frame': 60.0}
    """
    return {name: _number(value, f"{option} {name}") for name, value in pairs_of(texts, option)}


def laws_of(texts: list[str], option: str) -> dict[str, float | str]:
    """NAME=LAW as numbers where they are numbers, as texts otherwise."""
    return {name: _number_or_text(value) for name, value in pairs_of(texts, option)}


def names_of(text: str) -> tuple[str, ...]:
    """Names with commas between."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def sweep_of(text: str) -> tuple[str, Any]:
    """`speed=0:10:200` as a name and its values."""
    import numpy as np

    name, sign, numbers = text.partition("=")
    parts = numbers.split(":")
    try:
        first, last = float(parts[0]), float(parts[1])
        count = int(parts[2]) if len(parts) > 2 else 101
    except (ValueError, IndexError):
        count = 0
    if not sign or len(parts) > 3 or count < 2:
        raise ArgumentError(f"--over {text!r}: write NAME=FROM:TO:COUNT, e.g. speed=0:10:200")
    return name.strip().replace("-", "_"), np.linspace(first, last, count)


def _number(text: str, option: str) -> float:
    """A number, or a number with a unit or an expression of numbers ("18 deg", "pi/10")."""
    try:
        return float(text)
    except ValueError:
        from draisine.expr.expression import evaluate_number, parse
        from draisine.expr.units import Measured

        with_unit = Measured.read(text)
        try:
            return with_unit if with_unit is not None else evaluate_number(parse(text))
        except ValueError as problem:
            raise ArgumentError(f"{option} {text!r}: {problem}; write a number, or one with a unit such as '5 deg'") from None


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
