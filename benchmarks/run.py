"""All figures in one table: ours, the peer's, their ratio, the target, and whether it is met.

python benchmarks/run.py            # a table
python benchmarks/run.py --json     # one JSON object
python benchmarks/run.py --no-peers # ours alone, when PyDy or a C compiler is not there
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec

from rich.console import Console
from rich.table import Table

import accuracy
import chains
import draisine as dr
import speed
from figure import Figure
from peers import pydy_bicycle

PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def main() -> None:
    arguments = _arguments()
    told = Console(stderr=True)
    peer = quickest = None
    if not arguments.no_peers:
        if find_spec("pydy") is None or find_spec("Cython") is None:
            raise SystemExit("PyDy or Cython is not installed: run `make bench`, or leave the peers out with --no-peers")
        told.print("[dim]building the peers …[/dim]")
        peer, quickest = pydy_bicycle.build(), pydy_bicycle.build(solver="sympy:CRAMER")
        pydy_bicycle.require_correct(peer)
    told.print("[dim]measuring accuracy …[/dim]")
    figures = list(accuracy.figures(peer))
    told.print("[dim]measuring speed …[/dim]")
    figures += speed.figures(peer, quickest)
    told.print("[dim]measuring chains …[/dim]")
    figures += chains.figures()
    machine = _machine(peers=peer is not None)
    if arguments.json:
        print(json.dumps({"machine": machine, "figures": [f.as_json() for f in figures]}, indent=1, ensure_ascii=False))
    else:
        Console().print(_table(figures, machine))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Our figures beside those of peers.")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--no-peers", action="store_true", help="do not run the peers")
    return parser.parse_args()


def _machine(peers: bool) -> dict[str, str]:
    facts = {
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "draisine": dr.__version__,
    }
    return facts | ({"pydy": version("pydy"), "sympy": version("sympy")} if peers else {})


def _table(figures: Sequence[Figure], machine: Mapping[str, str]) -> Table:
    table = Table(title="draisine beside its peers", caption=", ".join(f"{k} {v}" for k, v in machine.items()))
    table.add_column("figure")
    for heading in ("ours", "peer", "ratio", "target", "met"):
        table.add_column(heading, justify="right")
    for figure in figures:
        limit = getattr(figure.target, "limit", None)
        target = str(figure.target) if limit is None else f"{str(figure.target)[0]} {_quantity(limit, figure.unit)}"
        table.add_row(
            figure.name,
            _quantity(figure.ours, figure.unit),
            "" if figure.peer is None else _quantity(figure.peer, figure.unit),
            "" if figure.ratio is None else f"{figure.ratio:.0f} ×",
            target if figure.target else "",
            {True: "[green]yes[/green]", False: "[red]no[/red]", None: "–" if figure.target else ""}[figure.met],
        )
    return table


def _quantity(value: float, unit: str) -> str:
    """Times with a prefix; other figures as they are."""
    if unit != "s":
        number = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
        return f"{number} {unit}".strip()
    scale, prefix = next((s for s in PREFIXES if value >= s[0]), PREFIXES[-1])
    return f"{value / scale:.3g} {prefix}s"


if __name__ == "__main__":
    main()
