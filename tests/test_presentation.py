"""Documents and drawings, by verb and by command."""

from __future__ import annotations

import re
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest

import draisine as dr
from browser import chromium, opened
from draisine.cli.main import main
from draisine.cli.model_options import FORMATS as NAMED_FORMATS
from draisine.cli.model_options import VIEWS as NAMED_VIEWS
from draisine.errors import ToolError
from draisine.model.model import Model
from draisine.symbolic.rendering.document import document
from draisine.symbolic.rendering.formats import TEXTS, read_markdown
from draisine.symbolic.rendering.html import MATH_PROBE
from draisine.symbolic.rendering.latex import ENGINES, latex, tex, typeset
from draisine.view.scene.projection import VIEWS

PACKAGES = {"fontenc", "inputenc", "amsmath", "amssymb", "longtable", "graphicx", "geometry"}  # of every installation


def hostile() -> Model:
    """Descriptions are written by people."""
    m = Model("sled", r"\input{/etc/passwd} 50% of <b>λ̇</b> & q̈ ~ m² | ½ → $x$ ☃ Łódź */ --> ]]>")
    mass = m.parameter("m", 2.0, "kg", r"\end{document} _^#{}")
    sled = m.body("sled", mass=mass, center_of_mass=(0.3, 0, 0), inertia=(0.3, 0.3, 0.5))
    m.planar(sled)
    m.knife_edge(sled, name="lambda_edge")
    return m


def test_a_page_holds_everything(tmp_path):
    (path,) = dr.view.write_equations(dr.gallery.bicycle(), tmp_path / "bicycle.html", at={"steer": 0.3})
    page = path.read_text(encoding="utf-8")
    picture = page[page.index("<svg") : page.index("</svg>") + 6]
    ElementTree.fromstring(picture)
    rest = page.replace(picture, "")
    assert page.count("<script") == 1 and f"<script>{MATH_PROBE}</script>" in page  # no other one
    assert "http" not in rest and "src=" not in page and "@import" not in page and "url(http" not in page
    assert page.index('id="equations"') < page.index("<svg") < page.index('id="listing"')
    for title in ("Tree", "Parameters", "Constraints", "Listing"):
        assert f">{title}</h2>" in page
    for words in ("wheelbase", "front_wheel_height", "fork: joint steer on frame (steer)", "three-quarter view"):
        assert words in page


def test_markdown_and_latex_have_the_picture_beside_them(tmp_path):
    paths = dr.view.write_equations(dr.gallery.chaplygin_sleigh(), tmp_path / "my sleigh.md")
    assert [p.name for p in paths] == ["my sleigh.md", "my-sleigh-picture.svg"]
    assert "![chaplygin_sleigh](my-sleigh-picture.svg)" in paths[0].read_text(encoding="utf-8")
    assert paths[1].read_text(encoding="utf-8").startswith("<svg")
    paths = dr.view.write_equations(dr.gallery.chaplygin_sleigh(), tmp_path / "sleigh.tex")
    assert r"\includegraphics[width=\linewidth]{sleigh-picture.pdf}" in paths[0].read_text(encoding="utf-8")
    assert paths[1].read_bytes().startswith(b"%PDF")
    assert dr.view.write_equations(dr.gallery.chaplygin_sleigh(), tmp_path / "bare.tex", picture=False) == [tmp_path / "bare.tex"]


def test_typed_equations_say_why_there_is_no_picture(tmp_path):
    for suffix in ("md", "tex", "html"):
        (path,) = dr.view.write_equations(dr.gallery.model("double_pendulum"), tmp_path / f"pendulum.{suffix}")
        assert "no picture: the model is given as formulas" in path.read_text(encoding="utf-8")


@pytest.mark.long
def test_indices_stand_below_the_line_with_any_fonts(tmp_path):
    """Without a mathematical font browsers would leave them on it; the equations are on the first screen of a phone."""
    (path,) = dr.view.write_equations(dr.gallery.chaplygin_sleigh(), tmp_path / "sleigh.html")
    with chromium() as browser, opened(browser, path) as found:
        found.page.set_viewport_size({"width": 390, "height": 844})
        bottoms = "([base, index]) => [base, index].map((e) => e.getBoundingClientRect().bottom)"
        for base, index in found.page.evaluate(
            f"[...document.querySelectorAll('.form msub')].map((e) => ({bottoms})(e.children))"
        ):
            assert 2 < index - base < 10
        assert found.page.evaluate("document.querySelector('.form').getBoundingClientRect().bottom") < 844
        assert found.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert found.complaints == [] and [url for url in found.requests if url.startswith("http")] == []


def test_small_systems_have_their_matrices(tmp_path):
    (page,) = dr.view.write_equations(dr.gallery.chaplygin_sleigh(), tmp_path / "sleigh.html")
    text = page.read_text(encoding="utf-8")
    matrices = text[text.index('<h2 id="matrices">') : text.index('<h2 id="listing">')]
    formulas = re.findall(r"<math>.*?</math>", matrices)
    assert len(formulas) == 9  # M C g Q D b H M_r F_r
    for formula in formulas:
        ElementTree.fromstring(formula)
    assert '<h2 id="matrices"' not in "".join(TEXTS["html"](document(dr.gallery.bicycle())))


# ---------------------------------------------------------------- LaTeX


@pytest.mark.parametrize("name", ["bicycle", "chaplygin_sleigh", "delebecque_bicycle", "four_bar"])
def test_latex_is_well_formed(name):
    check_latex(latex(document(dr.gallery.model(name))))


def test_hostile_texts_stay_texts(tmp_path):
    text = latex(document(hostile()))
    check_latex(text)
    assert r"\input" not in text and text.count(r"\end{document}") == 1
    assert (
        r"\textbackslash{}input\{/etc/passwd\} 50\%" in text and "[U+2603]" in text and "Łódź" in text and r"$\ddot{q}$" in text
    )
    (path,) = dr.view.write_equations(hostile(), tmp_path / "sled.html")
    page = path.read_text(encoding="utf-8")
    assert "<b>" not in page and "&lt;b&gt;" in page
    assert read_markdown(TEXTS["md"](document(hostile())))


def check_latex(text: str) -> None:
    """Balanced, made of packages that every installation has, and of characters that pdfTeX knows."""
    assert set(re.findall(r"\w+", ",".join(re.findall(r"\\usepackage(?:\[.*?\])?\{(.*?)\}", text)))) <= PACKAGES
    plain = re.sub(r"\\[\\{}]", "", text)
    assert plain.count("{") == plain.count("}") and text.count(r"\left") == text.count(r"\right")
    opened = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened
    assert all(ord(c) < 0x180 for c in text)
    formulas = re.sub(r"\\\\|\\\$", "", text)
    assert formulas.count("$") % 2 == 0
    for formula in re.findall(r"\$(.*?)\$", formulas):  # an underscore makes a subscript
        assert not re.search(r"_(?![{\w])", formula), formula


def test_text_for_tex():
    assert tex("a_b & c") == r"a\_b \& c"
    assert tex("m/s^2, kg*m^2, 2 * 3") == r"m/s$^{2}$, kg$\cdot$m$^{2}$, 2 * 3"
    assert tex("ẋ = f, Ω, v₁, 10⁻³, Öl, ż") == r"$\dot{x}$ = f, $\Omega$, v$_{1}$, 10$^{-}$$^{3}$, Öl, ż"


def test_pdf(tmp_path):
    if not any(shutil.which(engine) for engine in ENGINES):
        pytest.skip(f"none of {', '.join(ENGINES)} is installed: the source is checked, but not set")
    for model in (dr.gallery.chaplygin_sleigh(), hostile(), dr.gallery.model("spherical_pendulum")):
        (path,) = dr.view.write_equations(model, tmp_path / f"{model.name}.pdf")
        content = path.read_bytes()
        assert content.startswith(b"%PDF") and content.rstrip().endswith(b"%%EOF") and len(content) > 20_000


def test_without_latex_the_message_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ToolError, match=r"none of pdflatex, .*tectonic is installed; .*texlive-latex-base.*--format html"):
        typeset(document(hostile()))
    assert main(["equations", "chaplygin_sleigh", "--out", str(tmp_path / "sleigh.pdf")]) == 2
    assert "texlive-latex-base" in capsys.readouterr().err
    assert not (tmp_path / "sleigh.pdf").exists()


def test_what_latex_complains_about_is_reported(tmp_path, monkeypatch):
    engine = tmp_path / "pdflatex"
    engine.write_text("#!/bin/sh\necho 'This is fine'\necho '! Undefined control sequence.'\nexit 1\n")
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(OSError, match=r"pdflatex failed: ! Undefined control sequence\.; inspect the source with --format latex"):
        typeset(document(hostile()))


# ---------------------------------------------------------------- commands


def test_command_equations(capsys, tmp_path):
    assert (*TEXTS, "pdf") == NAMED_FORMATS
    assert main(["equations", "chaplygin_sleigh"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("# Equations of chaplygin_sleigh") and read_markdown(printed)
    target = tmp_path / "sleigh.html"
    assert main(["equations", "chaplygin_sleigh", "--out", str(target)]) == 0
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert main(["equations", "chaplygin_sleigh", "--format", "latex", "--out", str(tmp_path / "sleigh.txt")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"written: {tmp_path / 'sleigh-picture.pdf'}"
    assert main(["equations", "double_pendulum"]) == 0
    assert "Solved together for upper_rate_dot, lower_rate_dot:" in capsys.readouterr().out
    for wrong, complaint in (
        (["nothing_such"], "nothing_such"),
        (["bicycle", "--format", "pdf"], "name a file: --out FILE.pdf"),
        (["bicycle", "--steer", "0.3"], "--steer sets the picture"),
        (
            ["bicycle", "--out", str(tmp_path / "bicycle.doc")],
            "suffix '.doc' of 'bicycle.doc' is none of .md, .tex, .html, .py, .pdf",
        ),
    ):
        assert main(["equations", *wrong]) == 2
        assert complaint in capsys.readouterr().err


def test_command_draw(capsys, tmp_path, monkeypatch):
    assert NAMED_VIEWS.split(", ") == list(VIEWS)
    monkeypatch.chdir(tmp_path)
    assert main(["draw", "bicycle", "--steer", "0.3", "--set", "wheelbase=1.2"]) == 0
    assert capsys.readouterr().out == "written: bicycle.svg\n"
    assert "<svg" in (tmp_path / "bicycle.svg").read_text(encoding="utf-8")
    assert main(["draw", "bicycle", "--views", "top", "--out", "above.png"]) == 0
    assert (tmp_path / "above.png").read_bytes().startswith(b"\x89PNG")
    assert main(["draw", "bicycle", "--views", "under", "--out", "x.svg"]) == 2
    assert "unknown view 'under'" in capsys.readouterr().err
    assert main(["draw", "double_pendulum"]) == 2
    assert "has no bodies to draw" in capsys.readouterr().err


def test_a_drawing_follows_the_targets():
    turned = dr.draw(dr.gallery.bicycle(), at={"steer": 0.6}, views=["top"])
    straight = dr.draw(dr.gallery.bicycle(), views=["top"])

    def width_of_front_wheel(figure) -> float:
        wheels = [line.get_xydata() for line in figure.axes[0].lines if len(line.get_xydata()) > 100]
        return float(max(np.ptp(points[:, 1]) for points in wheels))

    assert width_of_front_wheel(straight) == pytest.approx(0.0, abs=1e-9)
    # the wheel's plane is turned about the tilted steer axis: seen from above it is at least as broad as 2 r sin(steer) cos(tilt)
    assert width_of_front_wheel(turned) > 2 * 0.35 * np.sin(0.6) * np.cos(np.pi / 10)
