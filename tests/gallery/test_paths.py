"""Studies of prescribed paths hold what they say."""

from __future__ import annotations

import pytest

import draisine as dr


def test_shuttle_returns():
    study = dr.gallery.study("shuttle_returns")()
    assert abs(study.runs["shuttle"]["path_residual"]).max() < 1e-11
    assert "angle of attack 2.67287°, bank -0.0522096°" in study.findings[0]


@pytest.mark.further
def test_bicycle_changes_lane():
    study = dr.gallery.study("bicycle_changes_lane")()
    assert "bounded" in study.runs["bicycle_on_path"].status.message
