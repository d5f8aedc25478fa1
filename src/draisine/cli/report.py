"""`draisine report MODEL`: a complete report on a model as one HTML or PDF document."""

from __future__ import annotations

import argparse
from pathlib import Path

from draisine.cli.arguments import model_of, numbers_of, targets_of
from draisine.cli.sweeps import Sweeps
from draisine.cli.terminal import DONE, ENDED_EARLY, bar, print_json, table
from draisine.errors import ArgumentError, ToolError
from draisine.view.report.page import browser
from draisine.view.report.report import Report, report


def run_report(given: argparse.Namespace, rest: list[str]) -> int:
    """Write the document; the status is 1 if a chapter could not be written or reports a problem."""
    model, targets, parameters = model_of(given.model), targets_of(rest, vars(given)), numbers_of(given.set, "--set")
    files = _files(given)
    with bar("report", silent=given.json, stages=True) as progress:
        found = report(
            model,
            given.until,
            parameters=parameters,
            start=targets,
            over=dict([Sweeps(model).sweep(given.over)]) if given.over else None,
            film=not given.no_film,
            title=given.model,
            progress=progress,
        )
    for file in files:
        found.save(file)
    if given.json:
        print_json({**found.as_data(), "written": files})
    else:
        _print(found, files)
    return ENDED_EARLY if found.failed or found.troubles else DONE


def _files(given: argparse.Namespace) -> list[Path]:
    """The files to write, checked before the computation."""
    first = given.out if given.out is not None else Path(f"{Path(given.model).stem}.html")
    if first.suffix.lower() not in (".html", ".htm", ".pdf"):
        raise ArgumentError(f"--out {str(first)!r}: a report is written as .html or .pdf")
    if not first.resolve().parent.is_dir():
        raise ArgumentError(f"--out {str(first)!r}: there is no folder {str(first.parent)!r}")
    files = [first, first.with_suffix(".pdf")] if given.pdf and first.suffix.lower() != ".pdf" else [first]
    if any(file.suffix.lower() == ".pdf" for file in files) and browser() is None:
        raise ToolError("printing a PDF needs Chromium or Chrome; install it (apt-get install chromium), or leave out --pdf")
    return files


def _print(found: Report, files: list[Path]) -> None:
    table(("", found.model), list(found.facts.items()))
    for title, reason in {**found.troubles, **found.failed}.items():
        print(f"{title}: {reason}")
    for file in files:
        print(f"written: {file} ({file.stat().st_size / 1000:.0f} kB)")
