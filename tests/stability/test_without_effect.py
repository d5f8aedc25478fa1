"""A quantity on which nothing depends is named: sweeps, maps and branches over it show nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import sympy as sp

import draisine as dr

x, v, k, z = sp.symbols("x v k z")
SPRING = dr.first_order("spring", {x: v, v: -k * x - v / 10}, parameters={k: 3.0, z: 1.0})
VAN_DER_POL = dr.first_order("van_der_pol", {x: v, v: k * (1 - x**2) * v - x}, parameters={k: 1.0, z: 1.0})


def followed(parameter: str) -> Any:
    cycle = dr.stability.limit_cycle(VAN_DER_POL, start={"x": 2.0}, period=6.6)
    return dr.stability.follow_cycle(cycle, parameter, 1.5)


ANALYSES: dict[str, Callable[[str], Any]] = {
    "modes": lambda name: dr.modes(SPRING, over={name: [1.0, 2.0, 3.0]}),
    "continuation": lambda name: dr.stability.continuation(SPRING, name, start={"x": 0.0}, between=(0.5, 4.0)),
    "follow_cycle": followed,
}


@pytest.mark.parametrize("analysis", ANALYSES)
def test_a_parameter_without_effect_is_named(analysis: str) -> None:
    with pytest.warns(UserWarning, match="z has no effect"):
        ANALYSES[analysis]("z")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ANALYSES[analysis]("k")


def test_a_map_over_a_parameter_without_effect() -> None:
    with pytest.warns(UserWarning, match="z has no effect"):
        dr.stability.stability_map(SPRING, {"z": (1, 2, 3), "k": (-1, 1, 3)})
