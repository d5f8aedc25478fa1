"""Rules of numbers over many sets of parameters: the same verdicts as on each of them alone."""

from __future__ import annotations

import numpy as np
import pytest

from draisine.errors import ModelError
from draisine.expr.array_functions import array_functions
from draisine.expr.expression import FLOAT_FUNCTIONS
from draisine.model.contact.laws import Coulomb
from draisine.model.model import Model
from draisine.model.plausibility import ParameterRules, check_numbers
from draisine.model.system import System


def test_functions_over_arrays_are_those_of_numbers() -> None:
    arrays = array_functions()
    assert set(arrays) == set(FLOAT_FUNCTIONS)
    random = np.random.default_rng(3)
    for name, function in FLOAT_FUNCTIONS.items():
        count = (
            3 if name in ("clip", "where") else 2 if name in ("add", "sub", "mul", "div", "pow", "lt", "le", "gt", "ge") else 1
        )
        count = 2 if name in ("min", "max", "hypot", "atan2") else count
        columns = random.uniform(-2.0, 2.0, (count, 40))
        if name == "clip":
            columns[2] = columns[1] + 1.0
        with np.errstate(all="ignore"):
            found = arrays[name](*columns)
        np.testing.assert_allclose(found, [function(*row) for row in columns.T.tolist()], rtol=1e-14, atol=1e-15, err_msg=name)


@pytest.fixture(scope="module")
def system() -> System:
    """A wheel with a law of friction on a cart whose inertia follows from lengths."""
    m = Model("cart")
    for name, value in {"load": 2.0, "width": 0.5, "height": 0.3, "rim": 0.4, "tire": 0.1, "grip": 0.7}.items():
        m.parameter(name, value)
    inertia = ("load*(width^2 + height^2)/12", "load*width^2/12", "load*(height^2 + 0.1*sqrt(height - 0.1))/12")
    m.body("cart", mass="load - 1", inertia=inertia)
    m.body("disc", mass=1, inertia=(0.1, 0.2, 0.1))
    m.free("cart")
    m.revolute("spin", "cart", "disc", axis="y")
    m.wheel("rear", "disc", "rim - 0.1", tube="tire", contact=Coulomb("grip"))
    return m.freeze()


def test_verdicts_over_samples_are_those_on_each(system: System) -> None:
    random = np.random.default_rng(1)
    spans = {
        "load": (0.5, 3),
        "width": (0.3, 0.6),
        "height": (0.05, 0.6),
        "rim": (0.05, 1),
        "tire": (-0.1, 0.5),
        "grip": (-0.2, 1),
    }
    columns = {name: random.uniform(*span, 200) for name, span in spans.items()}
    rules = ParameterRules.of(system, {}, frozenset(columns))
    verdicts = rules.first_violations(columns)
    assert len(set(verdicts.tolist())) >= 6
    for lane, verdict in enumerate(verdicts):
        values = {name: float(column[lane]) for name, column in columns.items()}
        if verdict < 0:
            check_numbers(system, values)
            continue
        with pytest.raises(ModelError) as caught:
            check_numbers(system, values)
        assert str(caught.value) == rules.complaint(int(verdict), values)
        if "must be" in rules.reasons[verdict]:
            assert str(caught.value).startswith(rules.reasons[verdict].split(" must be")[0])
