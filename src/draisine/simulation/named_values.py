"""Values by name: targets, parameters and inputs as numbers in their units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.errors import ArgumentError, UnknownNameError
from draisine.expr.units import Measured
from draisine.program.equations import DependentQuantity, Quantity


def unknown_name(what: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """The error for an unknown name, with similar names."""
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
) -> NDArray[np.float64]:
    """One number per quantity: from a mapping by name (others have their defaults), an array of all, or the defaults.

    `dependent` are quantities that follow from these and cannot be given.
    """
    values = np.array([q.default for q in quantities], dtype=float)
    if given is None:
        return values
    if isinstance(given, Mapping):
        index = {q.name: i for i, q in enumerate(quantities)}
        for name, value in given.items():
            if name not in index:
                refuse_dependent(name, dependent)
                raise unknown_name(what, name, index)
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


def _expected(quantity: Quantity) -> str:
    return f"a number in {quantity.unit}" if quantity.unit else "a number"
