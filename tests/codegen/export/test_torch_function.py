"""The lines for PyTorch on the page on other libraries: run as they stand, and judged by `torch.autograd.gradcheck`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import draisine as dr

torch = pytest.importorskip("torch", reason="PyTorch is an optional judge: pip install torch")
PAGE = Path(__file__).parents[3] / "docs" / "interop.md"


def run_page() -> dict[str, Any]:
    """The names that the block of the page leaves, with those that it takes from the block on JAX."""
    bike = dr.derive(dr.gallery.bicycle(), work=False)
    found = re.search(r"```python notest\n(import torch.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {"dr": dr, "bike": bike, "x": dr.consistent_start(bike, {"speed": 4.6, "roll_rate": 0.1}).x}
    exec(found[1], names)
    return names


def test_the_gradient_of_the_page_is_that_of_central_differences():
    names = run_page()
    given, x, p = names["u"].grad.numpy(), names["x"][None], names["bike"].default_parameters[None]
    way = np.random.default_rng(0).normal(size=given.shape)
    ahead, behind = (float((names["run"].value(x, sign * 1e-4 * way, p)[:, -1] ** 2).sum()) for sign in (1, -1))
    assert np.sum(given * way) == pytest.approx((ahead - behind) / 2e-4, rel=1e-6)


def test_gradcheck():
    """By start, inputs and parameters, in a batch of two."""
    names = run_page()
    names["run"] = dr.codegen.as_maps(names["bike"], step=0.01).run(4)
    random = np.random.default_rng(1)
    x, p = (np.repeat(given[None], 2, axis=0) for given in (names["x"], names["bike"].default_parameters))
    arguments = [torch.from_numpy(given).requires_grad_() for given in (x, random.normal(size=(2, 4, 3)), p)]
    assert torch.autograd.gradcheck(names["Run"].apply, arguments, atol=1e-6, rtol=1e-5)
