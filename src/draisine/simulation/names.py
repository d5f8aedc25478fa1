"""Numbers by name: the one way in which wishes, parameters and inputs are given."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draisine.program.equations import Quantity


def unknown_name(what: str, name: str, known: Iterable[str]) -> KeyError:
    """The error for a name that does not exist, with those that come close."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        hint = f"did you mean {' or '.join(repr(c) for c in close)}?"
    elif names:
        hint = f"there are {', '.join(names[:20])}{', …' if len(names) > 20 else ''}"
    else:
        hint = "there are none"
    return KeyError(f"no {what} is called {name!r}; {hint}")


def numbers(what: str, quantities: Sequence[Quantity], given: Mapping[str, float] | ArrayLike | None) -> NDArray[np.float64]:
    """One number per quantity: from a mapping by name (the others keep their defaults), an array of all, or the defaults."""
    values = np.array([q.default for q in quantities], dtype=float)
    if given is None:
        return values
    if isinstance(given, Mapping):
        place = {q.name: i for i, q in enumerate(quantities)}
        for name, value in given.items():
            if name not in place:
                raise unknown_name(what, name, place)
            values[place[name]] = float(value)
    else:
        array = np.asarray(given, dtype=float).reshape(-1)
        if array.size != values.size:
            raise ValueError(
                f"{what}s: expected {values.size} numbers ({', '.join(q.name for q in quantities)}), got {array.size}"
            )
        values = array.copy()
    for quantity, value in zip(quantities, values, strict=True):
        if not np.isfinite(value):
            raise ValueError(f"{what} {quantity.name!r} must be a finite number, got {float(value)!r}")
    return values
