"""Model files: one TOML file describes a system completely, and reads back as the same system.

    draisine = 1
    name = "pendulum"

    [parameters]
    length = { value = 2, unit = "m", about = "pivot to bob" }

    [bodies.bob]
    mass = "1200 g"
    centre = [0, 0, "-length"]

    [joints.swing]
    kind = "revolute"
    parent = "ground"
    child = "bob"
    axis = "y"

Bodies and the ground may say how they look (`shapes`, see `draisine.model.shapes`); otherwise solids are made up for them.
An amount is a number in SI, a text with a unit that fits ("1200 g"), or an expression of parameters ("-length"). Files are
data: expressions go through a parser of our own, and nothing in a file can run.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from draisine.errors import ModelError
from draisine.model.file_reading import model_of
from draisine.model.file_writing import text_of
from draisine.model.items import System
from draisine.model.model import Model

MAX_BYTES = 10_000_000


def read_model(path: str | Path) -> Model:
    """The model a TOML file describes, checked as a whole."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise ModelError(f"{path}: cannot be read ({problem.strerror}); check the name and the permissions") from None
    if len(data) > MAX_BYTES:
        raise ModelError(f"{path}: larger than {MAX_BYTES // 1_000_000} MB, which no model file needs; is it the right file?")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data[: problem.start].count(b"\n") + 1
        raise ModelError(f"{path}: not a text in UTF-8 (line {line}); save it in that encoding") from None
    return from_toml(text, str(path), path.resolve().parent)


def write_model(model: Model | System, path: str | Path) -> None:
    """Write a TOML file that `read_model` reads back as the same system."""
    target = Path(path)
    system = model.freeze() if isinstance(model, Model) else model
    target.write_text(text_of(system, target.parent), encoding="utf-8")


def from_toml(text: str, source: str = "model text", folder: str | Path = ".") -> Model:
    """The model that a TOML text describes; complaints begin with `source`. Meshes that it names lie in `folder` or below.

    >>> m = from_toml('name = "block"\\n[bodies.block]\\nmass = "2 t"\\n[joints.motion]\\nkind = "free"\\nchild = "block"')
    >>> print(m.freeze().bodies[0].mass)
    2000
    """
    if len(text) > MAX_BYTES:
        raise ModelError(f"{source}: larger than {MAX_BYTES // 1_000_000} MB, which no model needs")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ModelError(f"{source}: {_toml_problem(str(problem), text)}") from None
    except (RecursionError, ValueError) as problem:  # thousands of nested brackets; an integer of thousands of digits
        reason = "brackets are nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        raise ModelError(f"{source}: not a model file: {reason}") from None
    try:
        return model_of(content, str(folder))
    except ModelError as problem:
        raise ModelError(f"{source}: {problem}") from None


def to_toml(model: Model | System) -> str:
    """The text of a model file.

    >>> m = Model("block")
    >>> _ = m.free(m.body("block", mass=2.0))
    >>> print(to_toml(m).splitlines()[0])
    draisine = 1
    """
    system = model.freeze() if isinstance(model, Model) else model
    return text_of(system)


def _toml_problem(message: str, text: str) -> str:
    twice = re.search(r"Cannot declare \((.*)\) twice", message)
    place = re.search(r"line (\d+)", message)
    quoted = text.splitlines()[int(place[1]) - 1].strip()[:60] if place and int(place[1]) <= len(text.splitlines()) else ""
    shown = f" near '{quoted}'" if quoted else ""
    if twice:
        name = ".".join(re.findall(r"'([^']*)'", twice[1]))
        return f"[{name}] is described twice{message[twice.end() :]}; names must differ: rename or remove one"
    if "overwrite" in message or "Duplicate" in message or "mutate" in message:
        return f"a name is given twice: {message}{shown}; names must differ: rename or remove one"
    return f"not valid TOML: {message}{shown}; check quotes, brackets and equals signs there"
