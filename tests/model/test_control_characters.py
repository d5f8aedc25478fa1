"""Control characters in names and descriptions are refused where they come in, and escaped where texts of others are shown."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.cli.main import main
from draisine.cli.terminal import print_text, table
from draisine.errors import ArgumentError, ModelError
from draisine.model.files import from_toml, to_toml
from draisine.results.control_characters import escaped
from draisine.results.status import Status
from draisine.symbolic.rendering.document import document
from draisine.symbolic.rendering.formats import TEXTS, read_markdown

CONTROL = {
    "escape": "\x1b[2J",
    "null": "\x00",
    "bell": "\x07",
    "backspace": "\b",
    "carriage return": "\r",
    "delete": "\x7f",
    "C1 introducer": "\x9b2J",
    "next line": "\x85",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "override": "\u202e",
    "isolate": "\u2066",
    "surrogate": "\ud800",
}


def described(**given: str) -> dr.Model:
    """A model with a description at every place that has one."""
    model = dr.Model(given.get("name", "m"), given.get("model", ""))
    model.parameter("k", 2.0, "N/m", given.get("parameter", ""))
    model.parameter("twice", "2*k", "N/m", given.get("dependent parameter", ""))
    cart = model.body(given.get("body name", "cart"), mass=1.0, description=given.get("body", ""))
    model.prismatic("x", "ground", cart, axis="x", rate="v")
    model.input("push", "N", given.get("input", ""))
    model.generalized_force("x", "push - k*x")
    model.output("stretch", "2*x", "m", given.get("output", ""))
    model.event("far", "x - 1", description=given.get("event", ""))
    return model


PLACES = ("model", "parameter", "dependent parameter", "body", "input", "output", "event")


@pytest.mark.parametrize("what", CONTROL)
@pytest.mark.parametrize("place", PLACES)
def test_descriptions_are_refused(place, what):
    with pytest.raises(ModelError, match=r"the description of .* has the control character '\\.*'; delete it") as refused:
        described(**{place: f"before{CONTROL[what]}after"}).freeze()
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("what", CONTROL)
def test_names_are_refused(what):
    bad = f"a{CONTROL[what]}b"
    x, v, q = sp.Symbol("x"), sp.Symbol("v"), dynamicsymbols("q")
    makers = (
        lambda: described(name=bad),
        lambda: described(**{"body name": bad}),
        lambda: dr.first_order(bad, {x: v, v: -x}),
        lambda: dr.first_order("typed", {sp.Symbol(bad): v, v: -v}),
        lambda: dr.first_order("typed", {x: v, v: -x}, outputs={bad: x}),
        lambda: dr.first_order("typed", {x: v, v: -sp.Symbol(bad) * x}, parameters={sp.Symbol(bad): 1.0}),
        lambda: dr.lagrangian(bad, [q], kinetic=q.diff() ** 2),
        lambda: dr.lagrangian("typed", [q], kinetic=q.diff() ** 2, outputs={bad: q}),
    )
    for k, make in enumerate(makers):
        with pytest.raises(ModelError) as refused:
            make()
        assert str(refused.value).isprintable(), k
    for given in ({"name": bad}, {"name": "e", "description": bad}):
        with pytest.raises(ArgumentError, match="control character"):
            dr.Event(**{"expression": "x"} | given)


def test_a_file_is_refused_with_its_line():
    text = to_toml(described(parameter="stiffness"))
    with pytest.raises(
        ModelError, match=r"^hostile\.toml, line \d+: .*the description of parameter 'k' has the control character"
    ):
        from_toml(text.replace("stiffness", "stiff\\u001b[2Jness"), "hostile.toml")


def test_lines_tabs_and_letters_of_all_languages_stay():
    """Of quantities a description is one line; that of a model may have more."""
    words = "Länge — длина · 長さ · 5\u202fm · 👩\u200d🔧 · नमस्ते"
    system = described(parameter=words, output="a\n  b\tc", model="first\nsecond").freeze()
    assert system.parameters[0].description == words
    assert system.outputs[0].description == "a b c"
    assert system.description == "first\nsecond"
    assert from_toml(to_toml(dr.Model.of(system))).freeze() == system


@pytest.mark.parametrize("name", ["a b", "", "1a", "a__b", "a_", "_a", "é", "a.b", 3, None])
def test_names_of_systems_that_programs_cannot_have(name):
    """CasADi's RuntimeError before."""
    x, v, q = sp.Symbol("x"), sp.Symbol("v"), dynamicsymbols("q")
    for make in (
        lambda: dr.Model(name),
        lambda: dr.first_order(name, {x: v, v: -x}),
        lambda: dr.lagrangian(name, [q], kinetic=q.diff() ** 2),
    ):
        with pytest.raises(ModelError, match="not a valid name"):
            make()


# ---------------------------------------------------------------------------------------------------- what is shown


def test_texts_of_files_are_escaped(capsys, tmp_path):
    """Metadata of a forged file, results, tables and errors: none writes on a terminal."""
    run = replace(dr.simulate(described(), 0.1), model="a\x1b[2Jb")
    run = replace(run, status=Status(run.status.kind, "m\x9b2J", ("w\u202e",)))
    run.save(tmp_path / "forged.nc")
    loaded = dr.load(tmp_path / "forged.nc")
    assert loaded.identical(run)
    for text in (str(loaded.status), repr(loaded), str(loaded), loaded.summary()):
        assert escaped(text) == text and "\\x" in text
    print_text("a\x1b[2Jb")
    table(("na\x1bme",), [("\x9b2J",)], title="t\x07")
    shown = capsys.readouterr().out
    assert escaped(shown) == shown and r"a\x1b[2Jb" in shown
    assert main(["show", "no\x1b[2Jmodel"]) == 2
    assert main(["show", "no\x1b[2J/model.toml"]) == 2
    shown = capsys.readouterr().err
    assert escaped(shown) == shown


HOSTILE = (
    "```equations",
    "# heading",
    "- list",
    "<script>alert(1)</script>",
    "a | b",
    '"""\nimport os',
    "*/ int x;",
    "\\input{/etc/passwd}",
    "$x$ & 50 % _ ^ ~ {",
    "a\n```\n# b",
    "]]>",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_documents_show_descriptions_as_they_are(text):
    """The listing of a Markdown document is read back, the SymPy module is compiled, HTML and LaTeX have no command of others."""
    places = dict.fromkeys(PLACES, text)
    doc, plain = document(described(**places)), document(described())
    written = TEXTS["md"](doc)
    assert [s.assignments for s in read_markdown(written)] and len(written.splitlines()) == len(
        TEXTS["md"](plain).splitlines()
    ) + 2
    same = [[(a.name, a.expression) for a in s.assignments] for s in read_markdown(TEXTS["md"](plain))]
    assert [[(a.name, a.expression) for a in s.assignments] for s in read_markdown(written)] == same
    assert "<script" not in written
    scripts = [re.findall(r"<script.*?(?:</script>|$)", TEXTS["html"](some), flags=re.DOTALL) for some in (doc, plain)]
    assert scripts[0] == scripts[1]  # the page's own
    assert r"\input{" not in TEXTS["latex"](doc)
    code = compile(TEXTS["sympy"](doc), "module", "exec")
    assert code.co_names == compile(TEXTS["sympy"](plain), "module", "exec").co_names


def test_random_texts_are_refused_or_shown_on_their_line():
    pick, letters = random.Random(3), [chr(k) for k in (*range(0x100), 0x2028, 0x202E, 0x2069, 0xD800, 0x20AC, 0x1F600)]
    refused = 0
    for _ in range(60):
        text = "".join(pick.choices(letters, k=pick.choice((1, 3, 8))))
        try:
            system = described(parameter=text, model=text).freeze()
        except ModelError as problem:
            assert str(problem).isprintable() and escaped(text) != text
            refused += 1
            continue
        assert escaped(text) == text
        assert "\n" not in system.parameters[0].description
    assert 10 < refused < 50
