"""Which programs of a system can be had, checked against the system itself."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine as dr
from draisine.commands.export import LANGUAGES as NAMED_LANGUAGES
from draisine.commands.export import WHAT as NAMED_WHAT
from draisine.kernels.export import LANGUAGES, WHAT, ExportError
from draisine.kernels.export.what import items, per_second


@pytest.fixture(scope="module")
def bicycle():
    return dr.derive(dr.gallery.bicycle())


@pytest.fixture(scope="module")
def at(bicycle):
    rng = np.random.default_rng(4)
    x = rng.normal(size=len(bicycle.states)) * 0.3
    x[3:7] = [0.9, 0.1, -0.2, 0.3]
    x[3:7] /= np.linalg.norm(x[3:7])
    return (0.2, x, rng.normal(size=3), bicycle.default_parameters)


def only(equations, what):
    (item,) = items(equations, [what])
    return item


def test_everything_can_be_had(bicycle):
    made = items(bicycle, WHAT, "a bicycle")
    assert [item.program.name for item in made] == [f"bicycle_{what}" for what in WHAT]
    for item in made:
        labelled = [(slot.name, label) for slot in item.program.inputs for label in slot.labels]
        missing = [name for name in labelled if name not in item.guide.quantities]
        assert not missing


def test_linear_is_the_jacobian(bicycle, at):
    program = only(bicycle, "linear").program
    dx, du = program(*at)
    assert_allclose(dx, bicycle.dynamics.jacobian("xdot", "x")(*at)[0], rtol=1e-12, atol=1e-12)
    assert_allclose(du, bicycle.dynamics.jacobian("xdot", "u")(*at)[0], rtol=1e-12, atol=1e-12)
    step = np.zeros(len(at[1]))
    step[8] = 1e-6  # steer, by another road
    slope = (bicycle.dynamics(at[0], at[1] + step, *at[2:])[0] - bicycle.dynamics(at[0], at[1] - step, *at[2:])[0]) / 2e-6
    assert_allclose(dx[:, 8], slope, rtol=1e-6, atol=1e-6)


def test_mass_matrix_gives_the_kinetic_energy(bicycle, at):
    v, _, multipliers, outputs, energy = bicycle.report(*at)[:5]
    (matrix,) = only(bicycle, "mass_matrix").program(at[1][:10], at[3])
    assert_allclose(matrix, matrix.T, atol=1e-12)
    assert v @ matrix @ v / 2 == pytest.approx(energy[0], rel=1e-12)
    assert_allclose(only(bicycle, "multipliers").program(*at)[0], multipliers, rtol=1e-12)
    contacts = only(bicycle, "contacts").program
    whole = dict(zip(bicycle.report.output("outputs").labels, outputs, strict=True))
    labels = contacts.outputs[0].labels
    assert "front_wheel_contact_x" in labels and "speed" not in labels
    assert_allclose(contacts(*at)[0], [whole[label] for label in labels], rtol=1e-12, atol=1e-14)


def test_inverse_dynamics_tells_units_of_rates(bicycle):
    known = only(bicycle, "inverse_dynamics").guide.quantities
    assert known["vdot", "frame_vx"].unit == "m/s^2"
    assert known["efforts", "steer_rate"].unit == "N*m"
    assert (per_second("m"), per_second("rad/s"), per_second("")) == ("m/s", "rad/s^2", "1/s")


def test_complaints_say_what_there_is(bicycle):
    with pytest.raises(ExportError, match=r"nothing called 'dynamic' to export; choose from dynamics, linear"):
        items(bicycle, ["dynamic"])
    sled = dr.Model("sled")
    sled.planar(sled.body("sled", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(ExportError, match=r"'sled' has no contacts to export; it has dynamics, .*inverse_dynamics"):
        items(dr.derive(sled), ["contacts"])


def test_a_system_that_is_solved_at_run_time():
    equations = dr.gallery.model("delebecque_bicycle")
    assert only(equations, "multipliers").program.name == "delebecque_bicycle_multipliers"
    with pytest.raises(ExportError, match=r"would solve \d+ equations at run time; derive it from a model"):
        items(equations, ["linear"])


def test_the_command_line_names_everything():
    assert NAMED_WHAT.split(", ") == list(WHAT)
    assert NAMED_LANGUAGES.split(", ") == [*LANGUAGES, "casadi", "fmu"]
