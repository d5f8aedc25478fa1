"""A recipe is followed only where its machine code is not at hand, and must keep its promise."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import pytest

from draisine.codegen.jit.kernel import compile
from draisine.program.program import LazyProgram, Program, Slot


def squares(made: list[str]) -> Program:
    made.append("made")
    x = ca.SX.sym("x", 2)
    return Program.build("squares", {"x": x}, {"y": x**2})


def test_it_is_followed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAISINE_CACHE_DIR", str(tmp_path / "cache"))
    made: list[str] = []
    recipe = LazyProgram("squares", (Slot("x", (2, 1)),), (Slot("y", (2, 1)),), "squares of two numbers", lambda: squares(made))
    for _ in range(2):
        assert compile(recipe)([2.0, 3.0])[0].tolist() == [4.0, 9.0]
    assert made == ["made"]


def test_other_slots_than_promised_are_refused() -> None:
    recipe = LazyProgram("squares", (Slot("x", (2, 1)),), (Slot("y", (3, 1)),), "", lambda: squares([]))
    with pytest.raises(ValueError, match="'squares': the program built has other slots than declared"):
        recipe.build()
