"""The verb that opens the studio: a model made ready, its page, and a server for it on this machine."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping

from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations
from draisine.studio.bundle import bundle
from draisine.studio.page import Page, page
from draisine.studio.server import Server
from draisine.studio.studio import presets_for, with_presets

Described = Model | System | Equations


def studio_page(model: Described | str, *, against: Mapping[str, Described] | None = None, step: float | None = None) -> Page:
    """The page in which a model lives, with what it can be compared with."""
    made = bundle(model, step=step)
    return page(with_presets(made, presets_for(made, others=against)))


def studio(
    model: Described | str = "bicycle",
    *,
    against: Mapping[str, Described] | None = None,
    browser: bool = True,
    port: int = 0,
    step: float | None = None,
) -> Server:
    """Open a model in the browser, where it runs live: ride it, move its parameters, watch stability, forces and energy.

    `dr.studio(…)` is this function.

    - `model`: a model, or one of the gallery by name.
    - `against`: other models with the same parameters, by title, as second designs to ride beside.
    - `browser`: open it there; the address is the server's `address`.
    - `port`: of the server on 127.0.0.1; any that is free by default.
    - `step`: seconds of one step; by default two milliseconds, or less for fast equations.

    The page goes on without the server, which lives until it is closed or Python ends; a script waits: `dr.studio(model).wait()`.

    >>> import draisine as dr
    >>> with dr.studio("rolling_disk", browser=False) as studio:
    ...     studio.address.startswith("http://127.0.0.1:")
    True
    """
    server = Server(studio_page(model, against=against, step=step), port)
    if browser and not webbrowser.open(server.address):
        print(f"no browser could be opened; the studio is at {server.address}")
    return server
