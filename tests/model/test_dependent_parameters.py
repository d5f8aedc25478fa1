"""Parameters whose defaults are expressions of others: the equations are those with the expressions written out."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import draisine as dr
from draisine.model.files import from_toml, to_toml
from draisine.symbolic.rendering.model_text import describe, describe_as_data


def _pendulum(written_out: bool = False) -> dr.Model:
    """A cart with a pendulum; the trailing parameters follow from length and density."""
    m = dr.Model("crane")
    m.parameter("length", 0.8, "m")
    m.parameter("density", 2.5, "kg/m")
    if not written_out:
        # in another order than they depend on each other
        m.parameter("inertia", "mass*length^2/12", "kg*m^2", "about the center")
        m.parameter("mass", "density*length", "kg")
        m.parameter("reach", "length/2")
    mass, inertia, reach = ("mass", "inertia", "reach") if not written_out else (
        "density*length", "density*length*length^2/12", "length/2"
    )  # fmt: skip
    m.input("force", "N")
    m.body("cart", 2.0)
    m.body("rod", mass, (0, 0, f"-({reach})"), {"xx": inertia, "yy": inertia, "zz": "1e-4 kg*m^2"})
    m.prismatic("slide", "ground", "cart", axis="x")
    m.revolute("swing", "cart", "rod", axis="y")
    m.generalized_force("slide", "force")
    m.spring("swing", "3 N*m/rad", rest=f"0.1*({reach})")
    m.output("energy_scale", f"({mass})*9.81*length", "J")
    return m


START = {"swing": 0.7}


@pytest.mark.parametrize("parameters", [{}, {"length": 1.3}, {"length": "60 cm", "density": 4.0}])
def test_runs_are_those_with_the_expressions_written_out(parameters) -> None:
    one, two = (dr.simulate(_pendulum(w), 2.0, start=START, parameters=parameters) for w in (False, True))
    for name in ("slide", "swing", "energy_scale"):
        np.testing.assert_allclose(one[name], two[name], rtol=1e-9, atol=1e-10)


def test_sensitivities_and_linear_models_follow_the_base() -> None:
    one, two = (dr.simulate(_pendulum(w), 1.0, start=START, sensitivity=["length"]) for w in (False, True))
    np.testing.assert_allclose(one.sensitivity["swing", "length"], two.sensitivity["swing", "length"], rtol=1e-6, atol=1e-9)
    one, two = (dr.linearize(_pendulum(w), parameters={"length": 1.1}).A for w in (False, True))
    np.testing.assert_allclose(one, two, rtol=1e-12)


def test_certificate_and_ensembles() -> None:
    assert dr.certify(_pendulum()).passed
    over = {"length": [0.5, 0.9, 1.4]}
    one, two = (dr.ensemble(_pendulum(w), 1.0, over, start=START, outputs=["swing"]).to_pandas() for w in (False, True))
    np.testing.assert_allclose(one["swing.end"], two["swing.end"], rtol=1e-9, atol=1e-10)


def test_laws_and_events_may_use_them() -> None:
    laws = {"force": "-mass*slide - reach"}, {"force": "-density*length*slide - length/2"}
    events = ([dr.Event("half", f"swing - {s}", "record")] for s in ("reach", "length/2"))
    one, two = (
        dr.simulate(_pendulum(w), 1.0, start=START, inputs=law, events=event)
        for w, law, event in zip((False, True), laws, events, strict=True)
    )
    np.testing.assert_allclose(one["slide"], two["slide"], rtol=1e-9, atol=1e-10)


def test_overriding_a_dependent_parameter_is_refused_with_the_cure() -> None:
    with pytest.raises(dr.errors.ArgumentError, match=r"parameter 'mass' follows from others, mass = density\*length; give"):
        dr.simulate(_pendulum(), 1.0, parameters={"mass": 3.0})


def test_cycles_and_other_names_are_refused() -> None:
    m = _pendulum()
    m.parameter("a", "2*b")
    m.parameter("b", "a + 1")
    with pytest.raises(dr.errors.ModelError, match=r"the parameters 'a' → 'b' → 'a' are defined by each other|'b' → 'a' → 'b'"):
        m.freeze()
    for text, message in (
        ("swing", "may depend on parameters only"),
        ("lenght", "did you mean 'length'"),
        ("lean(rod)", "neither a"),
    ):
        m = _pendulum()
        m.parameter("bad", f"2*{text}")
        with pytest.raises(dr.errors.ModelError, match=message):
            m.freeze()


def test_units_are_checked() -> None:
    m = _pendulum()
    m.parameter("bad", "density*length", "m")
    with pytest.raises(dr.errors.ModelError, match=r"parameter 'bad': 'density\*length' is a mass"):
        m.freeze()
    with pytest.raises(dr.errors.ModelError, match="SI units"):
        m.parameter("far", "2*length", "cm")


def test_plausible_values_are_checked_at_the_values_given() -> None:
    with pytest.raises(dr.errors.ModelError, match="mass of body 'rod' is -2"):
        dr.simulate(_pendulum(), 1.0, parameters={"density": -2.5})


def test_files_summary_and_pickle() -> None:
    m = _pendulum()
    text = to_toml(m)
    assert 'mass = { value = "density*length", unit = "kg" }' in text
    assert from_toml(text).freeze() == m.freeze() == pickle.loads(pickle.dumps(m.freeze()))
    equations = dr.derive(m)
    shown = describe(equations, m.freeze())
    assert "= density*length = 2 kg" in shown and "about the center" in shown
    assert describe_as_data(equations)["dependent_parameters"]["reach"]["default"] == 0.4
    again = pickle.loads(pickle.dumps(equations))
    assert again.dependent_parameters == equations.dependent_parameters


def test_drawings_use_them(tmp_path) -> None:
    from draisine.view.scene.from_model import scene_of

    assert scene_of(_pendulum().freeze(), {"length": 2.0}) is not None
    run = dr.simulate(_pendulum(), 0.5, start=START, parameters={"length": 2.0})
    run.save(tmp_path / "film.html")
    assert (tmp_path / "film.html").stat().st_size > 1000
