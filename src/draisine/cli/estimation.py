"""`draisine estimate` and `draisine filter`: parameters and states of a model from data files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from draisine.cli.arguments import model_of, number_or_text, pairs_of
from draisine.cli.data_options import FILTERS, STUDIES, studies_in
from draisine.cli.terminal import DONE, print_json, print_text
from draisine.errors import ArgumentError, DataError
from draisine.estimation.filters.study_file import FilterStudy, read_filter
from draisine.estimation.study_file import method_of, read_study
from draisine.expr.expression import did_you_mean
from draisine.model.toml_files import parse_toml
from draisine.results.files import read_text
from draisine.results.status import Progress
from draisine.view.plots.figure_files import save_figure


def run_estimate(given: argparse.Namespace, _: list[str]) -> int:
    """Read the study, fit, print the parameters."""
    path = Path(given.study)
    if path.suffix != ".toml":
        known = studies_in(STUDIES)
        if given.study not in known:
            raise ArgumentError(f"there is no study {given.study!r}{did_you_mean(given.study, known)}; or give a file (.toml)")
        path = STUDIES / f"{given.study}.toml"
    study = read_study(path)
    options: dict[str, Any] = {}
    if given.window is not None or given.intervals is not None:
        options["method"] = method_of(given.window, given.intervals, "command line")
    progress = None if given.json or not sys.stderr.isatty() else _print_progress
    data = given.data[0] if len(given.data) == 1 else {file.stem: file for file in given.data}
    fit = study.fit(model_of(study.model), data, progress=progress, **options)
    profiles = {name: fit.profile(name) for name in given.profile}
    if given.json:
        print_json(fit.to_dict() | {"profiles": {name: list(p.interval) for name, p in profiles.items()}})
    else:
        print_text(fit)
        for name, profile in profiles.items():
            print(f"profile likelihood interval of {name}: {profile.low:.6g} … {profile.high:.6g}")
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        figures = {"fit": fit.plot(), "intervals": fit.plot_intervals()}
        figures |= {f"profile_{name}": profile.plot() for name, profile in profiles.items()}
        for name, figure in figures.items():
            save_figure(figure, given.out / f"{name}.png")
    return DONE


def _print_progress(progress: Progress) -> None:
    print(f"draisine: {progress}", file=sys.stderr)


def run_filter(given: argparse.Namespace, _: list[str]) -> int:
    """Read the study, filter, print the estimates."""
    study = _filter_study(given.study)
    options = {"measured": given.measured, "spread": given.spread, "process": given.process, "start": given.start}
    options |= {"inputs": given.input, "parameters": given.set}
    study = study.with_more(**{name: _table(name, texts) for name, texts in options.items()})
    study = replace(study, smooth=study.smooth or given.smooth, show=tuple(given.show) or study.show)
    if not study.measured:
        raise ArgumentError("--measured is missing; name what the columns measure, e.g. --measured gyro=roll_rate:0.1")
    found = study.run(model_of(study.model), given.data)
    names = study.show or found.quantities
    if given.json:
        last = {name: {"last": float(found[name][-1]), "deviation": float(found.deviation(name)[-1])} for name in names}
        print_json({**found.to_dict(), "estimates": last})
    else:
        print(found.summary())
        for name in names:
            print(f"{name} at {found.time[-1]:g} s: {found[name][-1]:.6g} ± {found.deviation(name)[-1]:.2g}")
    if given.out is not None:
        _write_estimates(given.out, found, names)
    return DONE


def _filter_study(name: str) -> FilterStudy:
    """A study of the gallery or a file; otherwise a model, for which the options describe the filter."""
    if name in studies_in(FILTERS):
        return read_filter(FILTERS / f"{name}.toml")
    path = Path(name)
    if path.suffix == ".toml" and path.exists() and "measured" in parse_toml(read_text(path, DataError), name, DataError):
        return read_filter(path)
    return FilterStudy(name)


def _table(name: str, texts: list[str]) -> dict[str, Any]:
    option = {"inputs": "--input", "parameters": "--set"}.get(name, f"--{name}")
    found: dict[str, Any] = {}
    for key, value in pairs_of(texts, option):
        quantity, colon, noise = value.partition(":")
        found[key] = [quantity, number_or_text(noise)] if name == "measured" and colon else number_or_text(value)
    return found


def _write_estimates(folder: Path, found: Any, names: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save_figure(found.plot(*names), folder / "estimates.png")
    columns = [found.time, *(part for name in names for part in (found[name], found.deviation(name)))]
    header = ",".join(["time", *(word for name in names for word in (name, f"{name}_deviation"))])
    np.savetxt(folder / "estimates.csv", np.column_stack(columns), delimiter=",", header=header, comments="")
