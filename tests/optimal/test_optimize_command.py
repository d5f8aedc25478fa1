"""`draisine optimize` as people type it, and maneuvers in files."""

import json
import math

import pytest

import draisine as dr
from draisine.cli.main import main
from draisine.optimal.study_file import read_study, study_of
from draisine.results.status import Progress

SWING = """
model = "cart_pole"
duration = 2
[start]
pole = "180 deg"
[finish]
pole = 0
cart = 0
rates = 0
[bounds]
push = [-20, 20]
cart = [-2, "inf"]
[minimize]
integral = "push**2"
[method]
intervals = 20
[solver]
tolerance = 1e-9
[refine]
tolerance = 1e-6
"""


@pytest.fixture
def swing(tmp_path):
    path = tmp_path / "swing.toml"
    path.write_text(SWING)
    return path


def run(capsys, *words: str) -> tuple[int, str, str]:
    code = main(["optimize", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_file_says_the_same_as_words(swing):
    stated = read_study(swing, dr.gallery.model)
    words = dr.maneuver(dr.gallery.cart_pole()).start(pole=math.pi).finish(pole=0, cart=0, rates=0)
    words = words.bounds(push=(-20, 20), cart=(-2, None)).duration(2).minimize(integral="push**2")
    one, other = stated.solve(), words.solve(dr.optimal.Collocation(intervals=20), refine=dr.optimal.Refinement())
    assert one.solved
    assert one.objective == pytest.approx(other.objective, rel=1e-9)


def test_solved_with_files_and_json(capsys, swing, tmp_path):
    files = {"--plot": tmp_path / "swing.png", "--out": tmp_path / "swing.nc", "--table": tmp_path / "swing.csv"}
    words = [str(w) for pair in files.items() for w in pair]
    code, out, err = run(capsys, str(swing), "--json", *words)
    assert (code, err) == (0, "")
    reported = json.loads(out)
    assert reported["outcome"] == "SOLVED"
    assert reported["optimality"]["switching"][0]["input"] == "push"
    assert reported["written"] == [str(files[k]) for k in ("--out", "--table", "--plot")]
    assert files["--plot"].read_bytes().startswith(b"\x89PNG")
    assert dr.load(files["--out"])["push"].size > 100
    assert dr.optimal.Feedforward.read(files["--table"]).breaks[-1] == pytest.approx(2)


def test_text_and_progress_when_piped(capsys, swing):
    code, out, err = run(capsys, str(swing), "--intervals", "10")
    assert code == 0
    assert "SOLVED: minimum" in out
    assert "complementarity" in out
    assert err.startswith("iteration 0: objective ")


def test_infeasible_names_what_fights(capsys, tmp_path):
    path = tmp_path / "hurry.json"
    content = {
        "model": "double_integrator",
        "start": {"x": 0, "v": 0},
        "finish": {"x": 10, "v": 0},
        "bounds": {"force": [-1, 1]},
        "duration": 1,
        "minimize": {"integral": "force**2"},
        "method": {"intervals": 10},
    }
    path.write_text(json.dumps(content))
    code, out, _ = run(capsys, str(path), "--json")
    reported = json.loads(out)
    assert (code, reported["outcome"]) == (3, "INFEASIBLE")
    assert any("finish: x" in name for name in reported["conflicts"])
    content["solver"] = {"iterations": 1}
    content["duration"] = 10
    path.write_text(json.dumps(content))
    code, out, _ = run(capsys, str(path), "--json")
    assert (code, json.loads(out)["outcome"]) == (1, "TOO_MANY_ITERATIONS")


def test_interruption_is_reported_apart(capsys, swing, monkeypatch):
    """A signal during the search ends it after the iteration under way, with the best so far."""
    from draisine.cli import optimize as optimize

    def stop(shown, **where):
        if isinstance(shown, Progress) and shown.values["iteration"] == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(optimize, "EVERY", 1)
    monkeypatch.setattr(optimize, "print", stop, raising=False)
    code, out, _ = run(capsys, str(swing))
    assert code == 130
    assert "INTERRUPTED: best so far" in out


def test_a_study_of_the_gallery(capsys):
    code, out, err = run(capsys, "trolley_parks")
    assert code == 0
    assert "-1 expected" in out
    code, _, err = run(capsys, "bicycle_free_run")
    assert code == 2
    assert "has no maneuver" in err


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"bound": {}}, "unknown key 'bound'"),
        ({"bounds": {"push": [5]}}, "give a lower and an upper bound"),
        ({"start": {"pole": "__import__('os')"}}, "is not a number"),
        ({"method": {"intervals": 2.5}}, "give a whole number"),
        ({"method": {"kind": "magic"}}, "'magic' is unknown"),
        ({"minimize": {}}, "a cost is missing"),
    ],
)
def test_wrong_files_are_refused_by_name(change, complaint):
    content = {"model": "cart_pole", "finish": {"pole": 0}, "minimize": {"time": 1}} | change
    with pytest.raises(dr.errors.DraisineError, match=complaint):
        study_of(content, dr.gallery.model)


def test_phases_and_guesses_in_data():
    content = {
        "model": "double_integrator",
        "start": {"x": 0, "v": 0},
        "bounds": {"force": [-1, 1]},
        "duration": [0.1, 5],
        "minimize": {"time": 1},
        "then": [{"finish": {"x": 1, "v": 0}, "bounds": {"force": [-2, 0]}, "duration": [0.1, 5], "minimize": {"time": 1}}],
        "method": {"scheme": "gauss", "degree": 2, "intervals": 4, "constant_controls": True},
        "guess": {"kind": "linear", "duration": 1.0},
    }
    found = study_of(content, dr.gallery.model).solve()
    # pushed by 1 up to the speed v, then braked by 2: v²/2 + v²/4 = 1, T = v + v/2
    v = math.sqrt(4 / 3)
    assert found.duration == pytest.approx(1.5 * v, rel=1e-5)


def test_every_study_with_a_maneuver_can_be_asked_for():
    from importlib import import_module

    from draisine import gallery

    assert set(gallery._SOLUTIONS) <= set(gallery.studies())
    for study, function in gallery._SOLUTIONS.items():
        assert callable(getattr(import_module(f"draisine.gallery.entries.{gallery._STUDIES[study]}"), function))
