"""All figures in one table: ours, the peer's, their ratio, the target, and whether it is met.

python benchmarks/run.py            # a table
python benchmarks/run.py --markdown # the same in Markdown
python benchmarks/run.py --json     # one JSON object
python benchmarks/run.py --no-peers # ours alone, when the peers or a C compiler are not there
python benchmarks/run.py --only mechanisms chains
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec

from rich.console import Console
from rich.table import Table

import accuracy
import chains
import draisine as dr
import ensembles
import estimation
import mechanisms
import optimal
import speed
import stability
from figure import Figure
from peers import pydy_bicycle

PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
PARTS = ("accuracy", "speed", "chains", "mechanisms", "stability", "optimal", "estimation", "ensembles")
PEERS = {"pydy": "pydy", "Cython": "cython", "scipy_dae": "scipy_dae", "exudyn": "exudyn"}  # modules, and what provides them
HEADINGS = ("figure", "ours", "peer", "ratio", "target", "met")


def main() -> None:
    arguments = _arguments()
    figures = _measured(arguments.only, peers=not arguments.no_peers)
    machine = _machine(peers=not arguments.no_peers)
    if arguments.json:
        print(json.dumps({"machine": machine, "figures": [f.as_json() for f in figures]}, indent=1, ensure_ascii=False))
    elif arguments.markdown:
        print(_markdown(figures, machine))
    else:
        Console().print(_table(figures, machine))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Our figures beside those of peers.")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    form.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    parser.add_argument("--no-peers", action="store_true", help="do not run the peers")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="measure these parts")
    return parser.parse_args()


def _measured(parts: Sequence[str], peers: bool) -> list[Figure]:
    told = Console(stderr=True)
    missing = [name for module, name in PEERS.items() if find_spec(module) is None]
    if peers and missing:
        raise SystemExit(f"{', '.join(missing)} not installed: run `make bench`, or leave the peers out with --no-peers")
    peer = quickest = None
    if peers and {"accuracy", "speed", "estimation"}.intersection(parts):
        told.print("[dim]building the peers …[/dim]")
        peer, quickest = pydy_bicycle.build(), pydy_bicycle.build(solver="sympy:CRAMER")
        pydy_bicycle.require_correct(peer)
    measure: dict[str, Callable[[], Iterable[Figure]]] = {
        "accuracy": lambda: accuracy.figures(peer),
        "speed": lambda: speed.figures(peer, quickest),
        "chains": chains.figures,
        "mechanisms": lambda: mechanisms.figures(peers),
        "stability": stability.figures,
        "optimal": lambda: optimal.figures(peers),
        "ensembles": ensembles.figures,
        "estimation": lambda: estimation.figures(peer),
    }
    figures: list[Figure] = []
    for part in parts:
        told.print(f"[dim]measuring {part} …[/dim]")
        figures += measure[part]()
    return figures


def _machine(peers: bool) -> dict[str, str]:
    facts = {
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "draisine": dr.__version__,
    }
    beside = ("pydy", "sympy", "scipy_dae", "casadi", "exudyn") if peers else ()
    return facts | {name: version(name) for name in beside}


def _table(figures: Sequence[Figure], machine: Mapping[str, str]) -> Table:
    table = Table(title="draisine beside its peers", caption=_told(machine))
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "figure" else "right")
    colours = {"yes": "[green]yes[/green]", "no": "[red]no[/red]"}
    for figure in figures:
        *cells, met = _cells(figure)
        table.add_row(*cells, colours.get(met, met))
    return table


def _markdown(figures: Sequence[Figure], machine: Mapping[str, str]) -> str:
    rows = [HEADINGS, ("---", *["---:"] * (len(HEADINGS) - 1)), *map(_cells, figures)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + f"\n\n{_told(machine)}"


def _told(machine: Mapping[str, str]) -> str:
    return ", ".join(f"{k} {v}" for k, v in machine.items())


def _cells(figure: Figure) -> tuple[str, ...]:
    limit = getattr(figure.target, "limit", None)
    target = str(figure.target) if limit is None else f"{str(figure.target)[0]} {_quantity(limit, figure.unit)}"
    return (
        figure.name,
        _quantity(figure.ours, figure.unit),
        "" if figure.peer is None else _quantity(figure.peer, figure.unit),
        "" if figure.ratio is None else f"{figure.ratio:.{0 if figure.ratio >= 10 else 1}f} ×",
        target if figure.target else "",
        {True: "yes", False: "no", None: "–" if figure.target else ""}[figure.met],
    )


def _quantity(value: float, unit: str) -> str:
    """Times with a prefix; other figures as they are."""
    if unit != "s":
        number = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
        return f"{number} {unit}".strip()
    scale, prefix = next((s for s in PREFIXES if value >= s[0]), PREFIXES[-1])
    return f"{value / scale:.3g} {prefix}s"


if __name__ == "__main__":
    main()
