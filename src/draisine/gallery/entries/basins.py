"""Basin of attraction of a riderless bicycle: an ensemble of some thousand runs over speed and size of a disturbance.

What it shows: a basin of attraction, computed by one run per point. The benchmark bicycle rolls straight and upright at some
speed with an initial roll rate and without steering. Each run ends when the lean passes 80°, when the handlebar has turned by
100°, or after ten seconds; only its status, extreme leans and contact forces are kept, no trajectory. Ideal wheels do not lift
off: where the ground would have to pull on a wheel the motion is not possible, the run does not count as survived, and the map is
hatched.

What you should see: a map that is symmetric between left and right. Between the weave speed, 4.292 m/s, and the capsize speed,
6.024 m/s, small disturbances decay, and the larger the speed the larger they may be. Below about 3.3 m/s the weave makes it
fall after the smallest disturbance; from there to the weave speed it stays up for these ten seconds. Above the capsize speed a
disturbed bicycle does not fall in ten seconds but leans into an ever tighter turn. The boundary is irregular: near it the
outcome is sensitive to the smallest change.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import draisine as dr
from draisine.gallery.entries.bicycle import bicycle
from draisine.gallery.registry import Study, entry
from draisine.view.plots.canvas import new_figure
from draisine.view.plots.style import PAGE, style

WEAVE, CAPSIZE = 4.292382536, 6.024262015  # m/s, Meijaard et al. (2007), table 2
HARDEST = 4.0  # rad/s
BAR = math.radians(100)  # steer angle at which a run ends


@entry(level="Advanced")
def basins(points: int = 41, until: float = 10.0) -> Study:
    """Which knocks (roll rate × speed) a riderless bicycle survives, from an ensemble of runs."""
    bike = bicycle(steer_limit=BAR)
    over = {"speed": (2.5, 8.0, points), "roll_rate": (-HARDEST, HARDEST, points | 1)}
    found = dr.ensemble(
        bike, until, over, outputs=["lean"], tolerance=1e-8, keep=[dr.reductions.Final(), dr.reductions.Extremes(200)]
    )

    ended, lean = found.grid("ended"), found.grid("lean.end")
    fallen, pulled = found.grid("status") == "EVENT", found.pulled().reshape(found.shape)
    survived = found.survived().reshape(found.shape)
    assert set(found.statuses) <= {"EVENT", "FINISHED"}, found.statuses
    mirrored = np.mean(fallen == fallen[:, ::-1])  # at the boundary rounding decides
    assert mirrored > 0.95, mirrored
    speed, knock = found.grid("speed")[:, 0], found.grid("roll_rate")[0]
    self_stable, gentle = (speed > WEAVE + 0.4) & (speed < CAPSIZE - 0.4), (np.abs(knock) > 0) & (np.abs(knock) <= 1.0)
    most = np.maximum(found.grid("lean.max"), -found.grid("lean.min"))
    calmed = np.abs(lean)[np.ix_(self_stable, gentle)] < 0.4 * most[np.ix_(self_stable, gentle)]
    assert calmed.all() and survived[np.ix_(self_stable, gentle)].all()
    hard = np.abs(knock) >= 0.4 * HARDEST
    assert fallen[np.ix_(speed < 3.0, hard)].all()

    survives = [float(np.min(np.abs(knock)[~row], initial=HARDEST)) for row in survived]
    reached = found.grid("event") == "bar_at_limit"
    counts = {"fell": fallen & ~reached, "bar": reached, "pulled": pulled, "neither": pulled & ~fallen, "survived": survived}
    n = {what: f"{np.count_nonzero(those):,}" for what, those in counts.items()}
    findings = (
        f"{len(found):,} runs of {until:g} s: {n['survived']} survived; {n['fell']} fell and {n['bar']} turned the handlebar by "
        f"100°, on average after {ended[fallen].mean():.1f} s",
        f"in {n['pulled']} runs the ground would have to pull; {n['neither']} of them neither fall nor reach the limit of the "
        "handlebar, and are not survivors",
        *(
            f"{v:.2f} m/s: does not survive from {least:.1f} rad/s on"
            for v, least in zip(speed, survives, strict=True)
            if least < HARDEST
        ),
    )
    picture = _picture(speed, knock, ended, fallen, pulled, lean, until)
    return Study("Basins of a riderless bicycle", {}, {"basins": picture}, findings)


def _picture(speed: Any, knock: Any, ended: Any, fallen: Any, pulled: Any, lean: Any, until: float) -> Any:
    """Time until it falls; where it does not fall, the final lean. Hatched: the ground would have to pull."""
    with style():
        drawing = new_figure(PAGE, 0.5 * PAGE)
        axes = drawing.subplots(1, 2, sharey=True)
        panels = (
            (axes[0], np.where(fallen, ended, np.nan), "it ends after [s]", "magma", (0.0, until)),
            (axes[1], np.where(fallen, np.nan, np.degrees(np.abs(lean))), f"lean after {until:g} s [°]", "viridis", (0.0, 45.0)),
        )
        for panel, values, title, colors, (low, high) in panels:
            drawn = panel.pcolormesh(speed, knock, values.T, cmap=colors, vmin=low, vmax=high, shading="nearest", rasterized=True)
            drawing.colorbar(drawn, ax=panel, label=title)
            if pulled.any():
                panel.contourf(speed, knock, pulled.T.astype(float), levels=[0.5, 1.5], colors="none", hatches=["////"])
            for border in (WEAVE, CAPSIZE):
                panel.axvline(border, color="black", linewidth=0.8, linestyle="--")
            panel.set_xlabel("speed [m/s]")
        axes[0].set_ylabel("roll rate of the knock [rad/s]")
    return drawing
