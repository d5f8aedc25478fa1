"""Which programs of a system can be had, checked against the system itself."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine as dr
from draisine.cli.model_options import LANGUAGES as NAMED_LANGUAGES
from draisine.cli.model_options import WHAT as NAMED_WHAT
from draisine.codegen.export.exportable_programs import WHAT, items, per_second
from draisine.codegen.export.languages import LANGUAGES
from draisine.errors import ExportError
from draisine.symbolic.differential_algebraic import semi_explicit


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
    has = [what for what in WHAT if what not in ("residual", "switching")]
    made = items(bicycle, has, "a bicycle")
    assert [item.program.name for item in made] == [f"bicycle_{what}" for what in has]
    for item in made:
        labeled = [(slot.name, label) for slot in item.program.inputs for label in slot.labels]
        missing = [name for name in labeled if name not in item.guide.quantities]
        assert not missing


def test_linear_is_the_jacobian(bicycle, at):
    program = only(bicycle, "linear").program
    dx, du = program(*at)
    assert_allclose(dx, bicycle.dynamics.jacobian("xdot", "x")(*at)[0], rtol=1e-12, atol=1e-12)
    assert_allclose(du, bicycle.dynamics.jacobian("xdot", "u")(*at)[0], rtol=1e-12, atol=1e-12)
    step = np.zeros(len(at[1]))
    step[8] = 1e-6  # steer, by a difference quotient
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
    assert known["generalized_forces", "steer_rate"].unit == "N*m"
    assert (per_second("m"), per_second("rad/s"), per_second("")) == ("m/s", "rad/s^2", "1/s")


def test_complaints_say_what_there_is(bicycle):
    with pytest.raises(ExportError, match=r"no program 'dynamic' to export; choose from dynamics, residual, switching, linear"):
        items(bicycle, ["dynamic"])
    sled = dr.Model("sled")
    sled.planar(sled.body("sled", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(ExportError, match=r"'sled' has no contacts to export; it has dynamics, .*inverse_dynamics"):
        items(dr.derive(sled), ["contacts"])


def test_a_system_that_is_solved_at_run_time():
    equations = dr.gallery.model("delebecque_bicycle")
    assert only(equations, "multipliers").program.name == "delebecque_bicycle_multipliers"
    by_state, by_input = (item.program for item in items(equations, ["linear"]))
    rng = np.random.default_rng(5)
    x = np.array([s.default for s in equations.states]) + rng.uniform(-0.05, 0.05, len(equations.states))
    u, p = rng.normal(size=2), equations.default_parameters
    step = rng.normal(size=len(x)) * 1e-6
    slope = equations.dynamics([0.0], x + step, u, p)[0] - equations.dynamics([0.0], x - step, u, p)[0]
    assert_allclose(by_state([0.0], x, u, p)[0] @ (2 * step), slope, rtol=1e-6, atol=1e-8 * np.abs(slope).max())
    push = np.array([1e-3, -2e-3])
    slope = equations.dynamics([0.0], x, u + push, p)[0] - equations.dynamics([0.0], x, u - push, p)[0]
    assert_allclose(by_input([0.0], x, u, p)[0] @ (2 * push), slope, rtol=1e-6, atol=1e-9)


def test_mass_matrix_of_typed_equations_is_that_of_the_graph():
    """The double pendulum by its Lagrangian, in absolute angles; the graph has relative ones."""
    typed, graph = dr.gallery.model("double_pendulum"), dr.derive(dr.gallery.double_pendulum_graph())
    p, q = np.array([1.3, 0.6, 0.7, 0.9, 9.81]), np.array([0.4, -0.9])
    names = [[parameter.name for parameter in e.parameters] for e in (typed, graph)]
    assert names[0] == names[1]
    (absolute,) = only(typed, "mass_matrix").program([0.0], [*q, 0.0, 0.0], [], p)
    (relative,) = only(graph, "mass_matrix").program([q[0], q[1] - q[0]], p)
    change = np.array([[1.0, 0.0], [-1.0, 1.0]])  # relative rates from absolute ones
    assert_allclose(absolute, change.T @ relative @ change, rtol=1e-13)


# ---------------------------------------------------------------- equations that nobody has solved


@pytest.fixture(scope="module")
def pendulum():
    """Index 3, with a push as input: m ẍ = −λ x + push."""
    import sympy

    x, y, vx, vy, tension, g, push = sympy.symbols("x y vx vy tension g push")
    rates = {x: vx, y: vy, vx: -x * tension + push, vy: -y * tension - g}
    circle = {"circle": x**2 + y**2 - 1}
    return semi_explicit("pendulum", rates, constraints=circle, unknowns=[tension], inputs=[push], parameters={g: 9.81})


def test_residual_and_its_jacobians(pendulum):
    rng = np.random.default_rng(6)
    at = ([0.0], rng.normal(size=5), rng.normal(size=5), rng.normal(size=1), pendulum.default_parameters)
    residual, linear = only(pendulum, "residual"), only(pendulum, "linear")
    assert_allclose(residual.program(*at)[0], pendulum.dynamics(*at), rtol=1e-15)
    assert residual.program.input("xdot").labels == ("dx/dt", "dy/dt", "dvx/dt", "dvy/dt", "dtension/dt")
    by_state, by_rate, by_input = linear.program(*at)
    assert_allclose(by_rate, np.diag([1.0, 1.0, 1.0, 1.0, 0.0]), atol=1e-15)
    x, y, tension = at[1][0], at[1][1], at[1][4]
    expected = np.array(
        [[0, 0, -1, 0, 0], [0, 0, 0, -1, 0], [tension, 0, 0, 0, x], [0, tension, 0, 0, y], [2 * x, 2 * y, 0, 0, 0]]
    )
    assert_allclose(by_state, expected, rtol=1e-14, atol=1e-15)
    assert_allclose(by_input, [0, 0, -1, 0, 0], atol=1e-15)
    for item in (residual, linear):
        assert {("xdot", label) for label in item.program.input("xdot").labels} <= set(item.guide.quantities)


def test_what_a_residual_has_not_is_said(pendulum, bicycle, tmp_path, capsys):
    with pytest.raises(
        ExportError, match=r"'pendulum' has no dynamics to export \(it is given as 0 = F.*export its residual and linear"
    ):
        items(pendulum, ["dynamics"])
    with pytest.raises(ExportError, match=r"'bicycle' has no residual to export; it has dynamics"):
        items(bicycle, ["residual"])
    with pytest.raises(
        ExportError, match="functional mock-up unit computes the rate of the state, but 'pendulum' is given as 0 = F"
    ):
        dr.export(pendulum, "fmu", out=tmp_path / "here")
    assert not (tmp_path / "here").exists()
    paths = dr.export(pendulum, ["c", "python"], ["residual", "linear"], tmp_path)
    assert [p.name for p in paths] == [f"pendulum_{w}.{s}" for s in ("c", "py") for w in ("residual", "linear")]
    text = paths[0].read_text(encoding="utf-8")
    assert "all vanish where xdot is the rate of x" in text and "dtension/dt" in text


def test_the_command_line_names_everything():
    assert NAMED_WHAT.split(", ") == list(WHAT)
    assert NAMED_LANGUAGES.split(", ") == [*LANGUAGES, "casadi", "fmu"]
