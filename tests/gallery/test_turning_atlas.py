"""The study of turns holds what it asserts, on a coarse grid."""

from __future__ import annotations

from draisine import gallery


def test_turning_atlas():
    study = gallery.study("turning_atlas")(points=16)
    assert set(study.figures) == {"atlas", "hands_free_families"}
    assert study.runs == {}
    assert study.findings[0].startswith("hands-free turns leave straight running at 6.024262015 m/s, lean at most 24.0")
    assert "7.899123025" in study.findings[1]
