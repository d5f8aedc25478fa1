"""Problems of optimal control whose answer is known: the trolley, the bead on a wire, the car, the rocket."""

from __future__ import annotations

import cmath
import itertools
import math

import numpy as np
import pytest

import draisine as dr
from draisine.gallery.entries import brachistochrone as bead
from draisine.gallery.entries import double_integrator as trolley
from draisine.gallery.entries import goddard
from draisine.gallery.entries import shortest_cars as cars
from draisine.gallery.entries.shortest_words import driven, dubins, length, reeds_shepp

# ------------------------------------------------------------------------------------------------ trolley and bead


def test_trolley_parks_in_the_least_time():
    study = dr.gallery.study("trolley_parks")()
    assert len(study.runs) == len(trolley.STARTS)
    for start in trolley.STARTS:
        found = trolley.parked(*start)
        assert found.duration == pytest.approx(trolley.least_time(*start), rel=1e-6)
        side = math.copysign(1, start[0] + start[1] * abs(start[1]) / 2)
        assert [float(p.controls[0, 0]) for p in found.phases] == pytest.approx([-side, side], abs=1e-6)
        assert found.discrepancy < 1e-6


def test_closed_form_of_the_trolley_by_its_equation():
    """T(x, v) is the viscosity solution of 1 + v T_x − |T_v| = 0."""
    for x, v in ((1.0, 0.5), (-0.4, 0.3), (-1.0, -1.0)):
        step = 1e-6
        slope_x = (trolley.least_time(x + step, v) - trolley.least_time(x - step, v)) / (2 * step)
        slope_v = (trolley.least_time(x, v + step) - trolley.least_time(x, v - step)) / (2 * step)
        assert 1 + v * slope_x - abs(slope_v) == pytest.approx(0, abs=1e-8)


def test_brachistochrone():
    study = dr.gallery.study("brachistochrone")()
    found = bead.quickest()
    radius, angle = bead.cycloid()
    assert found.duration == pytest.approx(angle * math.sqrt(radius / bead.GRAVITY), rel=1e-6)
    assert found.discrepancy < 1e-6
    assert study.runs["brachistochrone"].final["x"] == pytest.approx(2.0, abs=1e-6)
    assert study.runs["brachistochrone"].final["drop"] == pytest.approx(1.5, abs=1e-6)
    assert found.costate("x").max() < 0  # to be further on leaves less time to go
    assert np.ptp(found.costate("x")) < 1e-5  # x enters nowhere


# ------------------------------------------------------------------------------------------------ cars


def test_words_reach_their_goal():
    rng = np.random.default_rng(4)
    for _ in range(20):
        x, y, h = (float(a) for a in rng.uniform((-3, -3, -math.pi), (3, 3, math.pi)))
        forward, both = dubins(x, y, h), reeds_shepp(x, y, h)
        for word in (forward, both):
            place, heading = driven(word)
            assert abs(place - complex(x, y)) < 1e-9
            assert abs(cmath.exp(1j * heading) - cmath.exp(1j * h)) < 1e-9
        assert all(piece >= 0 for _, piece in forward)
        assert length(both) <= length(forward) + 1e-12
        assert length(both) >= max(abs(complex(x, y)), abs(h)) - 1e-9  # no faster than straight, nor than turning on the spot
        # mirrored, in reverse gear, and driven from the end: as long
        assert length(reeds_shepp(x, -y, -h)) == pytest.approx(length(both), abs=1e-9)
        assert length(reeds_shepp(-x, y, -h)) == pytest.approx(length(both), abs=1e-9)
        assert length(dubins(x, -y, -h)) == pytest.approx(length(forward), abs=1e-9)
        back = -complex(x, y) * cmath.exp(-1j * h)
        assert length(reeds_shepp(back.real, back.imag, -h)) == pytest.approx(length(both), abs=1e-9)


@pytest.mark.parametrize("goal", [(0.3, -0.2, 1.0), (-1.5, 1.0, 2.5), (2.0, 2.5, -2.0)])
def test_no_other_drive_is_shorter(goal):
    """Words of five letters with any lengths, shortened numerically from random starts, never beat the closed form."""
    from scipy.optimize import minimize

    rng, best = np.random.default_rng(1), math.inf
    exact = length(reeds_shepp(*goal))

    def missing(pieces, kinds):
        place, heading = driven(tuple(zip(kinds, pieces, strict=True)))
        turned = cmath.exp(1j * (heading - goal[2])) - 1
        gap = place - complex(goal[0], goal[1])
        return [gap.real, gap.imag, turned.imag]

    for kinds in ("LRSLR", "LRSRL", "RLSRL", "RLSLR", "LRLRL"):
        for _ in range(6):
            found = minimize(
                lambda p: np.sqrt(p * p + 1e-10).sum(),
                rng.uniform(-1.5, 1.5, 5),
                constraints={"type": "eq", "fun": missing, "args": (kinds,)},
                method="SLSQP",
                options={"maxiter": 150},
            )
            turned = driven(tuple(zip(kinds, found.x, strict=True)))[1] - goal[2]
            if np.abs(missing(found.x, kinds)).max() < 1e-6 and math.cos(turned) > 0:
                best = min(best, found.fun)
    assert best > exact - 1e-4
    assert best < exact + 0.1  # and the search is not blind


def test_known_lengths():
    assert length(dubins(4, 0, 0)) == pytest.approx(4)
    assert length(dubins(0, 2, math.pi)) == pytest.approx(math.pi)
    assert length(dubins(0, 0, math.pi)) == pytest.approx(7 * math.pi / 3)  # a sixth, five sixths, a sixth of a circle
    assert length(reeds_shepp(-1, 0, 0)) == pytest.approx(1)
    assert length(reeds_shepp(0, 0, math.pi)) == pytest.approx(math.pi)
    assert "".join(kind for kind, _ in reeds_shepp(0, 1, 0)) in ("RLRL", "LRLR")


def test_shortest_cars():
    study = dr.gallery.study("shortest_cars")()
    for name, drive in cars.DRIVES.items():
        exact = length(drive.word)
        arcs, plain = cars.by_arcs(drive), cars.plainly(drive)
        assert arcs.duration == pytest.approx(exact, rel=1e-6)
        assert plain.duration == pytest.approx(exact, rel=1e-3)
        assert arcs.discrepancy < 1e-8
        assert plain.discrepancy < 1e-3
        final = study.runs[name].final
        assert [final["x"], final["y"]] == pytest.approx(drive.goal[:2], abs=1e-6)
        assert math.cos(final["heading"] - drive.goal[2]) == pytest.approx(1, abs=1e-9)


# ------------------------------------------------------------------------------------------------ rocket


def test_rocket_climbs_to_the_published_height():
    study = dr.gallery.study("rocket_climbs")()
    plain, found = goddard.plain_ascent(), goddard.ascent()
    assert -found.objective == pytest.approx(1.0128369, abs=5e-7)
    assert abs(-plain.objective - goddard.PUBLISHED) < 1e-6
    assert max(plain.discrepancy, found.discrepancy) < 1e-6
    assert found.trajectory.final["height"] == pytest.approx(-found.objective, abs=1e-8)
    assert found.trajectory.final["mass"] == pytest.approx(0.6, abs=1e-8)
    run = study.runs["goddard_plainly"]
    assert run["thrust"][run.time < 0.02] == pytest.approx(3.5, abs=2e-3)
    arc = found.trajectories[1]
    assert np.abs(arc["balance"]).max() < 1e-6
    assert np.diff(arc["thrust"])[20:].min() > 0
    assert 2.1 < arc["thrust"][20] < 2.2
    assert arc["thrust"][-1] == pytest.approx(3.09, abs=0.01)


def test_switching_function_of_the_rocket_vanishes_along_the_arc():
    """With −height at the end as the cost, ∂H/∂thrust = Φ is negative at full thrust, zero on the arc, positive after it."""
    plain = goddard.plain_ascent()
    times, phi = plain.only.costate_times, goddard.switching(plain)
    size = np.abs(phi).max()
    on_arc = (times > 0.03) & (times < 0.066)
    assert np.abs(phi[on_arc]).max() < 0.02 * size
    assert phi[times < 0.015].max() < -0.1 * size
    assert phi[(times > 0.1) & (times < 0.19)].min() > 0.1 * size


def test_all_pictures_have_something_in_them():
    pictures = itertools.chain.from_iterable(
        dr.gallery.study(name)().figures.values()
        for name in ("trolley_parks", "brachistochrone", "shortest_cars", "rocket_climbs")
    )
    assert all(sum(len(axes.lines) for axes in figure.axes) >= 3 for figure in pictures)
