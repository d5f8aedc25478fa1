"""Rides recorded in the page: files that draisine reads, steps that Python reproduces, and what is refused."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import draisine as dr
from draisine.cli.main import main
from draisine.errors import DataError
from draisine.studio.replay import replay
from resealed import reseal
from studio_node import run_node


@pytest.fixture(scope="module")
def ride(page, tmp_path_factory):
    """The path of a recorded ride."""
    folder = tmp_path_factory.mktemp("ride")
    text = run_node(
        f"load({json.dumps(str(page))});\nconst live = born();\n"
        """
        live.reset({ speed: 5.5, roll_rate: 0.3 });
        live.record(true);
        const refused = live.setParameter("trail", 0.1);
        if (!refused.includes("end the recording")) throw new Error(refused);
        for (let k = 0; k < 30; k++) live.advance(1 / 60, { steer_torque: Math.sin(k / 5) });
        live.push(8);
        for (let k = 0; k < 30; k++) live.advance(1 / 60, { pedal_torque: 10 });
        live.record(false);
        const text = live.recording();
        const ride = live.readRide(text);
        if (ride.time.length !== live.recorded.rows) throw new Error("rows");
        return text;
        """,
        None,
        folder,
    )
    path = folder / "ride.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_recorded_rides_reproduce(ride, equations):
    ride = dr.load(ride)
    assert ride.model == "bicycle" and len(ride.segments) == 2 and ride.parameters["trail"] == 0.08
    assert ride["pedal_torque"][-1] == 10.0 and ride.time[-1] == pytest.approx(1.0, abs=0.003)
    checked = replay(ride)
    assert checked.steps == len(ride) - 2 and checked.reproduced and checked.error < 1e-13
    assert "reproduced to 1e-09" in str(checked)
    k, names = 100, [o.name for o in equations.outputs]
    state = [ride[s.name][k] for s in equations.states]
    reported = equations.report([ride.time[k]], state, ride.inputs[k], list(ride.parameters.values()))
    outputs = reported[[s.name for s in equations.report.outputs].index("outputs")]
    np.testing.assert_allclose([ride[name][k] for name in names], outputs, rtol=1e-9, atol=1e-9)


def test_altered_rides_do_not_reproduce(ride, tmp_path):
    lines = ride.read_text(encoding="utf-8").splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("time,"))
    column = lines[head].split(",").index("steer_rate")
    fields = lines[head + 60].split(",")
    fields[column] = repr(float(fields[column]) + 1e-6)
    lines[head + 60] = ",".join(fields)
    path = tmp_path / "altered.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="damaged or changed"):
        dr.load(path)
    reseal(path)
    checked = replay(dr.load(path))
    assert not checked.reproduced and checked.error == pytest.approx(1e-6, rel=0.3) and "NOT" in str(checked)


def test_other_runs_are_no_rides(tmp_path):
    run = dr.simulate(dr.gallery.rolling_disk(), 0.1, samples=3)
    with pytest.raises(ValueError, match="was not recorded in the studio"):
        replay(run)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"method":"RK4"', '"method":"magic"', "should say"),
        ('"step":0.002', '"step":-1', "should say"),
        ('"step":0.002', '"step":0.004', "but after 0 s comes one of 0.002 s"),
        ('# model: "bicycle"', '# model: "tandem"', "no model 'tandem'"),
        ('"trail":0.08,', "", "has no parameter 'trail'"),
        ('"trail":0.08,', '"trail":NaN,', "not finite"),
    ],
)
def test_rides_that_say_nonsense(ride, tmp_path, old, new, complaint):
    text = ride.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "ride.csv"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    reseal(path)
    with pytest.raises((ValueError, KeyError), match=complaint):
        replay(dr.load(path))


def damaged(text, count):
    """The text with something cut, doubled, or overwritten, the same in every run."""
    chance = random.Random(8)
    for _ in range(count):
        at, length = chance.randrange(len(text)), chance.choice([1, 1, 3, 30, 3000])
        scrap = chance.choice(["", "\n", ",", "x", "1e999", "NaN", '"', "{", "#", "\u2028", "-", "0" * 50])
        yield chance.choice([text[:at] + scrap + text[at + length :], text[:at], text[:at] + text[at:][:length] + text[at:]])


def test_damaged_rides_are_refused_or_read(ride, tmp_path, page):
    """Never anything but a trajectory or a refusal that names the file; in the page, a ride of finite numbers or an Error."""
    lines = ride.read_text(encoding="utf-8").splitlines()[:25]  # its head and a few steps
    first = next(k for k, line in enumerate(lines) if line.startswith("time,")) + 1
    segment = {"mode": "motion", "independent": [], "start": 0, "stop": len(lines) - first}
    lines = [f"# segments: {json.dumps([segment])}" if line.startswith("# segments") else line for line in lines]
    text = "\n".join(lines) + "\n"
    path = tmp_path / "damaged.csv"
    path.write_text(text, encoding="utf-8")
    reseal(path)
    text = path.read_text(encoding="utf-8")
    whole = dr.load(path)
    assert len(whole) == len(lines) - first
    refused = 0
    texts = list(damaged(text, 150))
    for damage in texts:
        path.write_text(damage, encoding="utf-8")
        try:
            assert dr.load(path).identical(whole)
        except DataError as problem:
            refused += 1
            assert str(path) in str(problem)
    assert refused > 140
    said = run_node(
        """
        load(given.page);
        const live = born();
        return given.texts.map((text) => {
          try {
            const ride = live.readRide(text);
            return ride.states.flat().every(Number.isFinite) && ride.time.every(Number.isFinite) ? "ride" : "not finite";
          } catch (error) { return error.constructor === Error && error.message ? "refused" : String(error); }
        });
        """,
        {"page": str(page), "texts": texts},
        tmp_path,
    )
    assert set(said) <= {"ride", "refused"} and said.count("refused") > 100


def test_the_command_line_checks_rides(ride, tmp_path, capsys):
    assert main(["studio", "--check", str(ride)]) == 0
    assert "bicycle: " in capsys.readouterr().out
    text = ride.read_text(encoding="utf-8")
    altered = tmp_path / "altered.csv"
    altered.write_text(text.replace('"trail":0.08,', '"trail":0.081,', 1), encoding="utf-8")
    reseal(altered)
    assert main(["studio", "--check", str(altered)]) == 1
    assert "NOT reproduced" in capsys.readouterr().out
    altered.write_text("time,x\n1,2\n", encoding="utf-8")
    assert main(["studio", "--check", str(altered)]) == 2
    assert str(altered) in capsys.readouterr().err
