"""The study of state estimation holds what it says."""

from __future__ import annotations

import numpy as np

import draisine as dr


def test_lean_is_known_from_a_gyroscope():
    study = dr.gallery.study("state_estimation")(until=2.0)
    run = study.runs["state_estimation"]
    assert np.abs(run.residuals).max() < 1e-9
    assert {"lean_and_steer", "errors"} == set(study.figures)
    assert any(finding.startswith("extended and unscented") for finding in study.findings)
