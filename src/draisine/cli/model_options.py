"""Options of the commands that describe, derive, simulate, check or export one model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from draisine.cli.options import REPEATED, TARGETS, add_json, add_model, add_set, seconds

# Listed here so that help loads nothing heavy; tests compare these names with the modules that define them.
VIEWS = "side, front, top, three-quarter"
FORMATS = ("md", "latex", "html", "sympy", "pdf")
LANGUAGES = "c, fortran, julia, octave, javascript, script, rust, python, casadi, fmu"
WHAT = (
    "dynamics, residual, switching, linear, report, motion, mass_matrix, inverse_dynamics, multipliers, contacts, project, "
    "events, monitor"
)
ADAPTIVE = ("auto", "dop853", "radau", "esdirk23", "cvode", "ida")
FIXED_STEP = ("gauss", "rk4", "heun", "predictor-corrector")
SHELLS = ("bash", "zsh", "fish")


def add_list(commands: Any) -> None:
    parser = commands.add_parser("list", help="models and studies of the gallery")
    add_json(parser)


def add_run(commands: Any) -> None:
    parser = commands.add_parser("run", help="run a study of the gallery and save its figures")
    parser.add_argument("study", metavar="STUDY", help="a study of the gallery (`draisine list` shows all)")
    parser.add_argument(
        "--out", type=Path, default=Path("out"), metavar="DIR", help="folder for figures and trajectories (default out)"
    )
    add_json(parser)


def add_show(commands: Any) -> None:
    parser = commands.add_parser("show", help="bodies, joints, constraints and parameters of a model")
    add_model(parser)
    add_json(parser)


def add_simulate(commands: Any) -> None:
    parser = commands.add_parser(
        "simulate",
        help="simulate a model from a consistent start",
        description="Simulate a model from a consistent start. Initial conditions are given by name: --speed 4.6 --roll-rate 0.5",
        epilog="example: draisine simulate bicycle --speed 4.6 --roll-rate 0.5 --until 5 --out ride.nc",
    )
    add_model(parser)
    parser.add_argument("--until", type=seconds, default=5.0, metavar="SECONDS", help="duration (default 5)")
    add_set(parser, "m_rear_wheel=2.5")
    parser.add_argument(
        "--input",
        **REPEATED,
        metavar="NAME=LAW",
        help="a number or a law, e.g. 'steer_torque=-2*steer_rate'; may repeat",
    )
    parser.add_argument(
        "--method",
        choices=(*ADAPTIVE, *FIXED_STEP),
        default="auto",
        help="integration method (default auto, which reports its choice)",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        default=None,
        metavar="REL",
        help="relative tolerance of methods with step-size control (default 1e-8)",
    )
    parser.add_argument(
        "--step",
        type=seconds,
        default=None,
        metavar="SECONDS",
        help="step of gauss and of the explicit fixed-step methods (default 0.005)",
    )
    parser.add_argument("--samples", type=int, default=None, metavar="N", help="number of output times (default 100 per second)")
    parser.add_argument("--out", type=Path, default=None, metavar="FILE", help="write the trajectory: .nc, .parquet or .csv")
    parser.add_argument(
        "--save", type=Path, default=None, metavar="FILM", help="write a film: .html (plays in any browser), .gif, .mp4 or .png"
    )
    parser.add_argument(
        "--charts", default="", metavar="NAMES", help="quantities plotted beside the film, separated by commas: lean,steer"
    )
    add_json(parser)
    parser.set_defaults(takes_targets=True)


def add_certify(commands: Any) -> None:
    parser = commands.add_parser(
        "certify",
        help="derive a model by independent methods and compare them",
        description="Derive a model by independent methods and compare them at random admissible states, or compare two "
        "descriptions of one mechanism in the quantities that both name. Exit status 1 when something disagrees.",
        epilog="example: draisine certify delebecque_graph --against delebecque_bicycle "
        "--names rear_wheel_normal_force=rear_height_multiplier",
    )
    add_model(parser)
    parser.add_argument("--against", default=None, metavar="MODEL", help="another description of the same mechanism")
    parser.add_argument(
        "--names",
        **REPEATED,
        metavar="A=B",
        help="A in the first description corresponds to B in the second, or to -B with the opposite sign; A= leaves it out; "
        "separate several with commas",
    )
    parser.add_argument("--states", type=int, default=12, metavar="N", help="number of random admissible states (default 12)")
    add_json(parser)


def add_doctor(commands: Any) -> None:
    parser = commands.add_parser(
        "doctor",
        help="what the constraints of a model do: freedoms, redundancy, integrability, index, singularities, controllability",
        description="Report what the constraints of a model do: degrees of freedom, redundant and integrable constraints, "
        "the index and the differentiations that reduce it, singular configurations nearby, conditioning of the "
        "independent velocities, symmetries, and controllability. The state may be set by name: --speed 5. Exit status 1 when "
        "nothing can move, 2 when the model has no consistent state.",
        epilog="example: draisine doctor bicycle --speed 5",
    )
    add_model(parser)
    add_set(parser)
    add_json(parser)
    parser.set_defaults(takes_targets=True)


def add_compare_drift(commands: Any) -> None:
    parser = commands.add_parser(
        "compare-drift",
        help="simulate a model with every constraint stabilization and compare",
        description="Simulate a model with every constraint stabilization that applies: the largest constraint residuals, the "
        "change of energy and the cost of each, and why the others do not apply. Initial conditions as in simulate: --speed 4.6",
        epilog="example: draisine compare-drift four_bar --until 5 --step 0.01",
    )
    add_model(parser)
    parser.add_argument("--until", type=seconds, default=5.0, metavar="SECONDS", help="duration (default 5)")
    parser.add_argument("--step", type=seconds, default=None, metavar="SECONDS", help="RK4 with this step in place of DOP853")
    parser.add_argument(
        "--tolerance", type=float, default=1e-8, metavar="REL", help="relative tolerance of DOP853 (default 1e-8)"
    )
    parser.add_argument(
        "--invariant",
        **REPEATED,
        metavar="NAME",
        help="an output or expression that should stay constant, besides the energy; may repeat",
    )
    add_set(parser, "l_crank=0.12")
    add_json(parser)
    parser.set_defaults(takes_targets=True)


def add_export(commands: Any) -> None:
    parser = commands.add_parser(
        "export",
        help="write a model's programs as source code of another language, or as an FMU",
        description="Write a model's programs as source code of another language, or the model as an FMU 3.0.",
        epilog="example: draisine export bicycle --lang c,octave --what dynamics,linear --out generated; "
        "for fmu, initial conditions may be given: --lang fmu --speed 4.6",
    )
    add_model(parser)
    parser.add_argument("--lang", default="c", metavar="NAMES", help=f"languages, separated by commas: {LANGUAGES} (default c)")
    parser.add_argument("--what", default="dynamics", metavar="NAMES", help=f"programs: {WHAT} (default dynamics)")
    parser.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help="folder for the files (default out)")
    add_json(parser)
    parser.set_defaults(takes_targets=True)


def add_equations(commands: Any) -> None:
    parser = commands.add_parser(
        "equations",
        help="a model's equations of motion as a document",
        description="Write a document with picture, tree, parameters, constraints, and a listing of named formulas from the "
        "state to its derivative. The picture's configuration may be set by name: --steer 0.3",
        epilog="example: draisine equations bicycle --out bicycle.html",
    )
    add_model(parser)
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default=None,
        help="Markdown, LaTeX, HTML, Python for SymPy, or PDF (needs LaTeX); by default from the suffix of FILE, otherwise md",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=None,
        metavar="FILE",
        help="write to a file, with the picture; otherwise print to the terminal, without it",
    )
    add_json(parser, "print one JSON object: the files written, or the text")
    parser.set_defaults(takes_targets=True)


def add_draw(commands: Any) -> None:
    parser = commands.add_parser(
        "draw",
        help="a drawing of a model: bodies, joints, wheels, centers of mass",
        description="Draw a model in one or two parallel projections. Its configuration may be set by name: "
        "--lean 0.1 --steer 0.3",
        epilog="example: draisine draw bicycle --steer 0.3 --out bicycle.svg",
    )
    add_model(parser)
    parser.add_argument(
        "--views", default=None, metavar="NAMES", help=f"separated by commas: {VIEWS} (default: the two that show most)"
    )
    add_set(parser)
    parser.add_argument(
        "--out", type=Path, default=None, metavar="FILE", help="the figure: .svg, .pdf or .png (default MODEL.svg)"
    )
    add_json(parser)
    parser.set_defaults(takes_targets=True)


def add_report(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        help="a complete report on a model in one document: HTML, and PDF where Chromium is installed",
        description="Write picture, tables, parameters, equations, certificate, diagnosis of the constraints, stability and a "
        f"sample run of a model in one document that needs no network; {TARGETS} (of the sample run). Exit status 1 "
        "when a chapter could not be written or reports a problem.",
        epilog="example: draisine report bicycle --out bicycle.html --pdf",
    )
    add_model(parser)
    parser.add_argument(
        "--out", type=Path, default=None, metavar="FILE", help="document to write: .html or .pdf (default MODEL.html)"
    )
    parser.add_argument("--pdf", action="store_true", help="also print it as a PDF, with Chromium")
    parser.add_argument("--no-film", action="store_true", help="leave out the film of the run (about 700 kB)")
    parser.add_argument("--until", type=seconds, default=5.0, metavar="SECONDS", help="length of the sample run (default 5)")
    parser.add_argument(
        "--over", default=None, metavar="NAME=FROM:TO:COUNT", help="quantity that the stability chapter sweeps (default speed)"
    )
    add_set(parser)
    add_json(parser)
    parser.set_defaults(takes_targets=True)


def add_studio(commands: Any) -> None:
    parser = commands.add_parser(
        "studio",
        help="an interactive simulation of a model in the browser",
        description="Open a model in the browser, where its own equations run: control it by keyboard, touch, mouse or gamepad, "
        "change its parameters, watch eigenvalues, forces and energy, compare two designs, record runs. The server accepts "
        "connections from this machine only and runs until Ctrl-C.",
        epilog="examples: draisine studio bicycle --static site/ride; draisine studio Browser --machines data --rider Jason",
    )
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", default=None,
        help="a name from the gallery (default bicycle), a model file, or with --machines a measured bicycle",
    )  # fmt: skip
    parser.add_argument(
        "--machines", nargs="?", const="", default=None, metavar="DIR",
        help="offer the measured bicycles of a folder in the page's list; without DIR those of an installed BicycleParameters",
    )  # fmt: skip
    parser.add_argument("--rider", default=None, metavar="NAME", help="a measured rider who sits on the bicycles, and is drawn")
    parser.add_argument("--list", action="store_true", help="print the names of the machines and riders to choose from")
    parser.add_argument(
        "--static", type=Path, default=None, metavar="DIR", help="write a folder for any static host instead of serving"
    )
    parser.add_argument("--against", **REPEATED, metavar="MODEL", help="a second design with the same parameters; may repeat")
    parser.add_argument(
        "--step", type=seconds, default=None, metavar="SECONDS", help="integration step (default 0.002, smaller if needed)"
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port of the server (default: any free port)")
    parser.add_argument("--no-browser", action="store_true", help="print the address without opening a browser")
    parser.add_argument(
        "--check", type=Path, default=None, metavar="RIDE", help="recompute every step of a recorded run (.csv) instead"
    )


def add_completion(commands: Any) -> None:
    parser = commands.add_parser(
        "completion",
        help="a script that completes commands, options and names in the shell",
        description="Print a script that completes commands, options, models and studies in the shell. Source it, or store it "
        "where the shell looks for completion scripts.",
        epilog='example: draisine completion bash > ~/.local/share/bash-completion/completions/draisine, or: eval "$(draisine '
        'completion bash)"',
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def add_warm(commands: Any) -> None:
    parser = commands.add_parser(
        "warm",
        help="compile the stepping loops in advance",
        description="Compile the start solver and the loop of explicit methods, which every machine needs once, with "
        "optimization; with --all also the loops of implicit methods, of switching forces, of contacts that open and of "
        "ensembles. What is already compiled takes no time.",
        epilog="example: draisine warm --all",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="also the other loops",
    )
    add_json(parser)
