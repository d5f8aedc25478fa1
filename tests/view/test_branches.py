"""Figures of branches and atlases: what they draw, without looking at pixels."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.view.plots.branches import MARKS, branch_figure
from draisine.view.plots.figure_files import save_figure

X, MU = sp.symbols("x mu")


@pytest.fixture(scope="module")
def branch():
    e = dr.first_order("saddle_node", {X: MU - X**2}, parameters={MU: 1.0}, start={X: 1.0})
    return dr.stability.continuation(e, "mu", between=(-1.0, 2.0))


@pytest.fixture(scope="module")
def atlas():
    return dr.bicycle.turning_atlas(dr.gallery.bicycle(), lean=np.linspace(0.0, 0.6, 9), speed=np.linspace(1.0, 8.0, 8))


def test_full_where_stable_and_dashed_where_not(branch):
    (panel,) = branch.plot("x").axes
    lines = [line for line in panel.get_lines() if len(line.get_xdata()) > 2]
    full = [line for line in lines if line.get_linestyle() == "-"]
    dashed = [line for line in lines if line.get_linestyle() != "-"]
    assert len(full) == len(dashed) == 1
    assert min(full[0].get_ydata()) == pytest.approx(0.0, abs=1e-9)  # both end at the fold itself
    assert max(dashed[0].get_ydata()) == pytest.approx(0.0, abs=1e-9)
    assert full[0].get_color() == dashed[0].get_color()


def test_special_points_are_marked_and_named(branch):
    (panel,) = branch.plot("x").axes
    marked = [line for line in panel.get_lines() if line.get_marker() == MARKS["fold"]]
    assert len(marked) == 1 and marked[0].get_xdata()[0] == pytest.approx(0.0, abs=1e-12)
    assert [text.get_text() for text in panel.get_legend().get_texts()] == ["no mode grows", "unstable", "fold"]


def test_several_branches_in_one_figure(branch):
    drawing = branch_figure({"one": branch, "another": branch}, "x", "mu", against="x")
    assert len(drawing.axes) == 2
    assert drawing.axes[-1].get_xlabel().startswith("x")
    names = [text.get_text() for text in drawing.axes[0].get_legend().get_texts()]
    assert names[:2] == ["one", "another"]
    with pytest.raises(ValueError, match="no branch to draw"):
        branch_figure({})
    with pytest.raises(KeyError, match="has no 'y' along this branch"):
        branch.plot("y")


def test_four_maps_of_turns(atlas, tmp_path):
    drawing = atlas.plot(friction=0.5)
    maps = [panel for panel in drawing.axes if panel.get_title(loc="left")]
    titles = [panel.get_title(loc="left") for panel in maps]
    assert titles == ["what holds the turn", "friction needed", "load; lines: rear wheel", "stability; lines: radius of the path"]
    assert maps[2].get_xlabel() == "speed [m/s]" and maps[0].get_ylabel() == "lean [°]"
    save_figure(drawing, tmp_path / "atlas.png")
    assert (tmp_path / "atlas.png").stat().st_size > 20_000


def test_an_atlas_without_torques_or_wheels_can_be_drawn(tmp_path):
    nu = sp.symbols("nu")
    e = dr.first_order("sink", {X: MU * nu - X}, parameters={MU: 1.0, nu: 1.0})
    flat = dr.bicycle.turning_atlas(e, mu=np.linspace(0.0, 1.0, 4), nu=np.linspace(1.0, 2.0, 5))
    np.testing.assert_allclose(flat["x"], np.outer(flat.first, flat.second), atol=1e-14)
    with pytest.raises(dr.errors.ModelError, match="has no wheels with contact forces"):
        flat.possible(0.5)
    save_figure(flat.plot(), tmp_path / "flat.png")
