"""`draisine list` and `draisine run STUDY`: what the gallery has, and its studies."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from draisine.cli.options import add_json
from draisine.cli.terminal import DONE, print_json, say, table


def add(commands: Any) -> None:
    """Add the two commands to the parser's."""
    parser = commands.add_parser("list", help="models and studies of the gallery")
    add_json(parser)
    parser.set_defaults(action=run_list)

    parser = commands.add_parser("run", help="run a study of the gallery and save its figures")
    parser.add_argument("study", metavar="STUDY")
    parser.add_argument(
        "--out", type=Path, default=Path("out"), metavar="DIR", help="folder for figures and trajectories (default out)"
    )
    add_json(parser)
    parser.set_defaults(action=run_study)


def run_list(given: argparse.Namespace, _: list[str]) -> int:
    """Print names, with a line about each."""
    from draisine import gallery

    models, studies = gallery.models(), gallery.studies()
    if given.json:
        print_json({"models": models, "studies": studies})
        return DONE
    table(("", ""), list(models.items()), "models (draisine show MODEL, draisine simulate MODEL)")
    table(("", ""), list(studies.items()), "studies (draisine run STUDY)")
    return DONE


def run_study(given: argparse.Namespace, _: list[str]) -> int:
    """Run a study, write what it gives, say what it found."""
    from draisine import gallery

    study = gallery.study(given.study)()
    written = study.save(given.out)
    if given.json:
        print_json({"study": given.study, "title": study.title, "findings": study.findings, "written": written})
        return DONE
    say(study.summary())
    print(f"written to {given.out}: {', '.join(path.name for path in written)}")
    return DONE
