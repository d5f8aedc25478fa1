"""Arguments that many functions share: a name has the same meaning, and takes the same types, in all of them (`checked`).

Targets, parameters and inputs by name become numbers in their units (`numbers`).

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Number
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, UnitError, UnknownNameError
from draisine.expr.expression import did_you_mean
from draisine.expr.tree import short
from draisine.expr.units import Measured, quantity_in
from draisine.numerics.number_range import refuse_huge_integers, refuse_masked
from draisine.program.equations import DependentQuantity, Equations, Event, Quantity

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
_FORM = 8  # arguments in the form of a call that an error message shows
_PLAIN = (str, bytes, Number, list, tuple, set, frozenset, np.ndarray, bool)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose arguments with the shared names are checked before it is called."""
    signature = inspect.signature(function)
    relevant = {name: _CHECKS[name] for name in signature.parameters if name in _CHECKS}

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as problem:
            raise wrong_call(function.__name__, signature, kwargs, problem) from None
        for name, given in bound.arguments.items():
            refuse_huge_integers(f"{function.__name__}: {name}", given)
            if name != "data":  # there, masked samples are missing ones
                refuse_masked(f"{function.__name__}: {name}", given)
        for name, check in relevant.items():
            if name in bound.arguments:
                bound.arguments[name] = check(function.__name__, name, bound.arguments[name])
        return function(*bound.args, **bound.kwargs)

    return call


def wrong_call(function: str, signature: inspect.Signature, keywords: Iterable[str], problem: TypeError) -> ArgumentError:
    """The error for a call with a missing, unknown or doubled argument: the name that was meant, or the form of the call."""
    parameters = [p for p in signature.parameters.values() if p.name != "self"]
    known = [p.name for p in parameters]
    for keyword in keywords:
        if keyword not in known:
            return ArgumentError(f"{function}: there is no argument {keyword!r}{did_you_mean(keyword, known)}")
    keyword_only = next((i for i, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY), None)
    if keyword_only is not None:
        known.insert(keyword_only, "*")
    form = ", ".join(known if len(known) <= _FORM else [*known[:_FORM], "…"])
    return ArgumentError(f"{function}: {problem}; it is called as {function}({form})")


def checked_argument(function: str, name: str, given: Any) -> Any:
    """One argument, checked as by `checked`; for functions that accept further types."""
    refuse_huge_integers(f"{function}: {name}", given)
    return _CHECKS[name](function, name, given)


def _is_own(given: Any) -> bool:
    """Whether an object is of a type of this package: a model, a motion, a result."""
    return any(base.__module__.startswith("draisine") for base in type(given).__mro__)


def _model(function: str, name: str, given: Any) -> Any:
    if not _is_own(given) or hasattr(given, "findings"):  # a study is no model
        cure = "take one from the gallery, gallery.model('bicycle'), or from a file, read_model('cart.toml')"
        raise ArgumentError(f"{function}: expected a model, got {short(repr(given))}; {cure}")
    if function not in ACROSS_MODES:
        refuse_unilateral(function, given)
    return given


# Functions that follow contacts through their modes. All others have one set of equations, in which every contact is closed and
# sticks: their results would be wrong wherever one slips or opens.
ACROSS_MODES = frozenset(
    {
        *("simulate", "compute", "consistent_start", "ensemble", "derive", "draw"),
        *("limit_cycle", "follow_cycle", "state_transition", "estimate", "filter"),
        "certify",  # in given modes; refuses others by itself
    }
)


_MODES = ("stick", "open")


def refuse_unilateral(function: str, model: Any, besides: str = "") -> None:
    """Refuse a model with contacts that slip and open, for functions of one set of equations; `besides` is a further cure."""
    contacts = getattr(model, "unilateral", ())
    stops = [contact.name for contact in contacts if hasattr(contact, "bound")]
    others = [contact.name for contact in contacts if contact.name not in stops]
    if not contacts:
        return
    left_out = {*stops, *(contact.name for contact in contacts if hasattr(contact, "of"))}  # resistances cannot stick alone
    fixed = ", ".join(f"{contact.name!r}: {_MODES[contact.name in left_out]!r}" for contact in contacts)
    has = [f"{_counted('contact', others)} with friction=, which may stick, slip and open"] if others else []
    has += [f"{_counted('stop', stops)}, which may open and close"] if stops else []
    cures = [f"Fix the modes, model.in_modes({{{fixed}}})"]
    cures += ["leave out friction= for contacts that are ideal and permanent"] if others else []
    cures += [f"leave out {'limits=' if len(stops) > 1 else 'the stop'}"] if stops else []
    raise ArgumentError(
        f"{function}: model {model.name!r} has {' and '.join(has)}; {function} takes one set of equations. "
        f"{', '.join(cures)}, or simulate{besides}"
    )


def _counted(noun: str, names: Sequence[str]) -> str:
    return f"{noun}{'' if len(names) == 1 else 's'} {', '.join(names)}"


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


def unknown_name(what: str, name: str, known: Iterable[str], left_out: Iterable[tuple[str, str, str]] = ()) -> UnknownNameError:
    """The error for an unknown name, with similar names; `left_out` are parameters that are zero in a part: name, unit, part."""
    for absent, unit, part in left_out:
        if absent == name:
            zero = f"0 {unit}".strip()
            return UnknownNameError(
                f"no {what} is called {name!r}: in part {part!r} it is zero and left out; give the part a value for it, or the "
                f"text {zero!r}, which keeps it as a parameter"
            )
    names = list(dict.fromkeys(known))
    import difflib  # only for the message

    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    if close:
        hint = f"did you mean {' or '.join(repr(c) for c in close)}?"
    elif names:
        hint = f"there are {', '.join(names[:20])}{', …' if len(names) > 20 else ''}"
    else:
        hint = "there are none"
    return UnknownNameError(f"no {what} is called {name!r}; {hint}")


def number_in(value: object, unit: str | None = None, where: str = "") -> float | None:
    """A value as a number in the expected unit, or None if it is not a number.

    A text with a unit, such as "8 cm", is converted and must have the dimension of the expected unit, where that is known.
    Expected units are SI, except those of outputs whose expressions are in other units.

    >>> number_in("8 cm", "m", "trail"), number_in(0.08, "m", "trail"), number_in("long", "m", "trail")
    (0.08, 0.08, None)
    """
    if isinstance(value, str):
        found = Measured.read(value)
        value = value if found is None else found
    if isinstance(value, Measured) and unit is not None:
        return value.checked(unit, where)
    refuse_huge_integers(where or "a number", value)
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def refuse_dependent(name: str, dependent: Sequence[DependentQuantity], where: str = "") -> None:
    """Refuse to set, vary or estimate a parameter that follows from others."""
    formula = next((item.expression for item in dependent if item.name == name), None)
    if formula is not None:
        raise ArgumentError(
            f"{where}parameter {name!r} follows from others, {name} = {formula}; give values of these, or define it in the "
            f"model by a number, parameter({name!r}, …)"
        )


def numbers(
    what: str,
    quantities: Sequence[Quantity],
    given: Mapping[str, float | str] | ArrayLike | None,
    dependent: Sequence[DependentQuantity] = (),
    left_out: Sequence[tuple[str, str, str]] = (),
) -> NDArray[np.float64]:
    """One number per quantity: from a mapping by name (others have their defaults), an array of all, or the defaults.

    `dependent` are quantities that follow from these and cannot be given; `left_out` are those of `Equations`.
    """
    values = np.array([q.default for q in quantities], dtype=float)
    if given is None:
        return values
    if isinstance(given, Mapping):
        index = {q.name: i for i, q in enumerate(quantities)}
        for name, value in given.items():
            if name not in index:
                refuse_dependent(name, dependent)
                raise unknown_name(what, name, index, left_out)
            number = number_in(value, quantities[index[name]].unit, f"{what} {name!r}")
            if number is None:
                raise ArgumentError(f"{what} {name!r} must be {_expected(quantities[index[name]])}, got {value!r}")
            values[index[name]] = number
    else:
        try:
            array = np.asarray(given, dtype=float).reshape(-1)
        except (TypeError, ValueError):
            raise ArgumentError(f"{what}s must be values by name, such as {{'name': 1.0}}, got {given!r}") from None
        if array.size != values.size:
            raise ArgumentError(
                f"{what}s: expected {values.size} numbers ({', '.join(q.name for q in quantities)}), got {array.size}"
            )
        values = array.copy()
    for quantity, value in zip(quantities, values, strict=True):
        if not np.isfinite(value):
            raise ArgumentError(f"{what} {quantity.name!r} must be a finite number, got {float(value)!r}")
    return values


def parameter_values(equations: Equations, given: Mapping[str, float | str] | ArrayLike | None = None) -> NDArray[np.float64]:
    """All of p: the parameters, by name or as an array, then the modes of unilateral contacts, which names do not reach."""
    if equations.mode_parameters and not isinstance(given, Mapping) and np.size(given) == len(equations.arguments):  # type: ignore[arg-type]
        return numbers("parameter", equations.arguments, given)
    values = numbers("parameter", equations.parameters, given, equations.dependent_parameters, equations.left_out)
    return np.concatenate([values, [q.default for q in equations.mode_parameters]]) if equations.mode_parameters else values


def _expected(quantity: Quantity) -> str:
    return f"a number in {quantity.unit}" if quantity.unit else "a number"
