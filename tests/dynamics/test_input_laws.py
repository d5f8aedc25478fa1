"""Input laws and events for existing equations."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.dynamics.input_laws import with_laws
from draisine.errors import ModelError
from draisine.expr.expression import parse

EXACT = dr.methods.DOP853(rtol=1e-11, atol=1e-13)


def sled() -> dr.Equations:
    """Two masses in a plane on a rod, pushed by two forces: holonomic, with a pivoted solution, projection and work."""
    a, b, c = dynamicsymbols("a b c")
    m, k, f, g = sp.symbols("m k f g")
    return dr.lagrangian(
        "sled",
        [a, b, c],
        kinetic=m * (a.diff() ** 2 + b.diff() ** 2 + 2 * c.diff() ** 2) / 2,
        potential=k * c**2 / 2,
        forces={a: f, c: g},
        holonomic={"rod": (a**2 + b**2 - 1) / 2},
        parameters={m: 1.3, k: 20.0},
        inputs=[f, g],
        outputs={"stretch": c - a, "swing": a * b.diff() - b * a.diff()},
        start={b: -1.0},
        units={c: "m"},
        work=True,
    )


def test_a_law_is_what_the_control_would_say():
    e, start = sled(), {"a": 0.2, "c": 0.3}
    laws = {"f": "-2*a_rate + 3*stretch + k*sin(4*t)/10", "g": 0.4}
    run = dr.simulate(e, 3.0, start=start, inputs=laws, method=EXACT)

    def asked(t, s):
        return {"f": -2 * s["a_rate"] + 3 * s["stretch"] + 20.0 * np.sin(4 * t) / 10, "g": 0.4}

    again = dr.simulate(e, 3.0, start=start, control=dr.control.EveryStage(asked), method=EXACT)
    for name in ("a", "b", "c", "swing", "f", "g", "rod_multiplier", "f_power", "work"):
        assert run[name] == pytest.approx(again[name], abs=1e-8), name
    assert run.energy_drift < 1e-9 and again.energy_drift < 1e-9
    assert np.ptp(run["f"]) > 1.0 and run.channel("c").unit == "m"


def test_parameters_stay_open_in_laws():
    e = sled()
    first = dr.simulate(e, 1.0, start={"c": 0.3}, inputs={"g": "k*c"}, parameters={"k": 7.0}, method=EXACT)
    assert first["c"] == pytest.approx(np.full_like(first.time, 0.3), abs=1e-12)  # the law holds the spring


def test_programs_keep_their_slots():
    e = sled()
    other = with_laws(e, {"f": parse("-c")}, (dr.Event("far", "c - 1"),))
    for kind in ("dynamics", "report", "motion", "project"):
        old, new = getattr(e, kind), getattr(other, kind)
        assert (old.inputs, old.outputs) == (new.inputs, new.outputs), kind
    assert other.events is not None and other.event_list[-1].name == "far"
    assert with_laws(e) is e
    assert with_laws(e, {"f": parse("-c")}) is with_laws(e, {"f": parse("-c")})  # compiled once


def test_events_stop_a_run():
    run = dr.simulate(sled(), 5.0, start={"c": 0.5}, events=[dr.Event("through", "c + 0*f", "stop", -1)], method=EXACT)
    quarter = np.pi / 2 / np.sqrt(20.0 / 2.6)
    assert run.events[0].time == pytest.approx(quarter, abs=1e-9) and run.time[-1] == pytest.approx(quarter, abs=1e-9)


def test_events_see_the_law():
    """An event of an input that has a law is an event of the law."""
    run = dr.simulate(sled(), 1.0, inputs={"g": "t - 0.4"}, events=[dr.Event("turns", "g", "record", 1)])
    assert run.events[0].time == pytest.approx(0.4, abs=1e-9)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda: dr.simulate(sled(), 1.0, inputs={"h": "c"}), "no input 'h'"),
        (lambda: dr.simulate(sled(), 1.0, inputs={"f": "cc"}), "law of input 'f': unknown name 'cc'"),
        (lambda: dr.simulate(sled(), 1.0, inputs={"f": "2*g"}), "uses the input 'g'"),
        (lambda: dr.simulate(sled(), 1.0, events=[dr.Event("odd", "cc")]), "event 'odd': unknown name 'cc'"),
        (
            lambda: dr.simulate(dr.derive(dr.gallery.bicycle()), 1.0, inputs={"steer_torque": "-steer"}),
            "while velocities are eliminated",
        ),
    ],
)
def test_complaints_name_the_thing(spoil, said):
    with pytest.raises(ModelError, match=said):
        spoil()
