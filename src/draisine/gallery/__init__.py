"""Systems and studies, one subject per file: they feed the command line, the documentation and the tests alike.

    >>> from draisine import gallery
    >>> bike = gallery.bicycle()
    >>> sorted(gallery.models())[0]
    'bicycle'

A model is a function without arguments that gives a `Model`, or `Equations` where a system is typed by hand; a study is a
function that runs one and gives a `Study`: trajectories, figures, findings. Files begin with what the study shows and what you
should see.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from draisine.gallery.outcome import Study
    from draisine.model import Model
    from draisine.program.equations import Equations

# name → file of the folder `entries` that defines a function of that name
_MODELS = {
    "bicycle": "bicycle",
    "rolling_disk": "disk",
    "rolling_torus": "torus",
    "unicycle": "unicycle",
    "chaplygin_sleigh": "sleigh",
    "snakeboard": "snakeboard",
    "delebecque_bicycle": "delebecque_bicycle",
    "delebecque_graph": "delebecque_bicycle",
    "double_pendulum": "double_pendulum",
    "double_pendulum_graph": "double_pendulum",
    "cart_pole": "cart_pole",
    "cart_pole_graph": "cart_pole",
    "spherical_pendulum": "spherical_pendulum",
    "spherical_pendulum_by_angles": "spherical_pendulum",
    "rattleback": "rattleback",
    "sphere_on_turntable": "sphere_on_turntable",
}
_STUDIES = {
    "bicycle_free_run": "bicycle_free_run",
    "rolling_disk_paths": "disk",
    "rolling_torus_paths": "torus",
    "unicycle_ride": "unicycle",
    "bicycle_controlled_turn": "bicycle_controlled_turn",
    "sleigh_turns_round": "sleigh",
    "snakeboard_drive": "snakeboard",
    "delebecque_pulse": "delebecque_bicycle",
    "double_pendulum_twice": "double_pendulum",
    "cart_pole_swing_up": "cart_pole",
    "spherical_pendulum_passes": "spherical_pendulum",
    "rattleback_reverses": "rattleback",
    "sphere_on_turntable_circles": "sphere_on_turntable",
}


def models() -> dict[str, str]:
    """Names of the models, with one line about each."""
    return {name: _about(file, name) for name, file in _MODELS.items()}


def studies() -> dict[str, str]:
    """Names of the studies, with one line about each."""
    return {name: _about(file, name) for name, file in _STUDIES.items()}


def model(name: str) -> Model | Equations:
    """A model by name."""
    found: Model | Equations = _function(name, _MODELS, "model")()
    return found


def study(name: str) -> Callable[[], Study]:
    """A study by name, as a function that runs it."""
    found: Callable[[], Study] = _function(name, _STUDIES, "study")
    return found


def _function(name: str, table: dict[str, str], kind: str) -> Any:
    if name not in table:
        from draisine.program.expression import closest

        raise KeyError(f"the gallery has no {kind} {name!r}{closest(name, table)}; it has {', '.join(table)}")
    return getattr(import_module(f"draisine.gallery.entries.{table[name]}"), name)


def _about(file: str, function: str) -> str:
    """First line of a function's documentation, read without running the file."""
    tree = ast.parse((Path(__file__).parent / "entries" / f"{file}.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return (ast.get_docstring(node) or "").partition("\n")[0]
    return ""


def __getattr__(name: str) -> Any:
    if name in _MODELS:
        return _function(name, _MODELS, "model")
    if name in _STUDIES:
        return _function(name, _STUDIES, "study")
    raise AttributeError(f"the gallery has no {name!r}; it has {', '.join([*_MODELS, *_STUDIES])}")


def __dir__() -> list[str]:
    return [*_MODELS, *_STUDIES, "model", "models", "studies", "study"]
