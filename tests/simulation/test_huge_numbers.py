"""Numbers that no computer holds are refused by name."""

from __future__ import annotations

import pytest

import draisine as dr
from draisine.errors import ArgumentError


@pytest.mark.parametrize(
    ("until", "given", "complaint"),
    [
        (10**400, {}, "simulate: until: an integer of 1329 bits is too large"),
        (-(10**400), {}, "simulate: until: an integer of 1329 bits is too large"),
        (1.0, {"start": {"speed": 10**400}}, "simulate: start of 'speed': an integer of 1329 bits is too large"),
        (1.0, {"parameters": {"gravity": 10**400}}, "simulate: parameters of 'gravity': an integer of 1329 bits"),
        (1.0, {"samples": 10**12}, "samples: at most 100,000,000 fit into memory"),
        (1.0, {"samples": 10**400}, "simulate: samples: an integer of 1329 bits is too large"),
    ],
)
def test_each_is_refused(until, given, complaint):
    with pytest.raises(ArgumentError, match=complaint):
        dr.simulate(dr.gallery.rolling_disk(), until, **given)
