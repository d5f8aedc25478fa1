"""Two special points within one step of a branch, between which a mode grows, or decays."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

import draisine as dr
from draisine.stability.continuation.special_points import _Search

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


def test_modes_that_are_neutral_along_the_branch_are_searched_for_no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heading and position of a bicycle that leans against a push have eigenvalues of 1e-14, whose signs are rounding errors."""
    halved: list[Any] = []
    middle = _Search._middle
    monkeypatch.setattr(_Search, "_middle", lambda *step: (halved.append(step), middle(*step))[1])
    held: dict[str, Any] = {"fixed": {"speed": 5.0, "heading": 0.0}, "free": ("steer_torque", "pedal_torque")}
    branch = dr.stability.continuation(dr.gallery.bicycle(), "push", between=(-5.0, 5.0), start={"speed": 5.0}, **held)
    assert len(branch) > 5 and branch.neutral == 2 and branch.special == () and halved == []
