"""Figures of derivation: the benchmark bicycle from its description to a compiled right-hand side, beside SymBRiM."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.util import find_spec

from figure import Figure
from peers import symbrim_bicycle
from speed import derivation as ours_cold
from speed import median


def figures(peers: bool) -> Iterator[Figure]:
    """SymBRiM's answer is compared with the published matrices before its times count."""
    ours = median(3, ours_cold)
    if not peers or find_spec("symbrim") is None:
        yield Figure("derive and compile the bicycle (SymBRiM is not there)", ours, "s")
        return
    derived, made = symbrim_bicycle.time_derivation()
    begin = time.perf_counter()
    rhs = symbrim_bicycle.generate(made)
    generated = time.perf_counter() - begin
    symbrim_bicycle.require_correct(made, rhs)
    yield Figure("derive and compile the bicycle, beside SymBRiM and PyDy/Cython", ours, "s", None, derived + generated)
    yield Figure("the same, beside SymBRiM's derivation alone", ours, "s", None, derived)
