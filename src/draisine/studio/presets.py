"""Second designs to ride beside: other models with the same parameters, and variants that show what a bicycle stands by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from draisine.errors import ArgumentError
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations
from draisine.studio.bundle import Bundle


@dataclass(frozen=True)
class Preset:
    """Parameters by name; those not named are the model's own."""

    title: str
    parameters: Mapping[str, float]


# gallery name → models that have the same parameters
RELATED = {"bicycle": ("schwab_bicycle",), "schwab_bicycle": ("bicycle",)}

VARIANTS = (
    Preset("no trail", {"trail": 0.0}),
    Preset("steer axis upright, the same trail", {"steer_axis_tilt": 0.0}),
    Preset("wheels that hardly gyrate", {"iyy_rear_wheel": 0.062, "iyy_front_wheel": 0.142}),
    Preset("a heavy front wheel", {"m_front_wheel": 6.0, "ixx_front_wheel": 0.281, "iyy_front_wheel": 0.56}),
)


def presets_for(bundle: Bundle, *, others: Mapping[str, Model | System | Equations] | None = None) -> tuple[Preset, ...]:
    """What B can be beside the bundle's model; `others` by title, whose parameters must be the same."""
    from draisine import gallery

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
    """The bundle whose page offers the presets; limits of sliders reach as far as these."""
    entries: list[dict[str, Any]] = []
    for entry in bundle.manifest["parameters"]:
        values = [preset.parameters[entry["name"]] for preset in presets if entry["name"] in preset.parameters]
        entries.append({**entry, "low": min([entry["low"], *values]), "high": max([entry["high"], *values])})
    reported = [{"title": preset.title, "parameters": dict(preset.parameters)} for preset in presets]
    return replace(bundle, manifest={**bundle.manifest, "parameters": entries, "presets": reported})
