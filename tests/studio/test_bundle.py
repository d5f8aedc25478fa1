"""Bundles of every model of the gallery: they run in Node, or are refused with a reason; what is put into pages is harmless."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

import draisine as dr
from draisine import gallery
from draisine.errors import ArgumentError, ModelError
from draisine.model.model import Model
from draisine.program.equations import Equations, Quantity
from draisine.studio.bundle import RUNTIME, bundle, safe, web_file
from draisine.studio.ranges import parameter_range
from studio_node import run_node

REFUSED = {
    **dict.fromkeys(
        (
            "three_body_with_multiplier",
            "van_der_pol_singular",
            "van_der_pol_limit",
            "singular_constraint",
            "shuttle",
            "shuttle_at_altitude",
            "shuttle_with_path_put_in",
        ),
        r"cannot run in the studio: it is given as 0 = F\(t, x, ẋ\)",
    ),
    "ladder": "cannot run in the studio: 85 equations would be solved at every step",
    "tipping_tricycle": "contacts that open and laws that jump",
}
LIVE = [name for name in gallery.models() if name not in REFUSED]
WITH_SPECTRUM = {
    "bicycle",
    "schwab_bicycle",
    "two_mass_skate",
    "leaning_rider",
    "delebecque_graph",
    "sanjuan_bicycle",
    "unicycle",
}


@pytest.mark.parametrize("name", LIVE)
def test_every_model_lives(name, tmp_path):
    """Bundled, and moved for a tenth of a second by Node."""
    made, model = bundle(name), gallery.model(name)
    manifest, equations = made.manifest, model if isinstance(model, Equations) else dr.derive(model)  # known from the bundle
    (tmp_path / "model.js").write_text(made.as_script(), encoding="utf-8")
    said = run_node(
        """
        load(given);
        const live = born();
        const rest = Object.fromEntries(live.manifest.inputs.map((u) => [u.name, 0.1 * u.high]));
        const start = numbers(live.state);
        const status = live.advance(0.1 * live.manifest.pace, rest);
        const xdot = new Float64Array(live.state.length);
        live._field(live.time, live.state, xdot);
        const x = numbers(live.state), u = numbers(live.inputs), p = numbers(live.p), time = live.time, whys = [];
        const lengths = live.manifest.parameters.filter((p) => p.unit === "m" && p.default).slice(0, 2);
        for (const { name, default: usual } of lengths) {
          whys.push(live.setParameter(name, 1.01 * usual), live.setParameter(name, usual));
        }
        const moved = Math.max(0, ...x.map((value, k) => Math.abs(live.state[k] - value)));
        return { status, why: live.why, start, time, x, u, p, xdot: numbers(xdot), poses: numbers(live.poses()),
                 outputs: numbers(live.outputs()), whys: whys.filter((why) => why), moved };
        """,
        str(tmp_path / "model.js"),
        tmp_path,
    )
    assert said["status"] == "ok" or name == "goddard_rocket", said["why"]
    for values in ("start", "x", "xdot", "poses"):
        assert all(isinstance(v, int | float) for v in said[values]), f"{name}: {values} are not finite"
    expected = equations.explicit([said["time"]], said["x"], said["u"], said["p"])[0]
    assert np.all(np.abs(np.array(said["xdot"]) - expected) <= 1e-9 * np.maximum(1.0, np.abs(expected)))
    assert len(said["outputs"]) == len(manifest["outputs"]) and len(said["poses"]) == 7 * len(manifest["bodies"])
    assert said["x"] != said["start"] or not np.any(expected)
    most = 1e-5 if equations.unilateral else 1e-7  # steps with contacts have a tolerance of 1e-6
    assert not said["whys"] and said["moved"] < most, "a slider moved there and back"
    assert (manifest["linear"] is not None) >= (name in WITH_SPECTRUM)
    assert manifest["start"].keys() == gallery.live(name).start.keys()
    json.dumps(manifest, allow_nan=False)
    check_limits(manifest)


def check_limits(manifest):
    for entry in (*manifest["parameters"], *manifest["targets"]):
        assert entry["low"] <= entry["default"] <= entry["high"] and entry["low"] < entry["high"], entry
        assert math.isfinite(entry["low"]) and math.isfinite(entry["high"])
    for entry in manifest["inputs"]:
        assert entry["low"] < 0 < entry["high"] and 0 < entry["step"] < entry["high"]
    known = {w["name"] for w in manifest["targets"]}
    assert {name for name in manifest["start"] if not re.search("_q[wxyz]$", name)} <= known  # quaternions have no sliders


@pytest.mark.parametrize(("name", "reason"), REFUSED.items())
def test_others_are_refused_with_a_reason(name, reason):
    with pytest.raises((ModelError, ArgumentError), match=reason):
        bundle(name)


def test_too_stiff_a_model_is_refused():
    m = Model("stiff")
    m.prismatic("x", "ground", m.body("block", mass=1e-6), axis="x")
    m.generalized_force("x", "-1e6*x - 1e4*x_rate")
    with pytest.raises(ModelError, match=r"its fastest rate is .* and an explicit step would have to be"):
        bundle(m)
    assert bundle(m, step=1e-6).manifest["runtime"]["step"] == 1e-6


@pytest.mark.parametrize("step", [0.0, -1.0, math.nan, math.inf])
def test_steps_that_are_none(step):
    with pytest.raises(ValueError, match="step is the step size"):
        bundle("van_der_pol", step=step)


# ---------------------------------------------------------------- limits


def test_sliders_keep_sense():
    mass, product, angle, nothing = (
        parameter_range(Quantity("m", "kg", default=4.0)),
        parameter_range(Quantity("ixz", "kg*m^2", default=-2.4)),
        parameter_range(Quantity("tilt", "rad", default=0.3)),
        parameter_range(Quantity("offset", "m", default=0.0)),
    )
    assert 0 < mass.low < 4 < mass.high
    assert product.low < -2.4 < product.high < 0
    assert -math.pi / 2 <= angle.low < 0.3 < angle.high <= math.pi / 2
    assert nothing.low == -nothing.high < 0


def test_what_constraints_decide_is_no_target():
    targets = {w["name"] for w in bundle("bicycle").manifest["targets"]}
    assert {"speed", "lean", "steer", "roll_rate", "heading", "steer_rate"} <= targets
    assert not {"pitch", "frame_z", "frame_qw"} & targets


# ---------------------------------------------------------------- what pages are given

HOSTILE = "</script><script>alert(1)</script><!-- & '\" \\"


@pytest.fixture(scope="module")
def hostile():
    m = Model("hostile", HOSTILE)
    length = m.parameter("length", 1.0, "m", HOSTILE)
    m.gravity(m.parameter("gravity", 9.81, "m/s^2", HOSTILE))
    bob = m.body("bob", mass=1.0, center_of_mass=(0, 0, -length))
    m.revolute("swing", "ground", bob, axis="y")
    m.generalized_force("swing", m.input("torque", "N*m", HOSTILE))
    m.output("height", "-length*cos(swing)", "m", HOSTILE)
    return bundle(m)


def test_texts_cannot_leave_their_script(hostile, tmp_path):
    script = hostile.as_script()
    assert not re.search(r"</script|<script|<!--|\u2028|\u2029", script, re.IGNORECASE)
    path = tmp_path / "hostile.js"
    path.write_text(script, encoding="utf-8")
    description = run_node(
        "load(given); return [Draisine.manifest.description, born().advance(0.1, { torque: 1 })];", str(path), tmp_path
    )
    assert description == [HOSTILE, "ok"]


def test_programs_hold_no_text_of_the_model(hostile):
    assert "alert" not in hostile.script and "//" not in hostile.script


@pytest.mark.parametrize("text", ["a </SCRIPT b", "<!-- x", "\u2028"])
def test_unsafe_scripts_are_refused(text):
    with pytest.raises(ModelError, match="cannot be embedded in a page"):
        safe(text)


def test_the_runtime_asks_nobody_for_anything():
    for name in RUNTIME:
        text = web_file(name)
        for word in ("import ", "export ", "require(", "XMLHttpRequest", "WebSocket", "eval(", "new Function", "innerHTML"):
            assert word not in text, f"{name} has {word!r}"
        assert not re.search(r"\bfetch\(", text)


def test_the_same_bundle_every_time():
    one, two = bundle("rolling_disk"), bundle("rolling_disk")
    assert one.as_script() == two.as_script()
