"""Reports: every chapter of every kind of model, in a real browser, on paper, and when something goes wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from browser import chromium, opened
from draisine.cli.main import main
from draisine.cli.parser import parser
from draisine.view.report.analysis import StabilityAnalysis
from draisine.view.report.chapter import NotApplicable, write_chapter
from draisine.view.report.page import browser
from draisine.view.report.sample_run import SampleRun
from draisine.view.report.subject import ReportOptions, Subject

CHAPTERS = ["Model", "Parameters", "Equations", "Certificate", "Constraints", "Stability", "Sample run", "How to reproduce it"]


@pytest.fixture(scope="module")
def bike():
    said = []
    made = dr.report(dr.gallery.bicycle(), 1.0, title="bicycle", progress=said.append)
    assert [p.text for p in said] == [*CHAPTERS, "Listing of formulas", "Model file", "finished"]
    assert [p.share for p in said] == sorted(p.share for p in said) and said[-1].share == 1.0
    return made


@pytest.fixture(scope="module")
def page(bike, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "bicycle.html"
    bike.save(path)
    return path


def text_of(found: dr.view.Report, title: str) -> str:
    (chapter,) = (c for c in (*found.chapters, *found.appendices) if c.title == title)
    return re.sub(r"<[^>]+>", " ", "\n".join(chapter.lines))


def test_a_bicycle_is_reported_completely(bike):
    assert bike.failed == {} and bike.troubles == {}
    assert [c.title for c in bike.chapters] == CHAPTERS
    # Meijaard, Papadopoulos, Ruina & Schwab (2007): weave 4.292382536341 m/s, capsize 6.024262015388 m/s
    assert "4.29238 m/s" in text_of(bike, "Stability") and "6.02426 m/s" in text_of(bike, "Stability")
    assert bike.facts["Stable speed"] == "4.292 to 6.024 m/s"
    assert bike.facts["Freedoms"] == "7 of position, 3 of velocity"
    assert bike.facts["Certificate"].startswith("passed: 4 derivations")
    assert "speed = 5.1, roll_rate = 0.2" in text_of(bike, "Sample run")
    assert "frame 85 (0.3, 0, 0.6)" in " ".join(text_of(bike, "Model").split())


def test_names_that_begin_a_sentence_stay_as_they_are(bike):
    reported = text_of(bike, "Constraints")
    assert " frame_wx, steer_rate, front_wheel_spin: " in reported and "Frame_wx" not in reported
    assert "Against time: speed, lean, steer" in text_of(bike, "Sample run")


def test_what_it_says_to_reproduce_it_reproduces_it(bike, tmp_path):
    """The appendix is the model: it reads back, and its fingerprint is the one that is reported."""
    import hashlib
    import html

    (chapter,) = (c for c in bike.appendices if c.title == "Model file")
    text = html.unescape(re.search(r"<code>(.*)</code>", "\n".join(chapter.lines), flags=re.DOTALL)[1])
    assert hashlib.sha256(text.encode()).hexdigest() in text_of(bike, "How to reproduce it")
    (tmp_path / "bicycle.toml").write_text(text)
    assert dr.read_model(tmp_path / "bicycle.toml").freeze() == dr.gallery.bicycle().freeze()
    commands = [line.strip() for line in text_of(bike, "How to reproduce it").splitlines() if "draisine " in line]
    assert "draisine simulate bicycle --speed 5.1 --roll-rate 0.2 --until 1" in commands


@pytest.mark.long
def test_the_page_in_a_browser(page):
    """No complaint, no request, nothing wider than the window, formulas are drawn, and the film plays when it is unfolded."""
    with chromium() as browser, opened(browser, page) as tab:
        assert tab.page.title() == "Report on bicycle"
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= 900
        assert tab.page.locator("section").count() == 10
        assert tab.page.locator("figure svg").count() == 7
        assert tab.page.locator("math").count() > 300
        assert tab.page.locator("math").first.bounding_box()["height"] > 5
        identities = tab.page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
        assert len(identities) == len(set(identities))
        tab.page.locator("details.film summary").click()
        film = tab.page.frame_locator("details.film iframe")
        film.locator("html[data-time]").wait_for()
        pixels = tab.picture("details.film iframe")
        assert np.ptp(pixels[60:300, :400].reshape(-1, 3), axis=0).min() > 60  # a bicycle on the ground, not a blank
        assert tab.complaints == []
        assert [url for url in tab.requests if not url.startswith("about:")] == [page.as_uri()]


@pytest.mark.parametrize(
    ("name", "chapter", "said"),
    [
        ("rolling_disk", "Stability", "They are neutral to first order"),
        ("four_bar", "Stability", "the steady motion nearest to the default start, at crank_angle = 1.87398"),
        ("van_der_pol", "Model", "given as formulas"),
        ("van_der_pol_singular", "Equations", "0 = F(t, x, ẋ)"),
    ],
)
def test_every_kind_of_model_has_a_report(name, chapter, said):
    found = dr.report(dr.gallery.model(name), 0.5, film=False, title=name)
    assert found.failed == {} and found.troubles == {}
    assert [c.title for c in found.chapters] == CHAPTERS
    assert said in text_of(found, chapter)
    assert "<svg" in "\n".join(next(c for c in found.chapters if c.title == "Sample run").lines)
    assert "<details" not in found.html()


def test_a_push_is_one_after_which_something_happens():
    """A cart that is pushed rolls on, with its pendulum at rest; a pendulum that is pushed swings, and moves the cart."""
    m = dr.Model("cart")
    cart = m.body("cart", mass=2.0)
    m.prismatic("way", "ground", cart)
    m.revolute("swing", cart, m.body("bob", mass=1.0, center_of_mass=(0, 0, -1.0)), axis="y")
    subject = Subject.of(m, None, ReportOptions(until=1.0))
    riding = SampleRun(subject, StabilityAnalysis(subject))
    assert np.ptp(riding.run["swing"]) > 0.1
    assert riding.start == {"swing_rate": 0.5}


def test_a_chapter_that_cannot_be_written_takes_no_other_down(monkeypatch, tmp_path, capsys):
    def broken(model):
        raise RuntimeError("the <ink> is dry")

    monkeypatch.setattr("draisine.view.report.analysis.certify", broken)
    out = tmp_path / "sleigh.html"
    targets = ["--no-film", "--until", "0.5", "--speed", "2", "--set", "mass_ahead=0.3"]
    assert main(["report", "chaplygin_sleigh", "--out", str(out), *targets, "--json"]) == 1
    reported = json.loads(capsys.readouterr().out)
    assert [c["title"] for c in reported["chapters"] if c["failed"]] == ["Certificate"]
    assert reported["written"] == [str(out)]
    page = out.read_text(encoding="utf-8")
    assert "could not be written: RuntimeError: the &lt;ink&gt; is dry" in page and "<ink>" not in page
    assert "speed = 2 (as requested)" in page and "Knife edges: no velocity across the blade" in page
    # changed parameters are reported and used
    text = re.sub(r"<[^>]+>", " ", page)
    assert re.search(r"mass_ahead\s+0\.3\s+m\s.*changed for this report", text)
    assert "--set mass_ahead=0.3" in text and "mass_ahead = { value = 0.3" in text


def test_names_from_files_are_text(tmp_path):
    path = tmp_path / "block.toml"
    path.write_text(
        'name = "block"\ndescription = "<script>alert(1)</script>"\n[bodies.block]\nmass = 2\ninertia = [1, 1, 1]\n'
        'description = "<b>x</b>"\n'
        '[joints.slide]\nkind = "prismatic"\nparent = "ground"\nchild = "block"\n'
    )
    page = dr.report(dr.read_model(path), 0.2, film=False).html()
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page and "<b>x</b>" not in page


def test_a_warning_becomes_a_remark():
    def warn():
        import warnings

        warnings.warn("it is late", stacklevel=1)
        return NotApplicable("nothing to say")

    chapter = write_chapter("Night", warn)
    assert "warning: it is late" in "\n".join(chapter.lines) and chapter.failed == ""


@pytest.mark.long
@pytest.mark.skipif(browser() is None, reason="printing needs Chromium")
def test_on_paper(bike, tmp_path):
    path = tmp_path / "bicycle.pdf"
    bike.save(path)
    content = path.read_bytes()
    assert content.startswith(b"%PDF-") and content.rstrip().endswith(b"%%EOF")
    assert 8 <= len(re.findall(rb"/Type\s*/Page\b", content)) <= 60


def test_without_a_browser_it_says_what_to_install(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert main(["report", "bicycle", "--out", str(tmp_path / "b.html"), "--pdf"]) == 2
    assert "apt-get install chromium" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())  # refused before the work, not after it


def test_wrong_targets_are_refused(capsys, tmp_path):
    with pytest.raises(ValueError, match=r"\.docx"):
        dr.report(dr.gallery.damped_pendulum(), 0.1).save(tmp_path / "x.docx")
    with pytest.raises(KeyError, match="offset"):
        dr.report(dr.gallery.chaplygin_sleigh(), parameters={"offset": 0.3})
    with pytest.raises(KeyError, match="turn_rate"):
        dr.report(dr.gallery.chaplygin_sleigh(), start={"turning_rate": 0.3})
    for until, message in ((-1.0, "must be positive"), ("x.html", r"a file is written by report\(…\)\.save\(path\)")):
        with pytest.raises(ValueError, match=message):
            dr.report(dr.gallery.damped_pendulum(), until)
    assert main(["report", "damped_pendulum", "--out", "nowhere/x.html"]) == 2
    assert "no folder 'nowhere'" in capsys.readouterr().err


@pytest.mark.long
def test_the_page_on_reports_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[3] / "docs" / "report.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(compile(block, "report.md", "exec"), {})  # our own page, never text from elsewhere
    assert (tmp_path / "sleigh.html").exists()
    for line in re.findall(r"^draisine (.*)$", text, flags=re.MULTILINE):
        assert parser().parse_known_args(line.split())[0].command == "report"
