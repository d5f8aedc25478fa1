"""Open the studio: a model bundled for a page, presets to compare it with, and a local server."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from draisine import gallery
from draisine.errors import ArgumentError
from draisine.model.model import Model
from draisine.model.system import System
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
    for name in RELATED.get(bundle.manifest["name"], ()):
        model = gallery.model(name)
        if {p.name for p in (model.freeze() if isinstance(model, Model) else model).parameters} == own:  # not of a namesake
            found.append(_preset(_words(name), model, own))
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
    vehicles: Mapping[str, str] = MappingProxyType({}),
) -> Page:
    """The page of a model with its presets; `vehicles` are titles by name of models that the page offers beside it."""
    made = bundle(model, step=step)
    made = with_presets(made, presets_for(made, others=against))
    own = made.manifest["name"]
    titles = {own: _words(own), **vehicles} if vehicles else {}
    listed = [{"name": name, "title": title} for name, title in titles.items()]
    return page(replace(made, manifest={**made.manifest, "vehicles": listed}))


def _words(name: str) -> str:
    return name.replace("_", " ")


def studio_server(
    model: Described | str,
    port: int = 0,
    *,
    against: Mapping[str, Described] | None = None,
    step: float | None = None,
    vehicles: Mapping[str, Described] | None = None,
) -> Server:
    """A server of a model's page, which offers other vehicles: given ones by title, and those of the gallery.

    Their pages are made when they are chosen. Given ones have the others with the same parameters as second designs.
    """
    given = vehicles or {}
    names = {one.name: title for title, one in given.items()}
    if len(names) < len(given):
        twice = sorted({one.name for one in given.values() if [other.name for other in given.values()].count(one.name) > 1})
        raise ArgumentError(f"two vehicles are called {', '.join(twice)}; give their models different names")
    listed = {**names, **{name: _words(name) for name in VEHICLES if name not in names}}
    if isinstance(model, str) and model in given:
        against = {**_comparable(model, given), **(against or {})}
        model = given[model]
    others: dict[str, Callable[[], Page]] = {
        one.name: partial(studio_page, one, against=_comparable(title, given), vehicles=listed) for title, one in given.items()
    }
    for name in VEHICLES:
        others.setdefault(name, partial(studio_page, name, vehicles=listed))
    return Server(studio_page(model, against=against, step=step, vehicles=listed), port, others)


def _comparable(title: str, vehicles: Mapping[str, Described]) -> dict[str, Described]:
    """The vehicles with the same parameters as one of them, without itself."""

    def parameters(model: Described) -> set[str]:
        return {p.name for p in (model.freeze() if isinstance(model, Model) else model).parameters}

    own = parameters(vehicles[title])
    return {other: model for other, model in vehicles.items() if other != title and parameters(model) == own}


def studio(
    model: Described | str = "bicycle",
    *,
    against: Mapping[str, Described] | None = None,
    browser: bool = True,
    port: int = 0,
    step: float | None = None,
    cell: bool = False,
    vehicles: Mapping[str, Described] | None = None,
) -> Server:
    """Open a live simulation of a model in the browser: inputs, parameters, stability, forces and energy.

    `dr.studio(…)` is this function.

    - `model`: a model, one of the gallery by name, or one of `vehicles` by title.
    - `against`: other models with the same parameters, by title, as second designs for comparison.
    - `browser`: whether to open it; the address is the server's `address`.
    - `port`: of the server on 127.0.0.1; any free one by default.
    - `step`: step size in seconds; by default two milliseconds, or less for fast equations.

    - `vehicles`: models by title that the page offers in its list, beside those of the gallery; for measured bicycles
      `dr.bicycle.machines(folder).vehicles(rider="Jason")`.
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
    server = studio_server(model, port, against=against, step=step, vehicles=vehicles)
    if browser and not webbrowser.open(server.address):
        print(f"no browser could be opened; the studio is at {server.address}")
    return server
