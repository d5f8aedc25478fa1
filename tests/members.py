"""Random members of a class of problems: a few in `make test`, all of them in `make test LONG=1`.

Further members compile at LLVM's lowest level, as all quick tests do: what they try is the class, not the code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

further = pytest.mark.long(kernels="quick")


def members(seeds: Iterable[Any], quick: int = 2) -> list[Any]:
    """Parameters of a test: the first `quick` seeds always, the others when long tests run, too."""
    return [seed if k < quick else pytest.param(seed, marks=further) for k, seed in enumerate(seeds)]
