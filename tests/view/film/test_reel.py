"""Films without a screen: pictures, GIF, MP4."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import draisine as dr
from draisine.cli import main as cli
from draisine.errors import DependencyError
from draisine.view.plots.figure_files import save_figure


@pytest.fixture(scope="module")
def run():
    return dr.simulate(dr.gallery.cart_pole_graph(), 0.2, start={"pole": 0.4, "pole_rate": 3.0})


def drawn(path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_gif(run, tmp_path):
    run.save(tmp_path / "a.gif", charts=["pole"])
    with Image.open(tmp_path / "a.gif") as film:
        assert (film.n_frames, film.info["duration"]) == (5, 50)
        first = np.asarray(film.convert("RGB")).astype(int)
        film.seek(4)
        assert np.mean(np.abs(np.asarray(film.convert("RGB")).astype(int) - first).max(axis=2) > 24) > 0.002


def test_gif_without_pillow(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(DependencyError, match=r"writing \.gif files needs pillow.*pip install pillow"):
        run.save(tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())


def test_pictures_in_a_row(run, tmp_path):
    run.save(tmp_path / "a.png")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"a-{k:04d}.png" for k in range(6)]
    first, last = drawn(tmp_path / names[0]), drawn(tmp_path / names[-1])
    assert np.mean(np.abs(first - last).max(axis=2) > 24) > 0.002


@pytest.mark.skipif(shutil.which("ffprobe") is None, reason="ffmpeg is not installed")
def test_mp4(run, tmp_path):
    run.save(tmp_path / "a.mp4")
    asked = ["ffprobe", "-v", "error", "-show_entries", "stream=codec_name,pix_fmt,nb_frames,width,height", "-of", "json"]
    reported = json.loads(subprocess.run([*asked, str(tmp_path / "a.mp4")], capture_output=True, check=True).stdout)["streams"][0]
    assert (reported["codec_name"], reported["pix_fmt"], reported["nb_frames"]) == ("h264", "yuv420p", "6")
    assert reported["width"] % 2 == reported["height"] % 2 == 0


def test_without_ffmpeg_one_is_reported(run, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(OSError, match=r"needs the program ffmpeg, which is not installed; install it, or save as \.gif"):
        run.save(tmp_path / "a.mp4")


def test_one_instant_for_papers(tmp_path):
    ride = dr.simulate(dr.gallery.bicycle(), 0.5, start={"speed": 4.6, "roll_rate": 0.5})
    film = ride.animate(charts=["lean"], layers=["forces"], ghosts=[ride], show=False)
    figure = film.picture(0.3)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    picture = drawn(buffer)[:, : int(0.66 * 790)]
    blue = (picture[..., 2] > 90) & (picture[..., 2] > picture[..., 0] + 60)
    red = (picture[..., 0] > 150) & (picture[..., 1] < 60) & (picture[..., 2] < 130)
    assert blue.mean() > 0.001  # the frame
    assert red.mean() > 0.0005  # forces
    save_figure(figure, tmp_path / "ride.pdf")
    with pytest.raises(ValueError, match=r"covers 0 s to 0\.5 s; 0\.7 s is outside"):
        film.picture(0.7)


def test_unknown_kinds_are_refused(run, tmp_path):
    with pytest.raises(ValueError, match=r"unknown film format 'a\.avi': the suffix must be one of \.html"):
        run.animate(show=False).save(tmp_path / "a.avi")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        run.save(tmp_path / "nowhere" / "a.html")


def test_from_the_command_line(tmp_path, capsys):
    film = tmp_path / "swing.html"
    call = [
        "simulate",
        "cart_pole_graph",
        "--until",
        "0.3",
        "--pole",
        "0.4",
        "--save",
        str(film),
        "--charts",
        "pole, cart",
        "--json",
    ]
    assert cli.main(call) == 0
    assert json.loads(capsys.readouterr().out)["film"] == str(film)
    assert '"label":"pole [°]"' in film.read_text(encoding="utf-8")
    assert cli.main(["simulate", "cart_pole_graph", "--save", str(tmp_path / "swing.avi")]) == 2
    assert "unknown film format 'swing.avi'" in capsys.readouterr().err
    assert cli.main(["simulate", "cart_pole_graph", "--charts", "pole"]) == 2
    assert "--charts draws beside a film; name its file: --save ride.html" in capsys.readouterr().err
