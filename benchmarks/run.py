"""All figures in one table: ours, the peer's, their ratio, the target, and whether it is met.

python benchmarks/run.py            # a table
python benchmarks/run.py --json     # one JSON object
python benchmarks/run.py --no-peers # ours alone, when PyDy or a C compiler is not there
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Sequence
from importlib.metadata import version

from rich.console import Console
from rich.table import Table

import accuracy
import draisine as dr
import speed
from figure import Figure

PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def main() -> None:
    arguments = _arguments()
    told = Console(stderr=True)

    def say(text: str) -> None:
        told.print(f"[dim]{text} …[/dim]")

    peers = not arguments.no_peers and speed.peer_installed()
    if not peers and not arguments.no_peers:
        told.print("PyDy is not installed: ratios are missing. `make bench` installs it; --no-peers silences this.")
    peer = speed.time_peer(say) if peers else speed.PeerTimes()
    say("draisine: speed")
    figures = list(speed.figures(peer))
    say("draisine: accuracy")
    figures = [*accuracy.figures(), *figures]
    if arguments.json:
        print(json.dumps({"machine": _machine(peers), "figures": [f.as_json() for f in figures]}, indent=1, ensure_ascii=False))
    else:
        Console().print(_table(figures, peers))


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


def _table(figures: Sequence[Figure], peers: bool) -> Table:
    table = Table(title="draisine beside its peers", caption=", ".join(f"{k} {v}" for k, v in _machine(peers).items()))
    table.add_column("figure")
    for heading in ("ours", "peer", "ratio", "target", "met"):
        table.add_column(heading, justify="right")
    for figure in figures:
        limit = getattr(figure.target, "limit", None)
        target = str(figure.target) if limit is None else f"{str(figure.target)[0]} {_quantity(limit, figure.unit)}"
        table.add_row(
            f"{figure.name} ({figure.note})" if figure.note else figure.name,
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
