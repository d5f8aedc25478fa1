"""Open the studio: a model bundled for a page, presets to compare it with, and a local server."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from draisine import gallery
from draisine.errors import ArgumentError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations
from draisine.studio.bundle import Bundle, bundle
from draisine.studio.page import Page, page
from draisine.studio.server import Server
from draisine.view.notebook import page_cell


@dataclass(frozen=True)
class Preset:
    """Parameters by name; others keep the model's values."""

    title: str
    parameters: Mapping[str, float]


# gallery name → models that have the same parameters
RELATED = {"bicycle": ("schwab_bicycle",), "schwab_bicycle": ("bicycle",)}

# models of the gallery that one can ride, for the page's list
VEHICLES = (
    "bicycle",
    "leaning_rider",
    "motorcycle",
    "unicycle",
    "tricycle",
    "car",
    "trailers",
    "snakeboard",
    "chaplygin_sleigh",
    "rolling_disk",
    "rolling_torus",
)

_CELL = 640  # pixels: height of the page in a notebook

VARIANTS = (
    Preset("no trail", {"trail": 0.0}),
    Preset("steer axis upright, the same trail", {"steer_axis_tilt": 0.0}),
    Preset("wheels that hardly gyrate", {"iyy_rear_wheel": 0.062, "iyy_front_wheel": 0.142}),
    Preset("a heavy front wheel", {"m_front_wheel": 6.0, "ixx_front_wheel": 0.281, "iyy_front_wheel": 0.56}),
)


def presets_for(bundle: Bundle, *, others: Mapping[str, Model | System | Equations] | None = None) -> tuple[Preset, ...]:
    """Presets of the second design B; `others` are models by title with the same parameters."""
    own = {entry["name"] for entry in bundle.manifest["parameters"]}
    found = [_preset(title, model, own) for title, model in (others or {}).items()]
    related = {name.replace("_", " "): gallery.model(name) for name in RELATED.get(bundle.manifest["name"], ())}
    found += [_preset(title, model, own) for title, model in related.items()]
    return (*found, *(variant for variant in VARIANTS if bundle.manifest["linear"] and set(variant.parameters) <= own))


def _preset(title: str, model: Model | System | Equations, own: set[str]) -> Preset:
    given = (model.freeze() if isinstance(model, Model) else model).parameters
    values = {p.name: p.default for p in given}
    if set(values) != own:
        strange = sorted(set(values) ^ own)
        raise ArgumentError(
            f"{title!r} cannot be compared: its parameters are not the model's ({', '.join(strange[:4])} in one only); "
            "take a model of the same description"
        )
    return Preset(title, values)


def with_presets(bundle: Bundle, presets: tuple[Preset, ...]) -> Bundle:
    """The bundle with presets; slider ranges include their values."""
    entries: list[dict[str, Any]] = []
    for entry in bundle.manifest["parameters"]:
        values = [preset.parameters[entry["name"]] for preset in presets if entry["name"] in preset.parameters]
        entries.append({**entry, "low": min([entry["low"], *values]), "high": max([entry["high"], *values])})
    reported = [{"title": preset.title, "parameters": dict(preset.parameters)} for preset in presets]
    return replace(bundle, manifest={**bundle.manifest, "parameters": entries, "presets": reported})


# ---------------------------------------------------------------- page and server


Described = Model | System | Equations


def studio_page(
    model: Described | str,
    *,
    against: Mapping[str, Described] | None = None,
    step: float | None = None,
    vehicles: Sequence[str] = (),
) -> Page:
    """The page of a model with its presets; `vehicles` are models of the gallery that the page offers beside it."""
    made = bundle(model, step=step)
    made = with_presets(made, presets_for(made, others=against))
    listed = list(dict.fromkeys([made.manifest["name"], *vehicles])) if vehicles else []
    return page(replace(made, manifest={**made.manifest, "vehicles": listed}))


def studio_server(
    model: Described | str, port: int = 0, *, against: Mapping[str, Described] | None = None, step: float | None = None
) -> Server:
    """A server of a model's page, which offers the gallery's vehicles too; their pages are made when they are chosen."""
    others = {name: partial(studio_page, name, vehicles=VEHICLES) for name in VEHICLES}
    return Server(studio_page(model, against=against, step=step, vehicles=VEHICLES), port, others)


def studio(
    model: Described | str = "bicycle",
    *,
    against: Mapping[str, Described] | None = None,
    browser: bool = True,
    port: int = 0,
    step: float | None = None,
    cell: bool = False,
) -> Server | Any:
    """Open a live simulation of a model in the browser: inputs, parameters, stability, forces and energy.

    `dr.studio(…)` is this function.

    - `model`: a model, or one of the gallery by name.
    - `against`: other models with the same parameters, by title, as second designs for comparison.
    - `browser`: whether to open it; the address is the server's `address`.
    - `port`: of the server on 127.0.0.1; any free one by default.
    - `step`: step size in seconds; by default two milliseconds, or less for fast equations.

    - `cell`: return the page as a widget for a notebook's cell, without a server; needs `anywidget`.

    The page keeps running without the server, which is open until closed or until Python ends; scripts wait:
    `dr.studio(model).wait()`.

    >>> import draisine as dr
    >>> with dr.studio("rolling_disk", browser=False) as studio:
    ...     studio.address.startswith("http://127.0.0.1:")
    True
    """
    if cell:
        return page_cell(studio_page(model, against=against, step=step).text, "studio", _CELL)
    server = studio_server(model, port, against=against, step=step)
    if browser and not webbrowser.open(server.address):
        print(f"no browser could be opened; the studio is at {server.address}")
    return server
