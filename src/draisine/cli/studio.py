"""`draisine studio [MODEL]`: a model live in the browser; `--static DIR`: as a folder for any static host; `--machines DIR`:
measured bicycles in its list, with a rider."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path

from draisine.bicycle.machines import Machines, machines
from draisine.cli.arguments import model_of
from draisine.cli.terminal import DONE, ENDED_EARLY
from draisine.errors import ArgumentError
from draisine.model.model import Model
from draisine.results.load import load
from draisine.studio.page import write_static
from draisine.studio.replay import replay
from draisine.studio.studio import VEHICLES, Described, studio_page, studio_server


def run_studio(given: argparse.Namespace, _: list[str]) -> int:
    """Write the folder, serve until the keyboard interrupts, print what there is to choose from, or check a recorded run."""
    measured = machines(given.machines or None) if given.machines is not None else None
    if measured is None and given.rider is not None:
        raise ArgumentError("--rider needs --machines, where the rider is measured")
    if given.list:
        print("\n".join(_listed(measured)))
        return DONE
    model, vehicles = _chosen(given, measured)
    if given.check is not None:
        check = replay(load(given.check), None if isinstance(model, str) else model)
        print(check)
        return DONE if check.reproduced else ENDED_EARLY
    against: dict[str, Described] = {Path(name).stem.replace("_", " "): model_of(name) for name in given.against}
    if given.static is not None:
        model = vehicles[model] if isinstance(model, str) and model in vehicles else model
        print(f"written: {write_static(studio_page(model, against=against, step=given.step), given.static)}")
        return DONE
    with studio_server(model, given.port, against=against, step=given.step, vehicles=vehicles) as server:
        print(f"the studio is at {server.address} (Ctrl-C ends it)", flush=True)
        if not given.no_browser and not webbrowser.open(server.address):
            print("no browser could be opened; open the address yourself")
        try:
            server.wait()
        except KeyboardInterrupt:  # the usual end
            print("the studio is closed")
    return DONE


def _chosen(given: argparse.Namespace, measured: Machines | None) -> tuple[Described | str, dict[str, Model]]:
    """The model, or the title of a measured bicycle, and all measured bicycles by title. Without MODEL the first one opens."""
    name = given.model
    vehicles = {} if measured is None else measured.vehicles(given.rider)
    if measured is not None and name in measured.bicycles:
        return measured.bicycle(name, given.rider).name, vehicles  # says why the rider cannot sit on it
    if name is None:
        return next(iter(vehicles), "bicycle"), vehicles
    is_file = name.endswith((".toml", ".txt")) or "/" in name
    return model_of(name) if is_file else name, vehicles


def _listed(measured: Machines | None) -> list[str]:
    found = [] if measured is None else [str(measured)]
    return [*found, f"{len(VEHICLES)} vehicles of the gallery: {', '.join(VEHICLES)}"]
