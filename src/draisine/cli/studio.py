"""`draisine studio [MODEL]`: a model live in the browser; `--static DIR`: as a folder for any static host."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.cli.arguments import model_of
from draisine.cli.options import seconds
from draisine.cli.terminal import DONE, ENDED_EARLY

if TYPE_CHECKING:
    from draisine.model.model import Model
    from draisine.program.equations import Equations


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "studio",
        help="a model live in the browser: ride it, change it, watch it",
        description="Open a model in the browser, where its own equations run: ride it by keyboard, touch, mouse or gamepad, "
        "move its parameters, watch eigenvalues, forces and energy, compare two designs, record rides. The server answers this "
        "machine only and lives until Ctrl-C.",
        epilog="example: draisine studio bicycle --static site/ride",
    )
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", default="bicycle", help="a name of the gallery (default bicycle), or a model file"
    )
    parser.add_argument(
        "--static", type=Path, default=None, metavar="DIR", help="write a folder instead, for any static host or none"
    )
    parser.add_argument(
        "--against", action="append", default=[], metavar="MODEL", help="a second design with the same parameters; may repeat"
    )
    parser.add_argument(
        "--step", type=seconds, default=None, metavar="SECONDS", help="of one step (default 0.002, less if needed)"
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="of the server (default: any that is free)")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open nothing")
    parser.add_argument(
        "--check", type=Path, default=None, metavar="RIDE", help="a recorded ride (.csv) instead: make each of its steps again"
    )
    parser.set_defaults(action=run)


def run(given: argparse.Namespace, _: list[str]) -> int:
    """Write the folder, serve until the keyboard interrupts, or check a ride."""
    is_file = given.model.endswith((".toml", ".txt")) or "/" in given.model
    if given.check is not None:
        return DONE if _checked(given.check, model_of(given.model) if is_file else None) else ENDED_EARLY
    import webbrowser

    from draisine.studio.page import write_static
    from draisine.studio.server import Server
    from draisine.studio.studio import studio_page

    against = {Path(name).stem.replace("_", " "): model_of(name) for name in given.against}
    page = studio_page(model_of(given.model) if is_file else given.model, against=against, step=given.step)
    if given.static is not None:
        print(f"written: {write_static(page, given.static)}")
        return DONE
    with Server(page, given.port) as server:
        print(f"the studio is at {server.address} (Ctrl-C ends it)", flush=True)
        if not given.no_browser and not webbrowser.open(server.address):
            print("no browser could be opened; open the address yourself")
        try:
            server.wait()
        except KeyboardInterrupt:  # the usual end
            print("the studio is closed")
    return DONE


def _checked(path: Path, model: Model | Equations | None) -> bool:
    from draisine.results.load import load
    from draisine.studio.replay import replay

    reported = replay(load(path), model)
    print(reported)
    return reported.reproduced
