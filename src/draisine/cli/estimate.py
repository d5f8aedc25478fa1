"""`draisine estimate`: parameters of a model from a data file, as a study file says."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from draisine.cli.arguments import model_of
from draisine.cli.options import add_json, seconds
from draisine.cli.terminal import DONE, print_json, say
from draisine.errors import ArgumentError

STUDIES = Path(__file__).parents[1] / "gallery" / "data"


def add(commands: Any) -> None:
    """The parser of the command."""
    parser = commands.add_parser(
        "estimate",
        help="parameters of a model from data",
        description="Find parameters of a model in data, with their uncertainty, as a study says (see docs/estimation.md).",
        epilog="example: draisine estimate swing_logger --data log.csv --json",
    )
    parser.add_argument("study", metavar="STUDY", help=f"a study file (.toml), or one of {', '.join(known())}")
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        required=True,
        metavar="FILE",
        help="CSV, Parquet or NetCDF; repeat for several experiments",
    )
    parser.add_argument("--window", type=seconds, default=None, metavar="SECONDS", help="multiple shooting with such windows")
    parser.add_argument("--intervals", type=int, default=None, metavar="N", help="collocation with so many intervals")
    parser.add_argument(
        "--profile", action="append", default=[], metavar="NAME", help="likelihood profile of an unknown; may repeat"
    )
    parser.add_argument("--out", type=Path, default=None, metavar="DIR", help="write figures into this folder")
    add_json(parser)
    parser.set_defaults(action=run)


def known() -> list[str]:
    """Names of the studies of the gallery."""
    return sorted(path.stem for path in STUDIES.glob("*.toml"))


def run(given: argparse.Namespace, _: list[str]) -> int:
    """Read, fit, tell."""
    from draisine.estimation.study_file import method_of, read_study

    path = Path(given.study)
    if path.suffix != ".toml":
        if given.study not in known():
            from draisine.expr.expression import did_you_mean

            raise ArgumentError(f"there is no study {given.study!r}{did_you_mean(given.study, known())}; or give a file (.toml)")
        path = STUDIES / f"{given.study}.toml"
    study = read_study(path)
    asked = given.window is not None or given.intervals is not None
    changed: dict[str, Any] = {"method": method_of(given.window, given.intervals, "command line")} if asked else {}
    progress = None if given.json or not sys.stderr.isatty() else _tell
    data = given.data[0] if len(given.data) == 1 else {file.stem: file for file in given.data}
    fit = study.fit(model_of(study.model), data, progress=progress, **changed)
    profiles = {name: fit.profile(name) for name in given.profile}
    if given.json:
        reported = fit.to_dict() | {"profiles": {name: list(p.interval) for name, p in profiles.items()}}
        print_json(reported)
    else:
        say(fit)
        for name, profile in profiles.items():
            print(f"likelihood's interval of {name}: {profile.low:.6g} … {profile.high:.6g}")
    if given.out is not None:
        _draw(given.out, fit, profiles)
    return DONE


def _tell(text: str) -> None:
    print(f"draisine: {text}", file=sys.stderr)


def _draw(folder: Path, fit: Any, profiles: dict[str, Any]) -> None:
    from draisine.view.plots.estimation import likelihood_profile
    from draisine.view.plots.figure_files import save_figure

    folder.mkdir(parents=True, exist_ok=True)
    figures = {"fit": fit.plot(), "intervals": fit.plot_intervals()}
    figures |= {f"profile_{n}": likelihood_profile(n, p.values, p.roots, p.low, p.high) for n, p in profiles.items()}
    for name, figure in figures.items():
        save_figure(figure, folder / f"{name}.png")
