"""Names and texts written by people cannot break what is generated, whatever they hold."""

from __future__ import annotations

import re

import casadi as ca
import export_runners as runners
import numpy as np
import pytest

from draisine.codegen.export.languages import LANGUAGES
from draisine.codegen.export.names import Names, letters, plain
from draisine.codegen.export.source import Guide, file_name, source_text
from draisine.program.equations import Quantity
from draisine.program.program import Program

# Each of these, taken as code in some language, would stop the compiler, change a number, or leave a file behind.
ESCAPES = (
    "*/ #error broken out /*",
    "**// #error broken out",
    "a\n#error broken out\n",
    "b\r\nerror('broken out')\r",
    "c\u2028throw new Error('broken out')\u2029",
    "d\x0berror stop\x0c\x85error stop",
    '""" + open("broken_out", "w") + """',
    "'''\\\"\"\"\\",
    "ends in a backslash \\",
    "??/",
    "%{",
    "#{",
    "#= never closed",
    "=#",
    "--> <![CDATA[ &amp; <broken/>",
    "`touch broken_out` ${broken_out} $(touch broken_out)",
    "\u202e\u2066 trojan \u2069",
    "!$ error stop",
    "& ",
    "{0} {table} %s {{",
    "\ud800 lone surrogate \x00",
    "…" * 200,
    "word " * 100,
    "",
)
WORDS = (
    *(
        "for",
        "double",
        "function",
        "lambda",
        "end",
        "fn",
        "let",
        "const",
        "if",
        "do",
        "real",
        "import",
        "return",
        "self",
        "yield",
        "default",
    ),
    *(
        "sin",
        "exp",
        "sqrt",
        "log",
        "abs",
        "merge",
        "zeros",
        "np",
        "f64",
        "dp",
        "Math",
        "T",
        "e",
        "i",
        "Inf",
        "NaN",
        "x",
        "y",
        "w1",
        "W2",
    ),
    *(
        "given",
        "taken",
        "search",
        "fetch",
        "power",
        "choose",
        "axes",
        "real_only",
        "hostile",
        "hostile_sin",
        "size",
        "length",
        "main",
    ),
    *(
        "Mass",
        "mass",
        "MASS",
        "mass_2",
        "mass 2",
        "mass-2",
        "9lives",
        "_",
        "__init__",
        "constructor",
        "__proto__",
        "λ",
        "é",
        "用",
    ),
    *("a" * 70, "a" * 71, "A" * 70),
)


def hostile() -> tuple[Program, Guide]:
    """A weighted sum of many numbers with bad names, and of slots with bad names."""
    labels = (*WORDS, *ESCAPES)
    x = ca.SX.sym("x", len(labels))
    slots = {name: ca.SX.sym(name) for name in ("for", "double", "function", "lambda", "end", "fn", "real", "w3", "out")}
    total = ca.dot(x, ca.DM(np.arange(1.0, len(labels) + 1.0))) + ca.sin(x[0]) + ca.exp(x[1] / 10) + ca.sqrt(x[2] ** 2)
    total += sum(k * slot for k, slot in enumerate(slots.values(), 3))
    units = dict.fromkeys(labels, "m */ \n #error")
    outputs = {"default": (ca.vertcat(total, x[3]), ("*/ total\n", "x")), "struct": x[4], "w4": (x[5:8], tuple(ESCAPES[:3]))}
    program = Program.build("hostile", {**slots, "x": (x, labels)}, outputs, units)
    known = {("x", label): Quantity(label, "", f"about {label}", 1.5) for label in labels}
    known |= {(slot, ""): Quantity(slot, "", text) for slot, text in zip(slots, ESCAPES, strict=False)}
    return program, Guide(" ".join(ESCAPES), ESCAPES, known, with_defaults=("x",))


@pytest.mark.parametrize("key", list(LANGUAGES))
def test_hostile_text_changes_nothing(key, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program, guide = hostile()
    path = tmp_path / file_name(program, LANGUAGES[key])
    path.write_text(source_text(program, LANGUAGES[key], guide), encoding="utf-8")
    rows = np.random.default_rng(3).normal(size=(3, sum(s.size for s in program.inputs)))
    ends = np.cumsum([s.size for s in program.inputs])[:-1]
    expected = np.array([np.concatenate([np.ravel(r) for r in program(*np.split(row, ends))]) for row in rows])
    np.testing.assert_allclose(runners.run(key, path, program, rows), expected, rtol=1e-12)
    assert not (tmp_path / "broken_out").exists()


@pytest.mark.parametrize("key", list(LANGUAGES))
def test_lines_stay_lines(key):
    """No line of the file begins or continues a text of the model outside a comment: checked without any compiler."""
    program, guide = hostile()
    text = source_text(program, LANGUAGES[key], guide)
    assert all(c.isprintable() or c == "\n" for c in text)
    mark = {"c": r"^ \* |/\* ", "fortran": "! ", "octave": "% ", "julia": "# "}.get(key, "// ")
    reported = [line for line in text.splitlines() if "broken out" in line]
    assert len(reported) > 10
    if key == "python":  # texts are in a string, too
        compile(text, "hostile.py", "exec")
        return
    for line in reported:
        found = re.search(mark, line)
        assert found and found.start() < line.index("broken out"), line


@pytest.mark.parametrize("word", ["double", "end", "function", "pub", "subroutine"])
def test_a_program_may_have_any_name(word, tmp_path):
    x = ca.SX.sym("x")
    program = Program.build(word, {"x": x}, {"y": 2 * x})
    for key, language in LANGUAGES.items():
        path = tmp_path / key / file_name(program, language)
        path.parent.mkdir()
        path.write_text(source_text(program, language), encoding="utf-8")
        if runners.present(key) and key != "julia":
            assert runners.run(key, path, program, np.array([[3.0]])) == 6.0


def test_plain_and_letters():
    assert plain("a\u202e\n b\tc\x00") == "a b c"
    assert plain("90° × φ") == "90° × φ"
    assert letters("dsteer/dt") == "dsteer_dt"
    assert letters("__a--b__") == "a_b"


def test_names_are_given_once():
    names = Names({"for"}, case_matters=False, longest=10)
    given = [
        names.give(*targets) for targets in (("For", "for_x"), ("a",), ("A", "a_"), ("a",), ("w12",), ("verylongname",), ("9",))
    ]
    assert len({name.lower() for name in given}) == len(given)
    assert all(name[0].isalpha() and len(name) <= 10 and name.lower() != "for" for name in given)
