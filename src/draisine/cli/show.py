"""`draisine show MODEL [--json]`: what a model is made of."""

from __future__ import annotations

import argparse
from typing import Any

from draisine.cli.arguments import model_of
from draisine.cli.options import add_json, add_model
from draisine.cli.terminal import DONE, print_json, say


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser("show", help="what a model is made of")
    add_model(parser)
    add_json(parser)
    parser.set_defaults(action=run)


def run(given: argparse.Namespace, _: list[str]) -> int:
    """Print the tree, the constraints and the parameters."""
    from draisine.dynamics.derive import derive
    from draisine.program.equations import Equations
    from draisine.symbolic.rendering.model_text import describe, describe_as_data

    model = model_of(given.model)
    system = None if isinstance(model, Equations) else model.freeze()
    equations = model if isinstance(model, Equations) else derive(model)
    if given.json:
        print_json(describe_as_data(equations, system))
    else:
        say(describe(equations, system))
    return DONE
