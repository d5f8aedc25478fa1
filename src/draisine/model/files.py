"""Model files: one TOML file describes a system completely, and reads back as the same system.

    draisine = 1
    name = "pendulum"

    [parameters]
    length = { value = 2, unit = "m", description = "pivot to bob" }

    [bodies.bob]
    mass = "1200 g"
    center = [0, 0, "-length"]

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

from pathlib import Path

from draisine.errors import ArgumentError, ModelError
from draisine.model.file_reading import WORDS, model_of
from draisine.model.files import text_of
from draisine.model.items import System
from draisine.model.model import Model
from draisine.model.toml_files import parse_toml, read_text, with_line


def read_model(path: str | Path) -> Model:
    """The model a TOML file describes, checked as a whole. Whatever is wrong is a `ModelError` with the file and the line."""
    return from_toml(read_text(path, ModelError), str(path), Path(path).resolve().parent)


def write_model(model: Model | System, path: str | Path) -> None:
    """Write a TOML file that `read_model` reads back as the same system."""
    target = Path(path)
    target.write_text(text_of(_described(model), target.parent), encoding="utf-8")


def from_toml(text: str, source: str = "model text", folder: str | Path = ".") -> Model:
    """The model that a TOML text describes; complaints begin with `source`. Meshes that it names lie in `folder` or below.

    >>> m = from_toml('name = "block"\\n[bodies.block]\\nmass = "2 t"\\n[joints.motion]\\nkind = "free"\\nchild = "block"')
    >>> print(m.freeze().bodies[0].mass)
    2000
    """
    content = parse_toml(text, source, ModelError)
    try:
        return model_of(content, str(folder))
    except ModelError as problem:
        raise ModelError(with_line(source, text, str(problem), WORDS)) from None


def to_toml(model: Model | System) -> str:
    """The text of a model file.

    >>> m = Model("block")
    >>> _ = m.free(m.body("block", mass=2.0))
    >>> print(to_toml(m).splitlines()[0])
    draisine = 1
    """
    return text_of(_described(model))


def _described(model: Model | System) -> System:
    system = model.freeze() if isinstance(model, Model) else model
    if not isinstance(system, System):
        raise ArgumentError(
            f"a model file describes bodies and joints; a {type(model).__name__} was typed as formulas and has none"
        )
    return system
