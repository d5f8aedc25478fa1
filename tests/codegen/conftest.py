"""Kernels of these tests are compiled at the level that users get, and kept in a directory that goes with the test run."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def cache_of_these_tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache", numbered=True)


@pytest.fixture(autouse=True)
def private_cache(cache_of_these_tests: Path, monkeypatch: pytest.MonkeyPatch, shipped_kernels: None) -> None:
    monkeypatch.setenv("DRAISINE_CACHE_DIR", str(cache_of_these_tests))
