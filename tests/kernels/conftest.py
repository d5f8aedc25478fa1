"""Kernels of the tests are kept in a directory of their own, which goes with the test run."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def private_cache(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRAISINE_CACHE_DIR", str(tmp_path_factory.mktemp("cache", numbered=True)))
        yield
