"""The package reproduces the reference cases."""

from __future__ import annotations

import package_cases
import package_walkers
import pytest

from reference import cases

CASES = cases()
CHECKS = {**package_cases.CHECKS, **package_walkers.CHECKS}


def test_every_case_is_covered() -> None:
    assert set(CASES) == set(CHECKS)
    assert not set(package_cases.CHECKS) & set(package_walkers.CHECKS)


@pytest.mark.parametrize("id", list(CHECKS))
def test_the_package_reproduces_the_case(id: str) -> None:
    CHECKS[id](CASES[id])
