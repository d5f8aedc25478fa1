"""Kernels are compiled at LLVM's lowest level, but in tests marked long, which run more than they compile."""

from __future__ import annotations

import os

import pytest

from draisine.codegen.jit.engine import KERNEL_LEVEL, kernel_level


@pytest.fixture(scope="module")
def level_of_fixtures() -> int:
    return kernel_level()


@pytest.mark.long
def test_long_ones_compile_as_users_do(level_of_fixtures: int) -> None:
    assert kernel_level() >= KERNEL_LEVEL and level_of_fixtures == kernel_level()


def test_others_do_not() -> None:
    assert kernel_level() == int(os.environ["DRAISINE_KERNEL_LEVEL"])
    assert kernel_level() == 0 or "CI" not in os.environ
