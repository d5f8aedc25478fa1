"""The command line as people type it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import draisine as dr
from draisine.cli.main import main


def run(capsys, *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def test_list_names_models_and_studies(capsys):
    code, out, _ = run(capsys, "list")
    assert code == 0
    assert "bicycle" in out and "bicycle_free_run" in out
    _, out, _ = run(capsys, "list", "--json")
    assert "bicycle" in json.loads(out)["models"]


def test_show(capsys):
    code, out, _ = run(capsys, "show", "bicycle")
    assert code == 0
    for words in ("4 bodies", "3 degrees of freedom", "wheelbase", "steer_torque", "front_wheel_height", "fell_over"):
        assert words in out
    _, out, _ = run(capsys, "show", "bicycle", "--json")
    data = json.loads(out)
    assert data["parameters"]["trail"] == {
        "default": 0.08,
        "unit": "m",
        "description": data["parameters"]["trail"]["description"],
    }
    assert len(data["independent"]) == 3


def test_simulate_prints_one_json_object(capsys):
    words = ("simulate", "bicycle", "--speed", "4.6", "--roll-rate=0.5", "--until", "2", "--set", "m_rear_wheel=2.5", "--json")
    code, out, err = run(capsys, *words)
    assert code == 0 and err == ""
    reported = json.loads(out)
    assert reported["status"] == "FINISHED"
    assert reported["energy_drift"] < 1e-8
    assert set(reported["constraint_residual"]) == {"holonomic", "nonholonomic", "norm"}
    assert reported["evaluations"] > 100
    assert {"derive", "compile", "start", "integrate", "report"} <= set(reported["seconds"])
    again = dr.simulate(dr.gallery.bicycle(), 2.0, start={"speed": 4.6, "roll_rate": 0.5}, parameters={"m_rear_wheel": 2.5})
    for name in ("speed", "steer", "frame_qw", "rear_wheel_spin", "front_wheel_normal_force"):
        assert reported["final"][name] == pytest.approx(again[name][-1], rel=1e-7, abs=1e-9)


def test_methods_agree(capsys):
    """Heun's rule, of order 2, is the coarsest at the default step."""
    finals = {}
    for method in ("auto", "dop853", "rk4", "predictor-corrector", "heun", "radau", "gauss"):
        _, out, _ = run(
            capsys, "simulate", "bicycle", "--speed", "5", "--roll-rate", "0.2", "--until", "1", "--method", method, "--json"
        )
        finals[method] = json.loads(out)["final"]["lean"]
    for method, lean in finals.items():
        assert lean == pytest.approx(finals["dop853"], abs=1e-3 if method == "heun" else 1e-6), method


@pytest.mark.parametrize("suffix", [".nc", ".parquet", ".csv"])
def test_out_files_load_again(capsys, tmp_path, suffix):
    target = tmp_path / f"ride{suffix}"
    code, out, _ = run(capsys, "simulate", "bicycle", "--speed", "4.6", "--until", "0.5", "--out", str(target))
    assert code == 0 and str(target) in out
    ride = dr.load(target)
    assert ride["speed"][0] == pytest.approx(4.6, abs=1e-9)
    assert ride.status.complete


def test_a_fall_ends_the_run_as_an_event(capsys):
    code, out, _ = run(capsys, "simulate", "bicycle", "--speed", "1", "--roll-rate", "0.5", "--until", "10", "--json")
    reported = json.loads(out)
    assert code == 0
    assert reported["status"] == "EVENT" and "lean passed 80°" in reported["message"]
    assert reported["final"]["time"] == pytest.approx(reported["events"][-1]["time"], abs=0.02)


def test_law_on_the_command_line(capsys):
    _, out, _ = run(
        capsys, "simulate", "bicycle", "--speed", "6", "--until", "1", "--input", "steer_torque=0.5 - steer_rate", "--json"
    )
    again = dr.simulate(dr.gallery.bicycle(), 1.0, start={"speed": 6.0}, inputs={"steer_torque": "0.5 - steer_rate"})
    assert json.loads(out)["final"]["lean"] == pytest.approx(again["lean"][-1], rel=1e-7)


def test_model_file(capsys, tmp_path):
    dr.write_model(dr.gallery.bicycle(), tmp_path / "mine.toml")
    code, out, _ = run(capsys, "simulate", str(tmp_path / "mine.toml"), "--speed", "4.6", "--until", "0.5", "--json")
    assert code == 0 and json.loads(out)["status"] == "FINISHED"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("simulate", "bycicle"), "bicycle"),
        (("simulate", "bicycle", "--sped", "4"), "speed"),
        (("simulate", "bicycle", "--set", "mass=1"), "mass"),
        (("simulate", "bicycle", "--set", "m_frame"), "NAME=VALUE"),
        (("simulate", "bicycle", "--speed"), "--speed needs a number"),
        (("critical", "bicycle", "--gradiant"), "--gradiant needs a number, e.g. --gradiant 1.0; did you mean --gradient?"),
        (("simulate", "bicycle", "--speed", "fast"), "fast"),
        (("simulate", "bicycle", "--out", "ride.xyz"), ".nc"),
        (("simulate", "bicycle", "--input", "steer_torque=__import__('os')"), "steer_torque"),
        (("simulate", "bicycle", "--input", "steer_torqe=1"), "steer_torque"),
        (("simulate", "nowhere.toml"), "nowhere.toml"),
        (("run", "nothing"), "nothing"),
    ],
)
def test_wrong_calls_name_the_thing(capsys, words, said):
    code, out, err = run(capsys, *words)
    assert code == 2
    assert out == ""
    assert said in err
    assert "Traceback" not in err


def test_run_writes_figures_and_data(capsys, tmp_path):
    code, out, _ = run(capsys, "run", "bicycle_free_run", "--out", str(tmp_path))
    assert code == 0
    for words in ("derived", "operations", "seconds", "energy", "constraints", "speed"):
        assert words in out
    for name in ("path.png", "rates_and_speed.png", "contact_angles.png", "normal_forces.png", "bicycle_free_run.nc"):
        assert (tmp_path / name).stat().st_size > 1000
    assert np.isfinite(dr.load(tmp_path / "bicycle_free_run.nc")["speed"]).all()


def test_warm_path_needs_no_heavy_library():
    """The way from command line to trajectory imports neither SymPy, Matplotlib, Numba, SciPy nor xarray."""
    code = (
        "import sys\nfrom draisine.cli.main import main\n"
        "main(['simulate', 'bicycle', '--until', '0.2', '--json'])\n"
        "heavy = [m for m in ('sympy', 'matplotlib', 'numba', 'scipy', 'xarray', 'pandas') if m in sys.modules]\n"
        "print(heavy, file=sys.stderr)\nsys.exit(bool(heavy))"
    )
    subprocess.run(
        [sys.executable, "-c", code.replace("sys.exit(bool(heavy))", "")], check=True, capture_output=True
    )  # warms the cache
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_help_loads_nothing_heavy():
    code = "import sys\nfrom draisine.cli.main import main\ntry:\n main(['--help'])\nexcept SystemExit:\n pass\n"
    code += "sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_motions_of_stability_commands_by_set_and_at(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["critical", "bicycle", "--json"]) == 0  # speeds are swept where nothing else is said
    found = {c["kind"]: c["speed"] for c in json.loads(capsys.readouterr().out)}
    assert found["weave"] == pytest.approx(4.29238253634111, rel=1e-11)
    assert found["capsize"] == pytest.approx(6.02426201538837, rel=1e-11)
    values = []
    for words in (["--at", "speed=5"], ["--set", "speed=5"], ["--speed", "5"], ["--at", "speed=5", "--set", "trail=0.1"]):
        assert main(["linearize", "bicycle", "--json", *words]) == 0
        values.append([z["re"] for z in json.loads(capsys.readouterr().out)["eigenvalues"]])
    assert values[0] == values[1] == values[2]
    assert abs(values[3][0] - values[0][0]) > 0.1  # the parameter is another
    assert main(["critical", "cart_pole"]) != 0
    assert "name the swept quantity" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["simulat", "bicycle"], "there is no command 'simulat'; did you mean simulate"),
        (["simulate", "bicycle", "--until", "2 kg"], "argument --until: a time: got '2 kg' (mass), expected a time"),
    ],
)
def test_misunderstood_words_are_reported_with_a_cure(words, reported, capsys):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert reported in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["--speed", "5 kg"], "the start's speed: got '5 kg' (mass), expected a velocity"),
        (["--set", "trail=8 kg"], "parameter 'trail': got '8 kg' (mass), expected a length"),
        (["--speed", "abc"], "--speed 'abc': "),
    ],
)
def test_units_of_words_must_fit(words, reported, capsys):
    assert main(["simulate", "bicycle", "--until", "100 ms", *words]) == 2
    assert reported in capsys.readouterr().err


def test_a_terminal_without_some_letters_is_spoken_to_all_the_same():
    said = subprocess.run(
        [sys.executable, "-m", "draisine", "show", "bicycle"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert b"lean passed 80?" in said.stdout


def test_the_version_is_reported(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"draisine {dr.__version__}\n"
