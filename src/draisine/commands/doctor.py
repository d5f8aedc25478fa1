"""`draisine doctor MODEL [--NAME VALUE …] [--set NAME=VALUE] [--json]`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from draisine.commands.terminal import print_json, say

if TYPE_CHECKING:
    from draisine.model import Model
    from draisine.program.equations import Equations


def add(commands: Any, action: Callable[[argparse.Namespace, list[str]], int]) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "doctor",
        help="what the constraints of a model do: freedoms, redundancy, integrability, index, singularities, reach",
        description="What the constraints of a model do: degrees of freedom, which constraints repeat which, which are holonomic "
        "in disguise, the index and what differentiations remove, singular configurations nearby, conditioning of independent "
        "velocities, symmetries, and what the inputs reach. The state may be wished for by name: --speed 5. Exit status 1 when "
        "nothing can move, 2 when the model cannot stand.",
        epilog="example: draisine doctor bicycle --speed 5",
    )
    parser.add_argument("model", metavar="MODEL", help="a name of the gallery, or a model file (.toml)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter; may repeat")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(action=action)


def run(
    given: argparse.Namespace, model: Model | Equations, wishes: Mapping[str, float], parameters: Mapping[str, float]
) -> bool:
    """Print the diagnosis; whether the model can move."""
    from draisine.doctor.diagnosis import diagnose

    found = diagnose(model, wishes or None, parameters=parameters)
    if given.json:
        print_json(found.as_data())
    else:
        say(found)
    return found.can_move
