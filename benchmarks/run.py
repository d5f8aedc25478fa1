"""All figures in one table: ours, the peer's, their ratio, the target, and whether it is met.

python benchmarks/run.py            # tables, one per part
python benchmarks/run.py --markdown # the same in Markdown
python benchmarks/run.py --json     # one JSON object
python benchmarks/run.py --no-peers # ours alone, when the peers or a C compiler are not there
python benchmarks/run.py --only mechanisms chains
python benchmarks/run.py --keep benchmarks/results   # also VERSION.json, .md and .html there, renewed after every part
"""

from __future__ import annotations

import argparse
import json
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

import accuracy
import chains
import derivation
import draisine as dr
import engines
import ensembles
import estimation
import imports
import long_chains
import mechanisms
import optimal
import speed
import stability
from board import Board, machine
from figure import Figure
from peers import pydy_bicycle

PARTS = (
    *("accuracy", "imports", "derivation", "speed", "chains", "long_chains", "engines", "mechanisms", "stability", "optimal"),
    *("estimation", "ensembles"),
)
PEERS = {"pydy": "pydy", "Cython": "cython", "scipy_dae": "scipy_dae", "exudyn": "exudyn"}  # modules, and what provides them


def main() -> None:
    arguments = _arguments()
    board = Board(machine(dr.__version__, peers=not arguments.no_peers))
    _measure(board, arguments.only, not arguments.no_peers, arguments.keep)
    if arguments.json:
        print(json.dumps(board.as_data(), indent=1, ensure_ascii=False))
    elif arguments.markdown:
        print(board.markdown())
    else:
        Console().print(board.tables())
    if board.failures:
        raise SystemExit(f"not measured: {', '.join(f'{part} ({why})' for part, why in board.failures.items())}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Our figures beside those of peers.")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    form.add_argument("--markdown", action="store_true", help="print the tables in Markdown")
    parser.add_argument("--no-peers", action="store_true", help="do not run the peers")
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=f"measure these: {', '.join(PARTS)}"
    )
    parser.add_argument("--keep", type=Path, default=None, metavar="DIR", help="write VERSION.json, .md and .html here")
    return parser.parse_args()


def _measure(board: Board, parts: Sequence[str], peers: bool, keep: Path | None) -> None:
    """Part by part; one that fails is told, and the others go on."""
    told = Console(stderr=True)
    missing = [name for module, name in PEERS.items() if find_spec(module) is None]
    if peers and missing:
        raise SystemExit(f"{', '.join(missing)} not installed: run `make bench`, or leave the peers out with --no-peers")
    peer = quickest = None
    if peers and {"accuracy", "speed", "ensembles", "estimation"}.intersection(parts):
        told.print("[dim]building the peers …[/dim]")
        peer, quickest = pydy_bicycle.build(), pydy_bicycle.build(solver="sympy:CRAMER")
        pydy_bicycle.require_correct(peer)
    measure: dict[str, Callable[[], Iterable[Figure]]] = {
        "accuracy": lambda: accuracy.figures(peer),
        "imports": lambda: imports.figures(peers),
        "derivation": lambda: derivation.figures(peers),
        "speed": lambda: speed.figures(peer, quickest),
        "chains": chains.figures,
        "long_chains": lambda: long_chains.figures(peers),
        "engines": lambda: engines.figures(peers),
        "mechanisms": lambda: mechanisms.figures(peers),
        "stability": stability.figures,
        "optimal": lambda: optimal.figures(peers),
        "ensembles": lambda: ensembles.figures(peer, quickest),
        "estimation": lambda: estimation.figures(peer),
    }
    for part in parts:
        told.print(f"[dim]measuring {part} …[/dim]")
        try:
            board.parts[part] = list(measure[part]())
        except Exception as failure:  # whatever a peer does, the other parts are worth having
            traceback.print_exc()
            board.failures[part] = f"{type(failure).__name__}: {failure}"
        if keep is not None:
            board.write(keep / dr.__version__)


if __name__ == "__main__":
    main()
