"""Studies of feedback hold what they say."""

from __future__ import annotations

import numpy as np

import draisine as dr


def test_lqr_gust():
    study = dr.gallery.study("lqr_gust")()
    ridden, alone = study.runs["lqr_gust"], study.runs["lqr_gust_alone"]
    assert "lean passed 45°" in alone.status.message
    assert np.abs(ridden["lean"]).max() < np.radians(5) and ridden["push"].max() > 59.0
    assert ridden["rear_wheel_contact_y"].max() > 0.3  # it goes with the gust first


def test_slalom():
    study = dr.gallery.study("slalom")()
    run = study.runs["slalom"]
    crossings = np.count_nonzero(np.diff(np.sign(run["rear_wheel_contact_y"][run["rear_wheel_contact_x"] > 14])))
    assert crossings >= 5
    assert np.abs(run["lean"]).max() < np.radians(15)
