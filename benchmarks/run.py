"""All figures in one table: ours, the peer's, their ratio, the target, and whether it is met.

python benchmarks/run.py            # tables, one per part
python benchmarks/run.py --markdown # the same in Markdown
python benchmarks/run.py --json     # one JSON object
python benchmarks/run.py --no-peers # ours alone, when the peers or a C compiler are not there
python benchmarks/run.py --only mechanisms chains
python benchmarks/run.py --keep benchmarks/results            # also VERSION.json, .md and .html there, renewed after every part
python benchmarks/run.py --keep benchmarks/results --resume   # go on after an interruption: what is there is not measured again
python benchmarks/run.py --keep benchmarks/results --only optimal   # this part anew, the others as they are there
"""

from __future__ import annotations

import argparse
import json
import signal
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from rich.console import Console

import draisine as dr
from board import Board, OtherMachine, Part, busy_seconds, kept, load, machine, source
from parts import PARTS, Peers
from tables import markdown, terminal

NEEDED = {"pydy": "pydy", "Cython": "cython", "scipy_dae": "scipy_dae", "exudyn": "exudyn"}  # modules, and what provides them
LIMIT = 1200.0  # s that a part may take; the longest, the tests, take half of it on an idle machine


def main() -> None:
    arguments = _arguments()
    peers, only = not arguments.no_peers, arguments.only or tuple(PARTS)
    missing = [name for module, name in NEEDED.items() if find_spec(module) is None]
    if peers and missing:
        raise SystemExit(f"{', '.join(missing)} not installed: run `make bench`, or leave the peers out with --no-peers")
    here, keep = machine(dr.__version__, peers), arguments.keep
    code = source([Path(dr.__file__).parent, Path(__file__).parent])
    board, stem = Board(here), None if keep is None else keep / dr.__version__
    if stem is not None and (arguments.only or arguments.resume):
        try:
            board = kept(stem, here)
        except OtherMachine as why:
            raise SystemExit(str(why)) from why
    wanted = [name for name in only if not (arguments.resume and board.done(name, code))]
    measure(board, wanted, Peers(peers), code, stem, arguments.limit)
    if arguments.json:
        print(json.dumps(board.as_data(), indent=1, ensure_ascii=False))
    elif arguments.markdown:
        print(markdown(board))
    else:
        Console().print(terminal(board))
    if failed := [f"{name} ({why})" for name, why in board.failures.items() if name in wanted]:
        raise SystemExit(f"not measured as a whole: {', '.join(failed)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Our figures beside those of peers.")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    form.add_argument("--markdown", action="store_true", help="print the tables in Markdown")
    parser.add_argument("--no-peers", action="store_true", help="do not run the peers")
    parser.add_argument("--only", nargs="+", choices=tuple(PARTS), metavar="PART", help=f"measure these: {', '.join(PARTS)}")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="write VERSION.json, .md and .html here, beside parts kept there"
    )
    parser.add_argument("--resume", action="store_true", help="leave what is kept, of the same machine and source, as it is")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="S", help=f"seconds for a part (default {LIMIT:g})")
    given = parser.parse_args()
    if given.resume and given.keep is None:
        parser.error("--resume goes on with what --keep DIR has kept: name the folder")
    return given


def measure(board: Board, names: Sequence[str], peers: Peers, code: str, stem: Path | None, limit: float = LIMIT) -> None:
    """Part by part. One that fails, or takes too long, is reported with what it had found, and the others go on."""
    reported = Console(stderr=True)
    for name in names:
        reported.print(f"[dim]{datetime.now(UTC):%H:%M:%S} measuring {name} …[/dim]")
        part, figures, failure, before, began = PARTS[name], [], "", load(), time.perf_counter()
        worked, own = busy_seconds()
        try:
            with within(limit):
                for figure in part.measure(peers):
                    figures.append(figure)
        except Exception as why:  # whatever a peer does, the other parts are worth having
            traceback.print_exc()
            failure = f"{type(why).__name__}: {why}"
        day, seconds = f"{datetime.now(UTC):%Y-%m-%d}", time.perf_counter() - began
        others = max(0.0, (busy_seconds()[0] - worked - (busy_seconds()[1] - own)) / seconds)
        found = Part(part.title, part.about, figures, code, day, seconds, before, failure, load(), others)
        board.put(name, found, tuple(PARTS))
        said = f"{len(figures)} figures in {seconds:.0f} s; load {found.load:.1f} before, {found.load_after:.1f} after; "
        said += f"others used {others:.2f} cores{': the machine was busy' if found in board.disturbed else ''}"
        reported.print(f"[dim]{name}: {said}[/dim]")
        if stem is not None:
            board.write(stem)


@contextmanager
def within(seconds: float, again: float = 5.0) -> Iterator[None]:
    """TimeoutError inside, after so many seconds, and again where somebody caught it. Compiled code is left to finish its call.

    Systems without such a clock do not limit anything.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not finished within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, again)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    main()
