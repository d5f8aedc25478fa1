"""Eigenvalues, published ones among them, and critical speeds from the exported linear model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from draisine.studio.bundle import bundle
from studio_node import run_node

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "meijaard2007.json").read_text(encoding="utf-8"))


def spectra(matrices, page, folder):
    return run_node(
        """
        load(given.page);
        return given.matrices.map((rows) => {
          const n = rows.length;
          const solver = new Draisine.Eigenvalues(n);
          const good = solver.of(Float64Array.from({ length: n * n }, (_, k) => rows[k % n][Math.floor(k / n)]));
          return [good, numbers(solver.re), numbers(solver.im)];
        });
        """,
        {"page": str(page), "matrices": [m.tolist() for m in matrices]},
        folder,
    )


def paired(found, expected):
    """The largest distance when each eigenvalue is given to the nearest that is left."""
    left, worst = list(expected), 0.0
    for value in found:
        near = min(left, key=lambda other: abs(other - value))
        worst = max(worst, abs(near - value))
        left.remove(near)
    return worst


def test_eigenvalues_of_random_matrices(page, tmp_path):
    rng = np.random.default_rng(3)
    matrices = [rng.normal(size=(n, n)) * 10 ** rng.uniform(-3, 3) for n in (1, 2, 3, 4, 4, 4, 5, 6, 8, 12) for _ in range(6)]
    scaled = np.diag([1e-4, 1.0, 1e3, 1e6])
    matrices += [scaled @ rng.normal(size=(4, 4)) @ np.linalg.inv(scaled) for _ in range(4)]  # badly balanced
    matrices += [np.triu(rng.normal(size=(5, 5))), np.zeros((3, 3)), np.eye(4), np.roll(np.eye(4), 1, axis=0)]
    matrices += [m + m.T for m in (rng.normal(size=(6, 6)),)]
    for matrix, (good, re, im) in zip(matrices, spectra(matrices, page, tmp_path), strict=True):
        assert good
        expected = np.linalg.eigvals(matrix)
        assert paired(np.array(re) + 1j * np.array(im), expected) <= 1e-9 * max(np.abs(expected).max(), 1e-6)


def test_defective_matrices(page, tmp_path):
    """A chain of length k answers a rounding ε by ε^(1/k)."""
    jordan = [2.0 * np.eye(k) + np.eye(k, k=1) for k in (2, 3, 4)]
    rng = np.random.default_rng(4)
    turned = []
    for block in jordan:
        q = np.linalg.qr(rng.normal(size=block.shape))[0]
        turned.append(q @ block @ q.T)
    found = spectra([*jordan, *turned], page, tmp_path)
    for k, (good, re, im) in zip((2, 3, 4), found[:3], strict=True):
        assert good and paired(np.array(re) + 1j * np.array(im), [2.0] * k) == 0.0
    for k, (good, re, im) in zip((2, 3, 4), found[3:], strict=True):
        assert good and paired(np.array(re) + 1j * np.array(im), [2.0] * k) <= 20 * (1e-15) ** (1 / k)
        assert np.sum(re) == pytest.approx(2.0 * k, abs=1e-12)


def test_matrices_that_are_none(page, tmp_path):
    good = run_node(
        "load(given); const s = new Draisine.Eigenvalues(2); return [s.of([1, NaN, 3, 4]), numbers(s.re)];", str(page), tmp_path
    )
    assert good == [False, ["NaN", "NaN"]]


def test_published_eigenvalues(live):
    """All 44 of the benchmark, from the exported linear model."""
    table = REFERENCE["eigenvalues"]["table"]
    found = live(
        "const s = live.spectrum(null, given); return [s.re.map(numbers), s.im.map(numbers)];", [float(v) for v in table]
    )
    assert sum(len(row) for row in table.values()) == 44
    for published, re, im in zip(table.values(), *found, strict=True):
        expected = [complex(float(e["re"]), float(e["im"])) for e in published]
        assert paired(np.array(re) + 1j * np.array(im), expected) < 2e-11
        assert re == sorted(re, reverse=True)


def test_critical_speeds(live):
    found = live("return live.critical(null);")
    assert [c["name"] for c in found] == ["weave", "capsize"]
    assert found[0]["speed"] == pytest.approx(float(REFERENCE["critical_speeds"]["v_weave"]), abs=1e-9)
    assert found[1]["speed"] == pytest.approx(float(REFERENCE["critical_speeds"]["v_capsize"]), abs=1e-9)


def test_eigenvalues_follow_the_parameters(live, equations):
    other = {"trail": 0.05, "m_frame": 70.0, "r_front_wheel": 0.3, "steer_axis_tilt": 0.4, "z_frame": 1.1}
    re, im, critical, again = live(
        """
        const s = live.spectrum(given, [3, 5.5]);
        const why = live.setParameters(given);
        return [s.re.map(numbers), s.im.map(numbers), live.critical(null), why];
        """,
        other,
    )
    assert again is None
    modes = dr.modes(equations, speed=np.linspace(0, 10, 41), parameters=other, states=("lean", "steer"))
    two = dr.modes(equations, speed=np.array([3.0, 5.5]), parameters=other)
    for k in range(2):
        assert paired(np.array(re[k]) + 1j * np.array(im[k]), two.eigenvalues[k]) < 1e-9
    expected = {c.kind: c.value for c in modes.critical() if c.kind in ("weave", "capsize")}
    assert {c["name"]: c["speed"] for c in critical} == pytest.approx(expected, abs=1e-8)


def test_speed_at_which_a_disk_rolls_upright(tmp_path):
    """v² = g r / 3 for a thin homogeneous disk; its turning is an eigenvalue that is zero at every speed and tells nothing."""
    path = tmp_path / "disk.js"
    made = bundle("rolling_disk")
    path.write_text(made.as_script(), encoding="utf-8")
    found = run_node("load(given); return born().critical(null);", str(path), tmp_path)
    p = {q["name"]: q["default"] for q in made.manifest["parameters"]}
    assert [c["name"] for c in found] == ["a mode crosses zero"]
    assert found[0]["speed"] == pytest.approx(np.sqrt(p["gravity"] * p["radius"] / 3), abs=1e-7)
