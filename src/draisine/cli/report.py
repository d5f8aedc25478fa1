"""`draisine report MODEL [--out FILE.html] [--pdf] [--no-film] [--json]`: all that can be said about a model, in one document."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.cli.arguments import TARGETS, model_of, numbers_of, sweep_of, targets_of
from draisine.cli.options import add_json, add_model, add_set, seconds
from draisine.cli.terminal import DONE, ENDED_EARLY, print_json, stages, table
from draisine.errors import ArgumentError, ToolError

if TYPE_CHECKING:
    from draisine.view.report.report import Report


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "report",
        help="all about a model in one document: HTML, and PDF where Chromium is installed",
        description="Picture, tables, parameters, equations, certificate, diagnosis of the constraints, stability and a sample "
        f"ride of a model in one document that needs no network; {TARGETS} (they say how the sample ride begins). Exit status 1 "
        "when a chapter could not be written or found something wrong.",
        epilog="example: draisine report bicycle --out bicycle.html --pdf",
    )
    add_model(parser)
    parser.add_argument(
        "--out", type=Path, default=None, metavar="FILE", help="document to write: .html or .pdf (default MODEL.html)"
    )
    parser.add_argument("--pdf", action="store_true", help="print it as a PDF too, by Chromium")
    parser.add_argument("--no-film", action="store_true", help="leave the film of the ride out, which takes about 700 kB")
    parser.add_argument("--until", type=seconds, default=5.0, metavar="SECONDS", help="length of the sample ride (default 5)")
    parser.add_argument(
        "--over", default=None, metavar="NAME=FROM:TO:COUNT", help="what stability is told over (default the speed)"
    )
    add_set(parser)
    add_json(parser)
    parser.set_defaults(action=run, takes_targets=True)


def run(given: argparse.Namespace, extra: list[str]) -> int:
    """Write the document and say what is in it; it counts as done if every chapter could be written and found nothing wrong."""
    from draisine.view.report.report import report

    model, targets, parameters = model_of(given.model), targets_of(extra), numbers_of(given.set, "--set")
    files = _files(given)
    with stages("report", silent=given.json) as progress:
        found = report(
            model,
            parameters=parameters,
            start=targets,
            until=given.until,
            over=dict([sweep_of(given.over)]) if given.over else None,
            film=not given.no_film,
            called=given.model,
            progress=progress,
        )
    for target in files:
        found.save(target)
    if given.json:
        print_json({**found.as_data(), "written": files})
    else:
        _tell(found, files)
    return ENDED_EARLY if found.failed or found.troubles else DONE


def _files(given: argparse.Namespace) -> list[Path]:
    """Where to write, checked before the work."""
    from draisine.view.report.page import browser

    first = given.out if given.out is not None else Path(f"{Path(given.model).stem}.html")
    if first.suffix.lower() not in (".html", ".htm", ".pdf"):
        raise ArgumentError(f"--out {str(first)!r}: a report is written as .html or .pdf")
    if not first.resolve().parent.is_dir():
        raise ArgumentError(f"--out {str(first)!r}: there is no folder {str(first.parent)!r}")
    files = [first, first.with_suffix(".pdf")] if given.pdf and first.suffix.lower() != ".pdf" else [first]
    if any(t.suffix.lower() == ".pdf" for t in files) and browser() is None:
        raise ToolError
    return files


def _tell(found: Report, files: list[Path]) -> None:
    table(("", found.model), list(found.facts.items()))
    for title, why in {**found.troubles, **found.failed}.items():
        print(f"{title}: {why}")
    for target in files:
        print(f"written: {target} ({target.stat().st_size / 1000:.0f} kB)")
