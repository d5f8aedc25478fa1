"""Two special points within one step of a branch, between which a mode grows, or decays."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

import draisine as dr

x, v, y, p = sp.symbols("x v y p")


@pytest.mark.parametrize("width", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("kind", ["branch point", "Hopf point"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_window_within_a_step(width: float, kind: str, sign: float) -> None:
    """A real part ±(p − a)(p − b), of a real mode with a cubic term or of a pair."""
    a, b = 0.1234567, 0.1234567 + width
    growth = sign * (p - a) * (p - b)
    pair = {x: growth * x - v, v: x + growth * v, y: -y}
    rates: dict[Any, Any] = pair if kind == "Hopf point" else {x: growth * x - x**3, y: -y}
    model = dr.first_order("window", rates, parameters={p: -0.3})
    found = dr.stability.continuation(model, "p", start={}, between=(-1.0, 1.0)).special
    assert [one.kind for one in found] == [kind] * 2
    assert [one.value for one in found] == pytest.approx([a, b], abs=1e-12)


def test_a_touch_is_no_window() -> None:
    growth = (p - 0.1234567) ** 2
    model = dr.first_order("touch", {x: growth * x - v, v: x + growth * v, y: -y}, parameters={p: -0.3})
    assert dr.stability.continuation(model, "p", start={}, between=(-1.0, 1.0)).special == ()
