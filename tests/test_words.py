"""The field's words: retired words stay out of identifiers, retired phrases out of pages, docstrings and messages."""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools import house

ROOT = Path(__file__).parents[1]
CODE = ("src", "tools", "benchmarks", "docs/extensions")

# parts of identifiers: the retired word and the field's
RETIRED = {
    "bends": "hessian",
    "calm": "rest velocities",
    "effort": "generalized force, input weight",
    "errand": "job",
    "happening": "event",
    "held": "constant, constrained, zero-order hold",
    "lane": "sample, batch",
    "marching": "batched Runge–Kutta",
    "meanings": "annotations",
    "meeting": "surface pair",
    "neat": "simplify",
    "patient": "mechanism",
    "road": "derivation",
    "shaken": "perturbed",
    "slopes": "jacobian",
    "telling": "identifiability",
    "tie": "constraint, loop closure",
    "tied": "constrained",
    "told": "reported",
    "touching": "wheel on surface",
    "treatment": "formulation choice",
    "unheld": "unconstrained",
    "untold": "unidentifiable",
    "watch": "event",
    "watched": "event",
    "wish": "target, initial condition",
    "wished": "target, initial condition",
    # American spelling
    "analyse": "analyze",
    "behaviour": "behavior",
    "catalogue": "catalog",
    "centre": "center",
    "centred": "centered",
    "colour": "color",
    "grey": "gray",
    "labelled": "labeled",
    "licence": "license",
    "manoeuvre": "maneuver",
    "metre": "meter",
    "modelled": "modeled",
    "modelling": "modeling",
    "neighbour": "neighbor",
    "programme": "program",
    "tyre": "tire",
}
PLURALS = {f"{word}es" if word.endswith("sh") else f"{word}s" for word in RETIRED}
# -ise, -isation: all of them but words in which these letters are no suffix
BRITISH = re.compile(r"[a-z]{3,}is(e[drs]?|ing|ations?)")
NO_SUFFIX = re.compile(r"\w*(wise|cise|prise)[sd]?|(prom|comprom|prem|disgu|superv|expert)ise[sd]?")

# the word is meant literally: path, word, reason
LITERAL = (
    ("src/draisine/codegen/", "lane", "of a vector register"),
    ("src/draisine/simulation/ensemble/batch", "lane", "of a vector register"),
    ("src/draisine/simulation/ensemble/fixed_step", "lane", "of a vector register"),
    ("benchmarks/speed.py", "lane", "of a vector register"),
    ("src/draisine/gallery/", "lane", "of a road"),
    ("src/draisine/gallery/entries/waves.py", "road", "on which a wheel rolls"),
    ("src/draisine/gallery/entries/motorcycle_", "roads", "on which wheels roll"),
    ("src/draisine/model/contact/roads.py", "road", "on which wheels roll"),
    ("src/draisine/model/contact/roads.py", "roads", "on which wheels roll"),
    ("src/draisine/model/contact/road_start.py", "road", "on which wheels roll"),
    ("src/draisine/model/system.py", "road", "on which wheels roll"),
    ("src/draisine/stability/changing_ground.py", "road", "on which wheels roll"),
    ("src/draisine/gallery/entries/hanging_rope.py", "slopes", "of a rope against the horizontal"),
    ("src/draisine/gallery/entries/flexible_frame.py", "shaken", "handlebar"),
    ("src/draisine/gallery/entries/three_body.py", "treatment", "of one motion by several methods"),
    ("src/draisine/simulation/ensemble/storage.py", "meanings", "of flags, as in the CF conventions"),
)

# in pages, docstrings and messages
PHRASES = (
    r"who \w+s is told",
    r"(is|are|was|were|be|been|not|and) told",
    r"untold",
    r"(eigenvalues|figures|numbers|data|report|sentences) tells?",
    r"needs? nobody",
    r"nobody",
    r"errands?",
    r"nothing is called",
    r"(two|both|other|independent|all|these|the) roads",
    r"(a|one|second|other|this|that) road (by|to)",
    r"wish(es|ed)?",
    r"happenings?",
    r"ties|(a|each|one|the) tie",
    r"none of the two",
    r"which motions last",
    r"(state|line|row)s? slopes?",
    r"the slopes of the (residuals|equations|constraints)",
    r"manoeuvres?",
    r"tyres?",
    r"(stabil|linear|optim|discret|normal|minim|maxim|parametr|regular|general)is(e[ds]?|ing|ation)",
)
PHRASE = re.compile(rf"\b({'|'.join(PHRASES)})\b", re.IGNORECASE)
# phrases that are right where they stand: path, phrase, reason
RIGHT = (
    ("src/draisine/results/controllability.py", "ties", "equal values in an order"),
    ("src/draisine/model/quantities.py", "ties", "retired key of model files"),
)


def parts(identifier: str) -> list[str]:
    """Words of an identifier in lower case: `LoopClosure_of` → loop, closure, of."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier)]


def is_retired(word: str) -> bool:
    british = BRITISH.fullmatch(word) and not NO_SUFFIX.fullmatch(word)
    return word in RETIRED or word in PLURALS or bool(british)


def retired_words(identifier: str, path: str) -> list[str]:
    """Retired words in an identifier, but those meant literally in a file."""
    literal = {form for start, word, _ in LITERAL if path.startswith(start) for form in (word, f"{word}s")}
    return [word for word in parts(identifier) if is_retired(word) and word not in literal]


def retired_identifiers(text: str, path: str = "") -> Iterator[tuple[int, str, str]]:
    """Line, identifier and the retired word in it."""
    suspects = {one: words for one in set(re.findall(r"\w+", text)) if (words := retired_words(one, path))}
    if not suspects:  # most files: reading tokens takes seconds
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            for word in suspects.get(token.string, ()):
                yield token.start[0], token.string, word


def retired_phrases(text: str, path: str = "") -> Iterator[tuple[int, str]]:
    """Line and phrase."""
    right = {phrase for start, phrase, _ in RIGHT if path.startswith(start)}
    for found in PHRASE.finditer(re.sub(r"\n(?=\S)", " ", text)):
        if found.group().lower() not in right:
            yield text.count("\n", 0, found.start()) + 1, found.group()


def may_have_phrases(text: str) -> bool:
    """Whether a file has a phrase anywhere, adjacent literals joined: few have, and reading the trees of all takes seconds."""
    joined = re.sub(r"""["']\s*\n\s*[a-zA-Z]{0,2}["']""", "", text.replace("\\n", " "))
    return PHRASE.search(re.sub(r"\s+", " ", joined)) is not None


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Docstrings and messages: all string literals, and the fixed parts of formatted ones, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "howto").glob("*.md"))]


def test_identifiers_have_no_retired_words() -> None:
    found = []
    for path in sources(*CODE):
        name = path.relative_to(ROOT).as_posix()
        found += [f"{name}:{line}: {one} ({word})" for line, one, word in retired_identifiers(path.read_text("utf-8"), name)]
        found += [f"{name}: name of the file ({word})" for word in retired_words(path.stem, name)]
    assert found == []


def test_pages_have_no_retired_phrases() -> None:
    found = []
    for path in pages():
        found += [f"{path.name}:{line}: {phrase}" for line, phrase in retired_phrases(path.read_text("utf-8"))]
    assert found == []


def test_docstrings_and_messages_have_no_retired_phrases() -> None:
    found = []
    for path in sources("src"):
        name = path.relative_to(ROOT).as_posix()
        for line, text in strings(house.parsed(path)) if may_have_phrases(path.read_text("utf-8")) else ():
            found += [f"{name}:{line}: {phrase}" for _, phrase in retired_phrases(text, name)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("told = 1", "told"),
        ("def _close_ties(): ...", "ties"),
        ("class HeldInputs: ...", "held"),
        ("x.residual_slopes()", "slopes"),
        ("WISHES = ()", "wishes"),
        ("def linearise(model): ...", "linearise"),
        ("stabilisation = None", "stabilisation"),
        ("f(centre=0)", "centre"),
        ("def f(lanes): ...", "lanes"),
    ],
)
def test_retired_identifiers_are_seen(text: str, word: str) -> None:
    assert [found for *_, found in retired_identifiers(text)] == [word]


def test_other_identifiers_are_not() -> None:
    """Words that contain a retired one, text that is no identifier, and lanes of vector registers."""
    fine = 'planes = held_out = properties = noise = otherwise = pairwise = rise = raised = precise = slope = "told"  # wishes'
    assert [word for *_, word in retired_identifiers(fine)] == ["held"]
    assert list(retired_identifiers("LANES = 4", "src/draisine/codegen/simd.py")) == []
    assert len(list(retired_identifiers("LANES = 4", "src/draisine/simulation/run.py"))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Who misspells is told.",
        "A state that is\ntold by name.",
        "Between weave and capsize speed it needs nobody.",
        "Which tool for which errand",
        "nothing is called 'angl'",
        "The same by two roads.",
        "as wished for",
        "to linearise about it",
    ],
)
def test_retired_phrases_are_seen(text: str) -> None:
    assert len(list(retired_phrases(text))) >= 1
    quoted = ast.unparse(ast.Module([ast.Expr(ast.Constant(text))], []))
    assert any(list(retired_phrases(found)) for _, found in strings(ast.parse(quoted)))
    formatted = f"raise ValueError(f{text!r} + f'{{name}}')"
    assert any(list(retired_phrases(found)) for _, found in strings(ast.parse(formatted)))


def test_other_phrases_are_not() -> None:
    assert list(retired_phrases("Properties of a dry road; the slope of the ground; a rope held at both ends.")) == []


@pytest.mark.parametrize(
    "text",
    [
        'x = "who asks is told"',
        'x = (\n    "it "\n    f"is told {y}"\n)',
        '"""A thing that\n    is told."""',
        r'x = "it is\ntold"',
    ],
)
def test_phrases_within_files_are_seen(text: str) -> None:
    assert may_have_phrases(text) and any(list(retired_phrases(" ".join(s.split()))) for _, s in strings(ast.parse(text)))
    assert not may_have_phrases(text.replace("told", "reported"))
