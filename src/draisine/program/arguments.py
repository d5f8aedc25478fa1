"""Checks of arguments that many functions share: a name has the same meaning, and takes the same types, in all of them.

    >>> @checked
    ... def moved(start=None, *, free=()):
    ...     return free
    >>> moved({"lean": 0.1}, free="steer_torque")
    ('steer_torque',)
    >>> moved([1, 2])
    Traceback (most recent call last):
        ...
    draisine.errors.ArgumentError: moved: start must be values by name, such as {'lean': 0.1}, got [1, 2]

One name is accepted as a list of one. Of mappings and models only what is certainly none is refused, since functions accept
further types of their own, such as a motion for `near`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from numbers import Number
from typing import Any, ParamSpec, TypeVar

import numpy as np

from draisine.errors import ArgumentError, UnitError
from draisine.expr.tree import short
from draisine.expr.units import quantity_in
from draisine.program.equations import Event

P = ParamSpec("P")
R = TypeVar("R")

_EXAMPLES = {
    "parameters": "{'wheelbase': 1.02}",
    "inputs": "{'steer_torque': 0.5}",
    "laws": "{'steer_torque': '-2*lean'}",
    "weights": "{'lean': 1.0}",
    "input_weights": "{'steer_torque': 0.1}",
    "limits": "{'steer_torque': 5.0}",
    "bounds": "{'lean': (-1, 1)}",
    "priors": "{'wheelbase': (1.0, 0.1)}",
}
_MAPPINGS = ("start", "at", "fixed", "near", "guess", *_EXAMPLES)
_NAMES = ("free", "states", "outputs", "controls", "sensitivity")
_NAMES_OR_MAPPING = ("unknown", "measured")
_PLAIN = (str, bytes, Number, list, tuple, set, frozenset, np.ndarray, bool)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose arguments with the shared names are checked before it is called."""
    signature = inspect.signature(function)
    relevant = {name: _CHECKS[name] for name in signature.parameters if name in _CHECKS}

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # a missing or unknown argument, reported by Python
        for name, check in relevant.items():
            if name in bound.arguments:
                bound.arguments[name] = check(function.__name__, name, bound.arguments[name])
        return function(*bound.args, **bound.kwargs)

    return call


def checked_argument(function: str, name: str, given: Any) -> Any:
    """One argument, checked as by `checked`; for functions that accept further types."""
    return _CHECKS[name](function, name, given)


def _is_own(given: Any) -> bool:
    """Whether an object is of a type of this package: a model, a motion, a result."""
    return any(base.__module__.startswith("draisine") for base in type(given).__mro__)


def _model(function: str, name: str, given: Any) -> Any:
    if not _is_own(given):
        cure = "take one from the gallery, gallery.model('bicycle'), or from a file, read_model('cart.toml')"
        raise ArgumentError(f"{function}: expected a model, got {short(repr(given))}; {cure}")
    return given


def _mapping(function: str, name: str, given: Any) -> Any:
    example = _EXAMPLES.get(name, "{'lean': 0.1}")
    if given is None or _is_own(given) or (name == "start" and _are_mappings(given)):
        return given
    if isinstance(given, _PLAIN) or callable(given) or not hasattr(given, "items"):
        raise ArgumentError(f"{function}: {name} must be values by name, such as {example}, got {short(repr(given))}")
    if isinstance(given, Mapping):
        for key in given:
            if not isinstance(key, str):
                raise ArgumentError(f"{function}: {name} must be values by name, such as {example}; the name {key!r} is no text")
    return given


def _are_mappings(given: Any) -> bool:
    """Whether these are starts of several experiments."""
    return isinstance(given, list | tuple) and len(given) > 0 and all(isinstance(item, Mapping) for item in given)


def _seconds(function: str, name: str, given: Any) -> Any:
    found = given
    if isinstance(given, str):
        try:
            found = quantity_in(given, "s", f"{function}: {name}")
        except UnitError as problem:
            raise ArgumentError(str(problem)) from None
    if isinstance(found, bool) or not isinstance(found, int | float | np.number):
        raise ArgumentError(f"{function}: {name} must be a number of seconds, or a text such as '2 s', got {short(repr(given))}")
    return found


def names_of(function: str, name: str, given: Any) -> Any:
    """A tuple of names, from one or several."""
    if isinstance(given, str):
        return (given,)
    if given is None:
        return ()
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise ArgumentError(f"{function}: {name} must be a list of names, such as ['lean', 'steer'], got {short(repr(given))}")
    found = tuple(given)
    for item in found:
        if not isinstance(item, str):
            raise ArgumentError(f"{function}: {name} must be a list of names, such as ['lean', 'steer']; {item!r} is no name")
    return found


def _names_or_mapping(function: str, name: str, given: Any) -> Any:
    if isinstance(given, Mapping):
        return _mapping(function, name, given)
    found = names_of(function, name, given)
    if not found:
        raise ArgumentError(f"{function}: {name} must be names of quantities, such as ['lean'], got {short(repr(given))}")
    return found


def _events(function: str, name: str, given: Any) -> tuple[Event, ...]:
    example = "[Event('low', 'speed - 1')]"
    if given is None or isinstance(given, Event):
        return () if given is None else (given,)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ArgumentError(f"{function}: {name} must be a list of events, such as {example}, got {short(repr(given))}")
    found = tuple(given)
    for event in found:
        if not isinstance(event, Event):
            raise ArgumentError(f"{function}: {name} must be a list of events, such as {example}; {short(repr(event))} is none")
    return found


_CHECKS: dict[str, Callable[[str, str, Any], Any]] = {
    "model": _model,
    **dict.fromkeys(_MAPPINGS, _mapping),
    **dict.fromkeys(_NAMES, names_of),
    **dict.fromkeys(_NAMES_OR_MAPPING, _names_or_mapping),
    "events": _events,
    "until": _seconds,
    "time": _seconds,
}
