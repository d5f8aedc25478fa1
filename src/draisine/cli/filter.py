"""`draisine filter`: states of a model from a data file, as a study or the command line says."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.cli.arguments import model_of, pairs_of
from draisine.cli.options import add_json
from draisine.cli.terminal import DONE, print_json
from draisine.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from draisine.estimation.filters.study_file import FilterStudy

STUDIES = Path(__file__).parents[1] / "gallery" / "data" / "filters"
TABLES = ("measured", "spread", "process", "start", "inputs", "parameters")


def add(commands: Any) -> None:
    """The parser of the command."""
    parser = commands.add_parser(
        "filter",
        help="states of a model from data",
        description="Tell where a mechanism was, and how well one knows it, by a Kalman filter (see docs/filtering.md).",
        epilog="example: draisine filter bicycle --data ride.csv --measured gyro=roll_rate:0.1 --spread lean=0.05 --show lean",
    )
    parser.add_argument("study", metavar="STUDY|MODEL", help=f"a study (.toml, or one of {', '.join(known())}), or a model")
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="CSV, Parquet or NetCDF")
    parser.add_argument(
        "--measured",
        action="append",
        default=[],
        metavar="COLUMN=QUANTITY:NOISE",
        help="what a column measures, and its standard deviation; COLUMN=NOISE where both have one name; may repeat",
    )
    for option, word, text in (
        ("spread", "NAME=DEVIATION", "uncertainty of a state or output at the start; may repeat"),
        ("process", "NAME=SIZE", "white noise on an input or a state; may repeat"),
        ("start", "NAME=VALUE", "a wish for the start; may repeat"),
        ("input", "NAME=COLUMN", "a column, a constant or a law that drives an input; may repeat"),
        ("set", "NAME=VALUE", "a parameter; may repeat"),
    ):
        parser.add_argument(f"--{option}", action="append", default=[], metavar=word, help=text)
    parser.add_argument("--show", action="append", default=[], metavar="NAME", help="a quantity to tell and draw; may repeat")
    parser.add_argument("--smooth", action="store_true", help="look back from the last sample as well")
    parser.add_argument(
        "--out", type=Path, default=None, metavar="DIR", help="write a figure and the estimates (CSV) into this folder"
    )
    add_json(parser)
    parser.set_defaults(action=run)


def known() -> list[str]:
    """Names of the filters of the gallery."""
    return sorted(path.stem for path in STUDIES.glob("*.toml"))


def run(given: argparse.Namespace, _: list[str]) -> int:
    """Read, filter, tell."""
    from dataclasses import replace

    study = _study(given.study)
    said = {"measured": given.measured, "spread": given.spread, "process": given.process, "start": given.start}
    said |= {"inputs": given.input, "parameters": given.set}
    study = study.with_more(**{name: _table(name, texts) for name, texts in said.items()})
    study = replace(study, smooth=study.smooth or given.smooth, show=tuple(given.show) or study.show)
    if not study.measured:
        raise ArgumentError("--measured is missing: say what the columns measure, e.g. --measured gyro=roll_rate:0.1")
    found = study.run(model_of(study.model), given.data)
    names = study.show or found.quantities
    if given.json:
        reported = {name: {"last": float(found[name][-1]), "deviation": float(found.deviation(name)[-1])} for name in names}
        print_json({**found.to_dict(), "estimates": reported})
    else:
        print(found.summary())
        for name in names:
            print(f"{name} at {found.time[-1]:g} s: {found[name][-1]:.6g} ± {found.deviation(name)[-1]:.2g}")
    if given.out is not None:
        _write(given.out, found, names)
    return DONE


def _study(name: str) -> FilterStudy:
    """A study of the gallery or a file; else a model about which the command line says all."""
    from draisine.estimation.filters.study_file import FilterStudy, read_filter
    from draisine.model.toml_files import parse_toml, read_text

    if name in known():
        return read_filter(STUDIES / f"{name}.toml")
    path = Path(name)
    if path.suffix == ".toml" and path.exists() and "measured" in parse_toml(read_text(path, DataError), name, DataError):
        return read_filter(path)
    return FilterStudy(name)


def _table(name: str, texts: list[str]) -> dict[str, Any]:
    option = {"inputs": "--input", "parameters": "--set"}.get(name, f"--{name}")
    found: dict[str, Any] = {}
    for key, value in pairs_of(texts, option):
        quantity, colon, noise = value.partition(":")
        found[key] = [quantity, _amount(noise)] if name == "measured" and colon else _amount(value)
    return found


def _amount(text: str) -> float | str:
    """A number, or the text as it stands: an amount with a unit, a column, a law."""
    try:
        return float(text)
    except ValueError:
        return text


def _write(folder: Path, found: Any, names: Sequence[str]) -> None:
    import numpy as np

    from draisine.view.plots.figure_files import save_figure

    folder.mkdir(parents=True, exist_ok=True)
    save_figure(found.plot(*names), folder / "estimates.png")
    columns = [found.time, *(part for name in names for part in (found[name], found.deviation(name)))]
    header = ",".join(["time", *(word for name in names for word in (name, f"{name}_deviation"))])
    np.savetxt(folder / "estimates.csv", np.column_stack(columns), delimiter=",", header=header, comments="")
