"""Pictures of modes: phasors, root locus, film."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from draisine.stability.modes import Modes
from draisine.view.modes import _displacements


@pytest.fixture(scope="module")
def swept() -> Modes:
    return dr.modes(dr.gallery.bicycle(), speed=np.linspace(0, 10, 41), states=("lean", "steer"))


def test_phasors_have_the_shape_of_the_mode(swept: Modes) -> None:
    """Angles between arrows and ratios of lengths are those of the eigenvector; lean and its rate differ by the eigenvalue."""
    figure = dr.view.mode_shapes(swept, at=5.0)
    assert [axes.get_title().split("\n")[0] for axes in figure.axes] == ["castering", "weave", "capsize"]
    weave = figure.axes[1]
    arrows = {
        line.get_label().split()[0]: line.get_ydata()[1] * np.exp(1j * line.get_xdata()[1])
        for line in weave.lines
        if not str(line.get_label()).startswith("_")
    }
    i, j = 20, swept.names.index("weave")
    shape, z = swept.shapes[i, :, j], swept.eigenvalues[i, j]
    ratio, rates = arrows["lean"] / arrows["steer"], arrows["frame_wx"] / arrows["lean"]
    if z.imag < 0:
        shape, z = np.conj(shape), np.conj(z)
    assert ratio == pytest.approx(shape[0] / shape[1], rel=1e-12)
    assert np.angle(rates) == pytest.approx(np.angle(z), abs=1e-9)  # ẋ = λ x
    assert max(abs(a) for a in arrows.values()) == pytest.approx(1.0)


def test_the_locus_marks_critical_eigenvalues(swept: Modes) -> None:
    axes = dr.view.root_locus(swept).axes[0]
    marks = {str(line.get_label()).split(",")[0]: line.get_xydata()[0] for line in axes.lines if "," in str(line.get_label())}
    assert set(marks) == {"oscillation begins", "weave", "capsize"}
    assert marks["weave"] == pytest.approx((0.0, 3.43503384866144), abs=1e-9)
    lines = axes.collections
    assert len(lines) == 4 and lines[0].get_clim() == (0.0, 10.0)
    narrow = dr.view.root_locus(swept, window=(-5.0, 2.0)).axes[0]  # oscillation begins at 3.78 1/s, outside
    assert {str(line.get_label()).split(",")[0] for line in narrow.lines if "," in str(line.get_label())} == {"weave", "capsize"}


def test_a_film_keeps_the_mode_in_step(swept: Modes, tmp_path: Path) -> None:
    """Lean and steer over a period are the harmonic functions the eigenvector says."""
    j = swept.names.index("weave")
    frames = _displacements(swept, 20, j, 0.2, 12)
    lean, steer = (np.array([f[n] for f in frames]) for n in ("lean", "steer"))
    assert max(np.abs(lean).max(), np.abs(steer).max()) == pytest.approx(0.2)
    as_complex = [2 / 12 * np.sum(s * np.exp(-2j * np.pi * np.arange(12) / 12)) for s in (lean, steer)]
    shape = swept.shapes[20, :, j]
    assert as_complex[0] / as_complex[1] == pytest.approx(shape[0] / shape[1], rel=1e-9)


def test_a_film_is_written(swept: Modes, tmp_path: Path) -> None:
    from PIL import Image

    dr.view.animate_mode(dr.gallery.bicycle(), swept, "weave", 5.0, tmp_path / "weave.gif", frames=4)
    with Image.open(tmp_path / "weave.gif") as picture:
        assert picture.n_frames == 4  # type: ignore[attr-defined]
        period = 2 * np.pi / abs(swept.eigenvalues[20, swept.names.index("weave")].imag)
        assert picture.info["duration"] * 4 / 1000 == pytest.approx(period, abs=0.03)


def test_what_is_wrong_is_named(swept: Modes, tmp_path: Path) -> None:
    bike = dr.gallery.bicycle()
    with pytest.raises(dr.errors.ArgumentError, match=r"no mode 'wobble'.*there are castering, weave, capsize"):
        dr.view.animate_mode(bike, swept, "wobble", 5.0, tmp_path / "w.gif")
    with pytest.raises(dr.errors.ArgumentError, match="speed = 12 is outside the sweep, from 0 to 10"):
        dr.view.mode_shapes(swept, at=12.0)
    with pytest.raises(ValueError, match=r"unknown film format 'w\.mp4'"):
        dr.view.animate_mode(bike, swept, "weave", 5.0, tmp_path / "w.mp4", frames=2)
    with pytest.raises(dr.errors.ArgumentError, match="amplitude=-1"):
        dr.view.animate_mode(bike, swept, "weave", 5.0, tmp_path / "w.gif", amplitude=-1.0)
