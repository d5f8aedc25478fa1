"""Switching functions of models: those of the gallery, and of laws for inputs."""

from __future__ import annotations

import numpy as np
import pytest

from draisine import gallery
from draisine.codegen.equation_cache import derive_cached
from draisine.dynamics.derive import derive
from draisine.dynamics.input_laws import with_laws
from draisine.expr.expression import parse
from draisine.program.equations import Equations
from draisine.program.interpreter import interpret
from draisine.program.piecewise_inputs import with_piecewise_inputs
from draisine.program.switch_times import switch_times
from draisine.program.switching import find_switching

# a wheel that slips has no tangential force without load: where a multiplier passes zero, its derivative jumps;
# a friction patch has four edges, and each wheel passes all of them
EXPECTED = {
    "motorcycle_on_ice": [f"switch {number}" for number in range(1, 9)],
    "motorcycle_over_bump": [
        text
        for wheel in ("front", "rear")
        for passed in (f"max(({wheel}_place_x - 10)/bump_length, 0)",)
        for text in (passed, f"min({passed}, 1)")
    ],
    "tipping_tricycle": ["t < opens_at", "max((t - opens_at)/0.4, 0)", "min(max((t - opens_at)/0.4, 0), 1)"],
    "sliding_bicycle": ["switch 1", "switch 2"],
    "wheelset": ["switch 1", "switch 2", "max(-(lateral + flange_gap), 0)", "max(lateral - flange_gap, 0)"],
}
QUICK = ("bicycle", "rolling_disk", "car_slalom", "atwood", "four_bar", "wheel_on_waves", "shuttle", "sliding_bicycle")


def listed(name):
    model = gallery.model(name)
    equations = model if isinstance(model, Equations) else derive_cached(model.freeze())
    switching = find_switching(equations)
    return [] if switching is None else [switch.name for switch in switching.switches]


@pytest.mark.parametrize("name", QUICK)
def test_models_have_the_switches_they_should_have(name):
    assert listed(name) == EXPECTED.get(name, [])


@pytest.mark.further
@pytest.mark.parametrize("name", sorted(set(gallery.models()) - set(QUICK)))
def test_all_models_have_the_switches_they_should_have(name):
    assert listed(name) == EXPECTED.get(name, [])


def test_laws_of_inputs_switch():
    pulse = "where(t > 2, where(t < 2.1, 1, 0), 0) - 0.5*sign(steer_rate)"
    switching = find_switching(derive(gallery.bicycle(), {"steer_torque": parse(pulse)}))
    assert [s.name for s in switching.switches] == ["t > 2", "t < 2.1", "sign(steer_rate)"]
    assert switching.time_only == (0, 1) and [m.switch for m in switching.margins] == [2]
    equations = gallery.bicycle()
    assert switch_times(switching, 0.0, 5.0, np.zeros(3), derive(equations).default_parameters).times.tolist() == [2.0, 2.1]


def test_laws_in_typed_equations_switch():
    driven = with_laws(gallery.model("double_integrator"), {"force": parse("where(t < 1, 1, -1)")})
    switching = find_switching(driven)
    assert [(s.name, s.time_only, s.jump) for s in switching.switches] == [("t < 1", True, True)]


def test_outputs_and_events_do_not_count():
    model = gallery.bicycle()
    model.output("size", "abs(lean)", "rad")
    assert find_switching(derive(model)) is None


def test_piecewise_polynomial_inputs_do_not_switch():
    """Their coefficients are inputs, and each interval is a run of its own."""
    driven = with_piecewise_inputs(gallery.model("double_integrator"), ("force",), 1)
    assert find_switching(driven) is None


def test_fixed_dynamics_equal_the_original_within_a_branch():
    equations = derive(gallery.bicycle(), {"steer_torque": parse("where(t > 2, 1, -lean)")})
    switching = find_switching(equations)
    assert [switch.name for switch in switching.switches] == ["t > 2"]
    assert switching.dynamics.inputs[-1].size == len(equations.parameters) + 1
    rng = np.random.default_rng(0)
    x, u = rng.uniform(0.1, 0.3, len(equations.states)), np.zeros(len(equations.inputs))
    for t, branch in ((1.0, 0.0), (3.0, 1.0)):
        p = equations.default_parameters
        mine, theirs = interpret(equations.dynamics, [t], x, u, p), interpret(switching.dynamics, [t], x, u, [*p, branch])
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-13)
