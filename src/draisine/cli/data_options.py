"""Options of the commands about many runs, data and optimal control."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from draisine.cli.options import REPEATED, add_json, add_model, add_plot, seconds

STUDIES = Path(__file__).parents[1] / "gallery" / "data"
FILTERS = STUDIES / "filters"


def studies_in(folder: Path) -> list[str]:
    """Names of the study files in a folder of the gallery."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def add_ensemble(commands: Any) -> None:
    parser = commands.add_parser(
        "ensemble",
        help="many runs of a model, with statistics",
        description="Simulate a model many times with different parameters, inputs and initial conditions; --NAME VALUE sets an "
        "initial condition of all runs, as in simulate. A run that fails is a row with its status. Exit status: 0 all runs were "
        "made; 2 wrong arguments; 130 interrupted (with --out, the same command resumes).",
        epilog="example: draisine ensemble bicycle --over speed=3:8:60 --over roll_rate=-3:3:60 --until 5 --outputs lean,steer "
        "--out knocks",
    )
    add_model(parser)
    parser.add_argument(
        "--over", **REPEATED, metavar="NAME=VALUES", help="FROM:TO:COUNT, or numbers separated by commas; all combinations run"
    )
    parser.add_argument(
        "--sample", **REPEATED, metavar="NAME=LAW", help="normal(MEAN,DEVIATION) or uniform(LOW,HIGH), drawn for every run"
    )
    parser.add_argument("--runs", type=int, default=None, metavar="N", help="number of random runs (with --sample)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the random numbers (default 0)")
    parser.add_argument("--until", type=seconds, default=5.0, metavar="SECONDS", help="duration of each run (default 5)")
    parser.add_argument("--outputs", default="", metavar="NAMES", help="quantities to keep of each run, separated by commas")
    parser.add_argument("--snapshots", default="", metavar="TIMES", help="times at which outputs are kept, separated by commas")
    parser.add_argument("--extremes", action="store_true", help="also the smallest and largest value of each output")
    parser.add_argument("--set", **REPEATED, metavar="NAME=VALUE", help="set a parameter of all runs; may repeat")
    parser.add_argument("--input", **REPEATED, metavar="NAME=LAW", help="a number or a law for all runs; may repeat")
    parser.add_argument("--tolerance", type=float, default=1e-6, metavar="REL", help="relative tolerance (default 1e-6)")
    parser.add_argument("--threads", type=int, default=None, metavar="N", help="number of cores to use (default all)")
    parser.add_argument("--on", default=None, metavar="ADDRESS", help="a Dask scheduler, e.g. tcp://10.0.0.5:8786")
    parser.add_argument(
        "--out",
        type=Path,
        default=None,
        metavar="DIR",
        help="store chunks of runs here: Parquet files, or Zarr if the name ends with .zarr",
    )
    add_json(parser)
    parser.set_defaults(takes_targets=True)


def add_estimate(commands: Any) -> None:
    parser = commands.add_parser(
        "estimate",
        help="estimate parameters of a model from data",
        description="Estimate parameters of a model from data, with their uncertainty, as described by a study (see "
        "docs/estimation.md).",
        epilog="example: draisine estimate swing_logger --data log.csv --json",
    )
    known = ", ".join(studies_in(STUDIES))
    parser.add_argument("study", metavar="STUDY", help=f"a study file (.toml), or one of {known}")
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        required=True,
        metavar="FILE",
        help="CSV, Parquet or NetCDF; repeat for several experiments",
    )
    parser.add_argument(
        "--window", type=seconds, default=None, metavar="SECONDS", help="multiple shooting with windows of this length"
    )
    parser.add_argument("--intervals", type=int, default=None, metavar="N", help="collocation with N intervals")
    parser.add_argument("--profile", **REPEATED, metavar="NAME", help="profile likelihood of a parameter; may repeat")
    parser.add_argument("--out", type=Path, default=None, metavar="DIR", help="write figures into this folder")
    add_json(parser)


def add_filter(commands: Any) -> None:
    parser = commands.add_parser(
        "filter",
        help="estimate states of a model from data",
        description="Estimate the states of a model and their uncertainty with a Kalman filter (see docs/filtering.md).",
        epilog="example: draisine filter bicycle --data ride.csv --measured gyro=roll_rate:0.1 --spread lean=0.05 --show lean",
    )
    known = ", ".join(studies_in(FILTERS))
    parser.add_argument("study", metavar="STUDY|MODEL", help=f"a study (.toml, or one of {known}), or a model")
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="CSV, Parquet or NetCDF")
    for option, pair, text in (
        (
            "measured",
            "COLUMN=QUANTITY:NOISE",
            "quantity and standard deviation of a column; COLUMN=NOISE where column and quantity have the same name; may repeat",
        ),
        ("spread", "NAME=DEVIATION", "standard deviation of a state or output at the start; may repeat"),
        ("process", "NAME=SIZE", "white noise on an input or a state; may repeat"),
        ("start", "NAME=VALUE", "an initial condition; may repeat"),
        ("input", "NAME=COLUMN", "a column, a constant or a law for an input; may repeat"),
        ("set", "NAME=VALUE", "set a parameter; may repeat"),
    ):
        parser.add_argument(f"--{option}", **REPEATED, metavar=pair, help=text)
    parser.add_argument("--show", **REPEATED, metavar="NAME", help="a quantity to print and plot; may repeat")
    parser.add_argument("--smooth", action="store_true", help="smooth: use later samples as well")
    parser.add_argument(
        "--out", type=Path, default=None, metavar="DIR", help="write a figure and the estimates (CSV) into this folder"
    )
    add_json(parser)


def add_optimize(commands: Any) -> None:
    parser = commands.add_parser(
        "optimize",
        help="find the optimal control of a maneuver",
        description="Solve a maneuver given by a file (.toml or .json) or by a study of the gallery, simulate with the control "
        "found, and report optimality. Exit status: 0 solved; 1 ended without a solution (the best so far is printed); 2 wrong "
        "arguments or file; 3 infeasible, the conflicting conditions are named; 130 interrupted, the best so far is printed and "
        "written.",
        epilog="example: draisine optimize turn.toml --plot turn.png --out turn.nc --table torques.csv",
    )
    parser.add_argument("study", metavar="STUDY", help="a study of the gallery with a maneuver, or a file (.toml, .json)")
    parser.add_argument("--intervals", type=int, default=None, metavar="N", help="number of intervals, instead of the file's")
    add_plot(parser, "controls and switching functions")
    parser.add_argument("--out", type=Path, default=None, metavar="FILE", help="write motion and costates (.nc)")
    parser.add_argument("--table", type=Path, default=None, metavar="FILE", help="write the inputs as a table (.csv)")
    parser.add_argument("--rate", type=float, default=100.0, metavar="HZ", help="rows per second of the table (default 100)")
    add_json(parser)
