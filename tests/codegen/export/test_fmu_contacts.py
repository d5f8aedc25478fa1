"""Functional mock-up units of models with contacts that stick, slip and open, beside `simulate` and closed forms.

Co-simulation steps by the loop of `simulate`. In model exchange CVode of fmpy integrates and locates the event indicators; its
errors are those of a BDF method at the tolerance given.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import draisine as dr
from draisine.gallery.entries.belt_oscillator import limit_cycle
from draisine.gallery.entries.skidding_bicycle import by_hand

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
KINDS = ("CoSimulation", "ModelExchange")
SLOPE, FALL = math.radians(20), {"ball_z": 1.1, "ball_vx": 3.0}
RIDE = {"speed": 6.0} | dict.fromkeys(("lean", "steer", "roll_rate", "steer_rate", "yaw_rate"), 0.0)
SLIDE = {"x": 0.0, "z": 0.0, "turn": SLOPE, "turn_rate": 0.0, "block_speed": 2.0}


def ball() -> dr.Model:
    m = dr.Model("ball")
    m.gravity(9.81)
    body = m.body("ball", mass=0.5, inertia=(0.4 * 0.5 * 0.1**2,) * 3)
    m.free(body)
    m.contact("floor", body, radius=0.1, friction=0.1, restitution=0.5)
    return m


@pytest.fixture(scope="module")
def fmpy():
    import fmpy  # takes a second

    return fmpy


MODELS: dict[str, tuple[Callable[[], dr.Model], dict[str, float]]] = {
    "ball": (ball, FALL),
    "block": (dr.gallery.block_on_slope, SLIDE),
    "belt": (dr.gallery.belt_oscillator, {"x": 0.0, "x_rate": 0.2}),
    "bicycle": (dr.gallery.skidding_bicycle, RIDE),
}


class Units(dict[str, Path]):
    """Units by name of a model, made when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __missing__(self, name: str) -> Path:
        model, start = MODELS[name]
        self[name] = dr.export(model(), "fmu", out=self._folder, start=start)[0]
        return self[name]


@pytest.fixture(scope="module")
def units(tmp_path_factory) -> Units:
    return Units(tmp_path_factory.mktemp("units"))


def run_unit(fmpy: Any, unit: Path, kind: str, until: float, names: list[str], tolerance: float = 1e-9, **options: Any) -> Any:
    return fmpy.simulate_fmu(
        str(unit), fmi_type=kind, stop_time=until, output_interval=until / 50, relative_tolerance=tolerance, output=names,
        record_events=False, **options,
    )  # fmt: skip


def reference(model: dr.Model, until: float, start: Any, **options: Any) -> dr.Trajectory:
    run = dr.simulate(model, until, start=start, method=dr.methods.DOP853(rtol=1e-10, atol=1e-12), samples=51, **options)
    assert run.status.kind == "FINISHED", run.status
    return run


def agree(found: Any, run: dr.Trajectory, names: list[str], within: float) -> None:
    for name in names:
        np.testing.assert_allclose(found[name], run[name], rtol=0, atol=within, err_msg=name)


def test_description(units, fmpy):
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(units["block"])) == []
    with zipfile.ZipFile(units["block"]) as archive:
        root = ET.fromstring(archive.read("modelDescription.xml"))
        assert {"sources/fmi3_contacts.h", "sources/block_on_slope_machine.c"} <= set(archive.namelist())
    variables = {v.get("name"): v for v in root.iter() if v.get("valueReference") and v.get("name")}
    assert [v.get("name") for v in root.iter("Int32")] == ["front_mode", "rear_mode"]
    assert variables["front_mode"].get("variability") == "discrete" and variables["front_mode"].get("causality") == "output"
    indicators = [v.get("valueReference") for v in root.iter("EventIndicator")]
    names = [f"{side}_{what}" for side in ("front", "rear") for what in ("gap_or_force", "slip_or_friction")]
    assert indicators == [variables[name].get("valueReference") for name in names]
    assert root.find("ModelExchange").get("needsCompletedIntegratorStep") == "true"


def test_sources_compile_without_a_warning(units, tmp_path):
    with zipfile.ZipFile(units["belt"]) as archive:
        archive.extractall(tmp_path)
    sources = sorted((tmp_path / "sources").glob("*.c"))
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror", "-shared", "-fPIC"]
    done = subprocess.run(["gcc", *strict, "-o", tmp_path / "unit.so", *sources, "-lm"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]


@pytest.mark.parametrize("kind", KINDS)
def test_ball_comes_to_rest(units, fmpy, kind):
    names = ["ball_x", "ball_z", "ball_vx", "ball_wy", "work"]
    found = run_unit(fmpy, units["ball"], kind, 2.0, [*names, "floor_mode"], 1e-10)
    assert found["floor_mode"].dtype == np.int32
    rests = 3 * math.sqrt(2 / 9.81)  # the bounces end at t (1 + e)/(1 − e)
    assert (found["floor_mode"] == np.where(found["time"] > rests, 2, 0)).all()
    assert found["ball_wy"][-1] * 0.1 == pytest.approx(3.0 * 5 / 7, abs=1e-7)  # rolls with 5/7 of its velocity
    agree(found, reference(ball(), 2.0, FALL), names, 1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_block_slides_and_sticks(units, fmpy, kind):
    found = run_unit(fmpy, units["block"], kind, 2.0, ["way", "front_mode", "rear_mode"])
    stops = 2.0 / (9.81 * (0.5 * math.cos(SLOPE) - math.sin(SLOPE)))
    for name in ("front_mode", "rear_mode"):
        assert (found[name] == np.where(found["time"] > stops, 2, 1)).all()
    assert abs(found["way"][-1]) == pytest.approx(stops, abs=1e-8)  # v₀ t/2


@pytest.mark.parametrize("kind", KINDS)
def test_oscillator_sticks_and_slips(units, fmpy, kind):
    """Through six changes; every slip begins at F_s/k, and the mean of stick and slip is that of the closed form."""
    found = run_unit(fmpy, units["belt"], kind, 4.0, ["x", "x_rate", "belt_mode"])
    run = reference(dr.gallery.belt_oscillator(), 4.0, {"x": 0.0, "x_rate": 0.2})
    agree(found, run, ["x", "x_rate"], 1e-6)
    assert (found["belt_mode"] == run["belt_mode"]).all()
    known = limit_cycle()
    leaves = known["breaks_away"] / 0.2  # then the motion is periodic
    cycle = (found["time"] - leaves) % (known["stick"] + known["slip"])
    expected = np.where(cycle < known["slip"], 1, 2)[found["time"] > leaves]
    assert (found["belt_mode"][found["time"] > leaves] == expected).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side, torque", [("front", 200.0), ("rear", 150.0)])
def test_wheel_that_locks_and_skids(units, fmpy, kind, side, torque):
    lever = f"{side}_lever"
    names = ["speed", f"{side}_brake_mode", f"{side}_wheel_mode"]
    found = run_unit(fmpy, units["bicycle"], kind, 1.0, names, start_values={"grip": 0.5, lever: torque})
    skids = (found[names[1]] == 2) & (found[names[2]] == 1)
    assert skids[-1]
    first = int(np.argmax(skids))
    fall = (found["speed"][-1] - found["speed"][first]) / (found["time"][-1] - found["time"][first])
    assert fall == pytest.approx(-by_hand(0.5)[side == "rear"], abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_brake_that_is_applied_on_the_way(units, fmpy, kind):
    """A jump of an input, in event mode: the wheel is locked at once or later, as in `simulate`."""
    signal = np.array([(0.0, 0.0), (0.3, 0.0), (0.3, 200.0), (1.0, 200.0)], dtype=[("time", float), ("front_lever", float)])
    names = ["speed", "front_wheel_spin", "rear_wheel_angle"]
    found = run_unit(fmpy, units["bicycle"], kind, 1.0, [*names, "front_wheel_mode"], input=signal, start_values={"grip": 0.5})
    inputs = {"front_lever": "where(t < 0.3, 0, 200)"}
    run = reference(dr.gallery.skidding_bicycle(), 1.0, RIDE, inputs=inputs, parameters={"grip": 0.5})
    agree(found, run, names, 1e-6)
    behind = found["time"] > 0.3 + 1e-9
    assert (found["front_wheel_mode"][behind] == run["front_wheel_mode"][behind]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_modes_that_are_not_included_are_an_error(fmpy, tmp_path, kind):
    (unit,) = dr.export(dr.gallery.block_on_slope(), "fmu", out=tmp_path, start=SLIDE, modes={"front": ("slip", "open")})
    reported = []

    def log(environment: Any, status: int, category: bytes, message: bytes) -> None:
        reported.append(message.decode())

    with pytest.raises(fmpy.fmi1.FMICallException):
        run_unit(fmpy, unit, kind, 2.0, ["way"], logger=log)
    stops = 2.0 / (9.81 * (0.5 * math.cos(SLOPE) - math.sin(SLOPE)))
    assert "contact 'front' sticks, which is not among the modes of this FMU" in reported[-1]
    assert float(reported[-1].split()[3]) == pytest.approx(stops, abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_starts_of_the_importer(units, fmpy, kind):
    """Modes follow from a state that the importer sets: another height, or on the floor with a slip, which ends in rolling."""
    names = ["ball_x", "ball_z"]
    lower = run_unit(fmpy, units["ball"], kind, 0.5, [*names, "floor_mode"], 1e-10, start_values={"ball_z": 0.6})
    agree(lower, reference(ball(), 0.5, {"ball_z": 0.6, "ball_vx": 3.0}), names, 1e-7)
    slides = run_unit(fmpy, units["ball"], kind, 1.0, ["ball_x", "floor_mode"], 1e-10, start_values={"ball_z": 0.1})
    rolls = 2 * 3.0 / (7 * 0.1 * 9.81)  # 2 v₀/(7 μ g)
    assert (slides["floor_mode"] == np.where(slides["time"] > rolls, 2, 1)).all()
    way = 3.0 * rolls - 0.5 * 0.1 * 9.81 * rolls**2 + 15 / 7 * (1.0 - rolls)
    assert slides["ball_x"][-1] - slides["ball_x"][0] == pytest.approx(way, abs=1e-7)


def test_state_is_kept_for_another_instance(units, fmpy):
    """In the middle of the bounces; the copy goes through bytes, and both continue to the same bits."""
    described = fmpy.read_model_description(str(units["ball"]))
    references = [v.valueReference for v in described.modelVariables if v.name in ("ball_x", "ball_z", "ball_vz")]
    folder = fmpy.extract(str(units["ball"]))

    def instance() -> Any:
        unit = fmpy.instantiate_fmu(folder, described, "CoSimulation")
        unit.enterInitializationMode(startTime=0.0)
        unit.exitInitializationMode()
        return unit

    one, other = instance(), instance()
    for k in range(10):
        one.doStep(0.1 * k, 0.1)
    kept = one.getFMUState()
    copy = other.deserializeFMUState(one.serializeFMUState(kept))
    other.setFMUState(copy)
    for unit in (one, other):
        unit.doStep(1.0, 0.7)
    assert list(one.getFloat64(references)) == list(other.getFloat64(references))
    one.setFMUState(kept)
    one.doStep(1.0, 0.7)
    assert list(one.getFloat64(references)) == list(other.getFloat64(references))
    one.reset()
    one.enterInitializationMode(startTime=0.0)
    one.exitInitializationMode()
    one.doStep(0.0, 0.1)
    assert one.getFloat64(references)[1] == pytest.approx(1.1 - 0.5 * 9.81 * 0.01, abs=1e-9)
    for unit in (one, other):
        unit.terminate()
        unit.freeInstance()
