"""Branches with closed forms: bead on a hoop, snap-through truss, normal forms, discs in circles, a closed curve."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.gallery.entries.disk import steady_spin
from draisine.results.status import Progress

X, Y, MU = sp.symbols("x y mu")


@pytest.fixture(scope="module")
def hoop():
    """A bead on a hoop that turns about its vertical diameter: upright below ω² = g/r, then at cos θ = g/(ω² r)."""
    angle, omega = dynamicsymbols("theta"), sp.symbols("omega")
    return dr.lagrangian(
        "hoop",
        [angle],
        kinetic=0.5**2 * (angle.diff() ** 2 + omega**2 * sp.sin(angle) ** 2) / 2,
        potential=-9.81 * 0.5 * sp.cos(angle),
        parameters={omega: 2.0},
    )


@pytest.fixture(scope="module")
def lowest(hoop):
    return dr.stability.continuation(hoop, "omega", between=(0.5, 12.0))


def test_bead_leaves_the_lowest_point(lowest):
    assert [p.kind for p in lowest.special] == ["branch point"]
    assert lowest.special[0].value == pytest.approx(math.sqrt(9.81 / 0.5), abs=1e-12)
    assert np.array_equal(lowest.stable, lowest["omega"] < math.sqrt(9.81 / 0.5))
    assert lowest.ended == ("omega reached 0.5", "omega reached 12")
    np.testing.assert_array_equal(lowest["theta"], 0.0)
    # it swings at ω₀² = g/r − ω² there
    i = int(np.argmin(np.abs(lowest["omega"] - 2.0)))
    swing = math.sqrt(9.81 / 0.5 - lowest["omega"][i] ** 2)
    np.testing.assert_allclose(np.sort(lowest.eigenvalues[i].imag), [-swing, swing], rtol=1e-10)


def test_bead_rises_to_both_sides(lowest):
    aside = lowest.switch()
    np.testing.assert_allclose(np.cos(aside["theta"]) * aside["omega"] ** 2 * 0.5, 9.81, rtol=1e-12)
    assert aside["theta"].min() == pytest.approx(-math.acos(9.81 / (144 * 0.5)), rel=1e-10)
    assert aside["theta"].max() == pytest.approx(math.acos(9.81 / (144 * 0.5)), rel=1e-10)
    assert aside.stable.all()
    assert [p.kind for p in aside.special] == ["branch point"]


def test_switching_needs_a_branch_point(hoop, lowest):
    aside = lowest.switch()
    again = aside.switch(aside.special[0])  # back on the branch from which it came
    np.testing.assert_allclose(again["theta"], 0.0, atol=1e-12)
    plain = dr.stability.continuation(hoop, "omega", between=(0.5, 3.0))
    with pytest.raises(dr.errors.ArgumentError, match=r"branches cross only at branch points; this branch has no special point"):
        plain.switch()


def test_truss_snaps_through():
    """Two bars, half span 1, height 0.2, stiffness k: load 2 k y (L₀/√(1 + y²) − 1), its folds where L = L₀^(1/3)."""
    height, load = dynamicsymbols("y"), sp.symbols("load")
    potential = 10 * (sp.sqrt(1 + height**2) - sp.sqrt(1.04)) ** 2 + load * height
    truss = dr.lagrangian(
        "truss", [height], kinetic=height.diff() ** 2 / 2, potential=potential, parameters={load: 0.0}, start={height: 0.2}
    )
    branch = dr.stability.continuation(truss, "load", between=(-0.1, 0.1))
    at = math.sqrt(1.04 ** (1 / 3) - 1)
    worst = 20 * at * (math.sqrt(1.04) / math.sqrt(1 + at**2) - 1)
    assert [p.kind for p in branch.special] == ["fold", "fold"]
    assert [p.value for p in branch.special] == pytest.approx([worst, -worst], abs=1e-14)
    assert [p["y"] for p in branch.special] == pytest.approx([at, -at], abs=1e-9)
    np.testing.assert_allclose(
        branch["load"], 20 * branch["y"] * (math.sqrt(1.04) / np.sqrt(1 + branch["y"] ** 2) - 1), atol=1e-12
    )
    assert np.array_equal(branch.stable, np.abs(branch["y"]) > at)


@pytest.mark.parametrize("apart", [1e-3, 1e-5, 1e-8, 1e-12])
def test_unstable_motions_between_two_folds_in_one_step_are_seen(apart):
    """μ = (x − 0.3)³ − e (x − 0.3) turns back where 3 (x − 0.3)² = e; in between the motions are unstable."""
    e = 3 * (apart / 4) ** (2 / 3)
    folds = dr.first_order("folds", {X: MU - (X - 0.3) ** 3 + e * (X - 0.3)}, parameters={MU: -1.0}, start={X: -0.7})
    branch = dr.stability.continuation(folds, "mu", between=(-1.0, 1.0))
    assert [p.value for p in branch.special] == pytest.approx([apart / 2, -apart / 2], rel=1e-3)
    assert [p.kind for p in branch.special] == ["fold", "fold"]
    assert np.array_equal(branch.stable, np.abs(branch["x"] - 0.3) > math.sqrt(e / 3))
    assert not branch.stable.all()
    assert all(branch["x"][p.after] <= p["x"] <= branch["x"][p.after + 1] for p in branch.special)
    assert (np.diff(branch["x"]) > 0).all()


def test_hopf_point_and_its_frequency():
    grow = MU - sp.Rational(1, 4)
    e = dr.first_order(
        "hopf",
        {X: grow * X - 3 * Y - X * (X**2 + Y**2), Y: 3 * X + grow * Y - Y * (X**2 + Y**2)},
        parameters={MU: 0.0},
    )
    branch = dr.stability.continuation(e, "mu", between=(-1.0, 2.0))
    (point,) = branch.special
    assert point.kind == "Hopf point"
    assert point.value == pytest.approx(0.25, abs=1e-12)
    assert point.frequency == pytest.approx(3.0, abs=1e-12)
    assert np.array_equal(branch.unstable, np.where(branch["mu"] > 0.25, 2, 0))


def test_branches_that_cross_at_an_angle():
    """x = μ² and x = ½ − μ cross twice; neither is straight in the other's coordinates."""
    e = dr.first_order("crossing", {X: -(X - MU**2) * (X + MU - 0.5)}, parameters={MU: 0.0}, start={X: 0.0})
    branch = dr.stability.continuation(e, "mu", between=(-2.0, 2.0))
    roots = [(-1 - math.sqrt(3)) / 2, (-1 + math.sqrt(3)) / 2]
    assert [p.kind for p in branch.special] == ["branch point"] * 2
    assert [p.value for p in branch.special] == pytest.approx(roots, abs=1e-11)
    np.testing.assert_allclose(branch["x"], branch["mu"] ** 2, atol=1e-12)
    other = branch.switch(branch.special[1])
    np.testing.assert_allclose(other["x"], 0.5 - other["mu"], atol=1e-12)
    assert [p.value for p in other.special] == pytest.approx(roots, abs=1e-11)


def test_closed_curve_is_noticed():
    e = dr.first_order("ring", {X: 1 - X**2 - MU**2}, parameters={MU: 0.0}, start={X: 1.0})
    branch = dr.stability.continuation(e, "mu")
    assert branch.closed
    assert sorted(p.value for p in branch.points("fold")) == pytest.approx([-1.0, 1.0], abs=1e-12)
    np.testing.assert_allclose(branch["x"] ** 2 + branch["mu"] ** 2, 1.0, atol=1e-12)
    assert branch["x"][0] == branch["x"][-1] and branch["x"].min() < -0.99


def test_disc_in_circles():
    """r Ω² cos θ / 4 − (3/2) r σ Ω / tan θ = g, over lean at a given turn rate."""
    disk = dr.gallery.rolling_disk()
    start = {"lean": 0.3, "heading_rate": -2.0, "spin": 4.0}
    circles = dr.stability.continuation(disk, "lean", fixed={"heading_rate": -2.0}, start=start, between=(0.05, 1.2))
    np.testing.assert_allclose(circles["spin"], [steady_spin(lean, -2.0) for lean in circles["lean"]], rtol=1e-12)
    np.testing.assert_allclose(circles["disk_normal_force"], 9.81, rtol=1e-10)
    # the point of contact goes round at the radius of the center's circle less r sin θ towards the inside
    track = circles["speed"] / circles["heading_rate"] - 0.3 * np.sin(circles["lean"])
    np.testing.assert_allclose(circles["disk_path_radius"], track, rtol=1e-9)
    assert circles.neutral == 2  # at every lean and turn rate there is a circle
    i = len(circles) // 2
    linear = circles.motions[i].linearize()
    mine = np.sort_complex(circles.eigenvalues[i][np.abs(circles.eigenvalues[i]) > 1e-6])
    theirs = np.sort_complex(linear.eigenvalues[np.abs(linear.eigenvalues) > 1e-6])
    np.testing.assert_allclose(mine, theirs, rtol=1e-8)


def test_surface_of_motions_is_no_branch():
    start = {"lean": 0.3, "heading_rate": -2.0, "spin": 4.0}
    with pytest.raises(dr.errors.ArgumentError, match=r"2 quantities can vary independently .*heading_rate.*fix 1 more"):
        dr.stability.continuation(dr.gallery.rolling_disk(), "lean", start=start)


def test_isolated_motion_cannot_vary():
    e = dr.first_order("sink", {X: MU - X}, parameters={MU: 1.0})
    with pytest.raises(dr.errors.ArgumentError, match=r"is isolated, 'x' cannot vary; leave an input or parameter free"):
        dr.stability.continuation(e, "x")
    free = dr.stability.continuation(e, "x", free=("mu",), between=(0.0, 2.0))
    np.testing.assert_allclose(free["mu"], free["x"], atol=1e-14)


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"over": "mue"}, r"no parameter, input, state or output of motion 'mue'; did you mean 'mu'"),
        ({"over": "mu", "fixed": {"mu": 1.0}}, r"'mu' is the continuation quantity"),
        ({"over": "mu", "between": (2.0, 0.0)}, r"'mu' must be between 2 and 0; give the lower number first"),
        ({"over": "mu", "between": (2.0, 3.0)}, r"starts outside its bounds, at mu = 1; mu must be between 2 and 3"),
        ({"over": "mu", "bounds": {"z": (0.0, 1.0)}}, r"sink has no 'z' to bound"),
    ],
)
def test_wrong_questions_are_refused(options, reported):
    e = dr.first_order("sink", {X: MU - X}, parameters={MU: 1.0}, start={X: 1.0})
    with pytest.raises(dr.errors.ArgumentError, match=reported):
        dr.stability.continuation(e, **options)


def test_steps_must_make_sense():
    with pytest.raises(dr.errors.ArgumentError, match=r"0 < least ≤ first ≤ most"):
        dr.stability.Steps(first=0.5, most=0.1)


def test_ends_with_a_reason():
    e = dr.first_order("root", {X: MU - sp.sqrt(X)}, parameters={MU: 1.0}, start={X: 1.0})
    branch = dr.stability.continuation(e, "mu", between=(-1.0, 2.0), bounds={"x": (-1.0, 3.0)})
    assert branch.ended == ("no further point was found with the smallest step, 1e-07", "x reached 3")
    assert branch["x"][-1] == pytest.approx(3.0, abs=1e-12)
    short = dr.stability.continuation(e, "mu", steps=dr.stability.Steps(count=5))
    assert short.ended[1] == "the maximum of 5 steps was reached" and len(short) == 11


def test_singular_linkage_is_named():
    """A parallelogram linkage goes flat at crank = 0, where one constraint no longer depends on the coordinates."""
    crank, coupler, rocker = dynamicsymbols("crank coupler rocker")
    torque = sp.symbols("torque")
    linkage = dr.lagrangian(
        "parallelogram",
        [crank, coupler, rocker],
        kinetic=(crank.diff() ** 2 + coupler.diff() ** 2 + rocker.diff() ** 2) / 2,
        potential=9.81 * (sp.sin(crank) + sp.sin(rocker)) / 2 - torque * crank,
        holonomic={
            "closed_x": sp.cos(crank) + 3 * sp.cos(coupler) - sp.cos(rocker) - 3,
            "closed_y": sp.sin(crank) + 3 * sp.sin(coupler) - sp.sin(rocker),
        },
        parameters={torque: 0.0},
        start={crank: 0.05, coupler: 0.0, rocker: 0.05},
    )
    branch = dr.stability.continuation(
        linkage, "crank", free=("torque",), between=(-0.5, 0.06), steps=dr.stability.Steps(count=60)
    )
    np.testing.assert_allclose(branch["torque"], 9.81 * np.cos(branch["crank"]), rtol=1e-9)  # both bars on one motor
    assert "singular configuration: the constraint 'closed_x' hardly depends on the coordinates" in branch.ended[0]


def test_tables_and_texts(lowest):
    table = lowest.to_pandas()
    assert list(table["unstable"]) == list(lowest.unstable) and len(table) == len(lowest)
    data = json.loads(json.dumps(lowest.as_data()))
    assert data["special"][0]["kind"] == "branch point" and len(data["columns"]["omega"]) == len(lowest)
    assert "branch point at omega = 4.42944691807" in str(lowest)
    with pytest.raises(KeyError, match="did you mean 'theta'"):
        lowest["tetha"]


def test_progress_is_reported(hoop):
    reported: list[Progress] = []
    branch = dr.stability.continuation(hoop, "omega", between=(1.9, 2.1), progress=reported.append)
    assert reported[0].values["points"] == 2  # points of this direction so far
    assert len(reported) == len(branch) - 3  # not reported: the start and the two ends of the range


@pytest.mark.parametrize("speed", [1e-5, 1e-3, 1e3])
def test_branch_points_of_slow_and_fast_systems(speed):
    """A bead on a hoop leaves the bottom at ω² = g/r, in whatever unit time is measured."""
    angle, omega = dynamicsymbols("theta"), sp.symbols("omega")
    hoop = dr.lagrangian(
        "bead_in_other_units",
        [angle],
        kinetic=0.5**2 * (angle.diff() ** 2 + omega**2 * sp.sin(angle) ** 2) / 2,
        potential=-9.81 * speed**2 * 0.5 * sp.cos(angle),
        parameters={omega: 2.0 * speed},
    )
    branch = dr.stability.continuation(hoop, "omega", between=(0.5 * speed, 12.0 * speed))
    assert [point.kind for point in branch.special] == ["branch point"]
    assert branch.special[0].value == pytest.approx(speed * np.sqrt(9.81 / 0.5), rel=1e-12)
    aside = branch.switch()
    np.testing.assert_allclose(np.cos(aside["theta"]) * aside["omega"] ** 2 * 0.5, 9.81 * speed**2, rtol=1e-9)
