"""`draisine doctor MODEL [--NAME VALUE …] [--set NAME=VALUE] [--json]`."""

from __future__ import annotations

import argparse
from typing import Any

from draisine.cli.arguments import model_of, numbers_of, targets_of
from draisine.cli.options import add_json, add_model, add_set
from draisine.cli.terminal import DONE, ENDED_EARLY, print_json, say


def add(commands: Any) -> None:
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
    add_model(parser)
    add_set(parser)
    add_json(parser)
    parser.set_defaults(action=run, takes_targets=True)


def run(given: argparse.Namespace, extra: list[str]) -> int:
    """Print the diagnosis."""
    from draisine.diagnostics.diagnosis import diagnose

    found = diagnose(model_of(given.model), targets_of(extra) or None, parameters=numbers_of(given.set, "--set"))
    if given.json:
        print_json(found.as_data())
    else:
        say(found)
    return DONE if found.can_move else ENDED_EARLY
