"""`draisine list` and `draisine run STUDY`: models and studies of the gallery."""

from __future__ import annotations

import argparse

from draisine import gallery
from draisine.cli.terminal import DONE, print_json, print_text, table


def run_list(given: argparse.Namespace, _: list[str]) -> int:
    """Print names, with one line about each."""
    models, studies = gallery.models(), gallery.studies()
    if given.json:
        print_json({"models": models, "studies": studies})
        return DONE
    table(("", ""), list(models.items()), "models (draisine show MODEL, draisine simulate MODEL)")
    table(("", ""), list(studies.items()), "studies (draisine run STUDY)")
    return DONE


def run_run(given: argparse.Namespace, _: list[str]) -> int:
    """Run a study, write its files, print its findings."""
    study = gallery.study(given.study)()
    written = study.save(given.out)
    if given.json:
        print_json({"study": given.study, "title": study.title, "findings": study.findings, "written": written})
        return DONE
    print_text(study.summary())
    print(f"written to {given.out}: {', '.join(path.name for path in written)}")
    return DONE
