"""The package reproduces the reference cases; what it cannot describe yet is listed with its reason."""

from __future__ import annotations

import package_cases
import pytest

from reference import cases

CASES = cases()

NOT_DESCRIBED = {
    "C06a": "a linear equation with a given ratio of rates, not rigid contact; the rigid block is C06b",
    "C08a": "all mass in the hub: the mass matrix of the wheel is singular; C08b has inertia",
    "C08d": "feet without mass: the mass matrix is singular; feet with mass are C08h",
    "C08e": "feet without mass, and unstable",
    "C08h": "the swing foot passes below the ground in the middle of a step; contacts cannot be left out there",
    "C08j": "the swing foot passes below the ground in the middle of a step; contacts cannot be left out there",
    "C10a": "no tangential restitution yet",
    "C10b": "no tangential restitution yet",
    "C10c": "no tangential restitution yet",
    "C10d": "no tangential restitution yet",
}


def test_every_case_is_covered_or_listed() -> None:
    assert set(CASES) == set(package_cases.CHECKS) | set(NOT_DESCRIBED)
    assert not set(package_cases.CHECKS) & set(NOT_DESCRIBED)


@pytest.mark.parametrize("id", list(package_cases.CHECKS))
def test_the_package_reproduces_the_case(id: str) -> None:
    package_cases.CHECKS[id](CASES[id])
