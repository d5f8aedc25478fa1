"""`draisine studio [MODEL]`: a model live in the browser; `--static DIR`: as a folder for any static host."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path

from draisine.cli.arguments import model_of
from draisine.cli.terminal import DONE, ENDED_EARLY
from draisine.results.load import load
from draisine.studio.page import write_static
from draisine.studio.replay import replay
from draisine.studio.studio import studio_page, studio_server


def run_studio(given: argparse.Namespace, _: list[str]) -> int:
    """Write the folder, serve until the keyboard interrupts, or check a recorded run."""
    is_file = given.model.endswith((".toml", ".txt")) or "/" in given.model
    if given.check is not None:
        check = replay(load(given.check), model_of(given.model) if is_file else None)
        print(check)
        return DONE if check.reproduced else ENDED_EARLY
    against = {Path(name).stem.replace("_", " "): model_of(name) for name in given.against}
    model = model_of(given.model) if is_file else given.model
    if given.static is not None:
        print(f"written: {write_static(studio_page(model, against=against, step=given.step), given.static)}")
        return DONE
    with studio_server(model, given.port, against=against, step=given.step) as server:
        print(f"the studio is at {server.address} (Ctrl-C ends it)", flush=True)
        if not given.no_browser and not webbrowser.open(server.address):
            print("no browser could be opened; open the address yourself")
        try:
            server.wait()
        except KeyboardInterrupt:  # the usual end
            print("the studio is closed")
    return DONE
