"""Shapes that follow parameters: bent by slopes they are nearly what they would be if they were made anew."""

from __future__ import annotations

import base64
from dataclasses import replace

import numpy as np
import pytest

import draisine as dr
from draisine.studio.bundle import bundle


def decoded(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype="<f4").reshape(-1, 3).astype(float)


def jacobian(manifest: dict, parameter: str) -> dict[int, np.ndarray]:
    (found,) = (m for m in manifest["morphs"] if m["parameter"] == parameter)
    return {entry["mesh"]: decoded(entry["slope"]) for entry in found["meshes"]}


@pytest.mark.parametrize(
    ("name", "parameter", "off", "bodies"),
    [
        ("bicycle", "wheelbase", 0.2, {"frame"}),
        ("bicycle", "r_front_wheel", -0.08, {"frame", "fork", "front_wheel"}),
        ("rolling_disk", "radius", 0.1, {"disk"}),
    ],
)
def test_bent_shapes_are_those_of_the_changed_model(made, name, parameter, off, bodies):
    given = (made if name == "bicycle" else bundle(name)).manifest
    model = dr.gallery.model(name).freeze()
    (value,) = (p.default for p in model.parameters if p.name == parameter)
    changed = [p._replace(default=p.default + off) if p.name == parameter else p for p in model.parameters]
    anew = bundle(replace(model, parameters=tuple(changed))).manifest
    assert anew["parameters"][[p.name for p in model.parameters].index(parameter)]["default"] == pytest.approx(value + off)
    bent = jacobian(given, parameter)
    moved = set()
    for k, (before, after) in enumerate(zip(given["solids"]["meshes"], anew["solids"]["meshes"], strict=True)):
        was, wanted = decoded(before["vertices"]), decoded(after["vertices"])
        shape = was + off * bent.get(k, 0.0)
        assert np.abs(shape - wanted).max() < 0.05 * abs(off) + 1e-3, before["color"]
        if np.abs(was - wanted).max() > 0.1 * abs(off):
            moved.add(given["solids"]["bodies"][before["body"]])
    assert moved == bodies


def test_masses_bend_nothing():
    reported = [m["parameter"] for m in bundle("rolling_disk").manifest["morphs"]]
    assert reported == ["radius"]
