"""The catalog of parts, and exchanging a part of a model for another one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draisine import parts
from draisine.errors import ModelError
from draisine.expr.expression import did_you_mean
from draisine.parts.assembly import OWN_KINDS
from draisine.parts.record import Part

if TYPE_CHECKING:
    from draisine.model.model import Model
    from draisine.model.system import System


@dataclass(frozen=True)
class Kind:
    """A kind of part: what it is, and its options with their defaults."""

    name: str
    description: str
    options: tuple[tuple[str, str], ...]  # name, and default as text; empty where it must be given

    def __str__(self) -> str:
        listed = [f"  {name} = {default}" if default else f"  {name}" for name, default in self.options]
        return "\n".join([f"{self.name}: {self.description}", *listed])


class Catalog(dict[str, Kind]):
    """Kinds of parts by name, which print as a list."""

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:<{width}}  {kind.description}" for name, kind in self.items())

    __str__ = __repr__


def catalog() -> Catalog:
    """All kinds of parts, by name, with their options and defaults; units and meanings are in `help(dr.parts.KIND)`.

    It prints as a list of them, and each with its options.

    >>> import draisine as dr
    >>> print(dr.parts.catalog()["shaft"])
    shaft: A shaft drive with a bevel gear in the swing arm: the torque on the wheel reacts on the arm that carries it.
      wheel
      ratio = 1.0
      torque = 'drive_torque'
    """
    return Catalog((name, _kind(name)) for name in dir(parts) if _makes_part(getattr(parts, name)))


def _kind(name: str) -> Kind:
    function = getattr(parts, name)
    first = inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    own = list(inspect.signature(function).parameters.values())[2:]
    return Kind(name, first, tuple((p.name, "" if p.default is p.empty else repr(p.default)) for p in own))


def maker(kind: str, where: str) -> Callable[..., Part]:
    """The function that makes a kind of part."""
    if kind not in dir(parts) or not _makes_part(getattr(parts, kind)):
        known = [name for name in dir(parts) if _makes_part(getattr(parts, name))]
        raise ModelError(
            f"{where}: there is no kind of part {kind!r}{did_you_mean(kind, known) or '; known are ' + ', '.join(known)}"
        )
    return getattr(parts, kind)


def _makes_part(value: Any) -> bool:
    return getattr(value, "makes_part", False)


def split(system: System, model_type: type[Model], own: bool = False) -> tuple[Model, list[Part]]:
    """A model without what its parts make, and the parts, those that have been changed since they were made excepted: their items
    stay in the model. So do those of the user's `own` kinds unless asked for, since files cannot name their functions."""
    outer = [part for part in system.parts if not part.within]
    made = {item for part in outer for item in part.items}
    model = model_type.of(system)
    every = model._items
    model._items = {
        kind: {} if kind == "parts" else {name: item for name, item in items.items() if (kind, name) not in made}
        for kind, items in every.items()
    }
    kept = []
    scratch = model_type.of(system)
    scratch._items = {kind: dict(items) for kind, items in model._items.items()}
    for part in outer:
        before = {kind: dict(items) for kind, items in scratch._items.items()}
        try:
            same = remade(scratch, part, own) == part and all(
                every[kind].get(name) == scratch._items[kind].get(name) for kind, name in part.items
            )
        except ModelError:
            same = False
        if same:
            kept.append(part)
            continue
        scratch._items = before
        for kind, name in part.items:
            if name in every[kind]:
                scratch._items[kind][name] = model._items[kind][name] = every[kind][name]
    return model, kept


def remade(model: Model, part: Part, own: bool = False) -> Part:
    """A part made again in a model, by the same call."""
    return _maker_of(part, own)(model, part.name, **dict(part.options))


def _maker_of(part: Part, own: bool) -> Callable[..., Part]:
    """A kind of the user's has precedence: `split` keeps a part only if it is made the same again."""
    if own and part.kind in OWN_KINDS:
        return OWN_KINDS[part.kind]
    return maker(part.kind, f"part {part.name!r}")


def replace(model: Model, name: str, kind: Callable[..., Part] | str | None = None, **options: Any) -> Model:
    """The model with one of its parts exchanged: another kind, other options, or both. The model itself stays as it is.

    Options that are not given keep their values where the new kind has them. What is mounted on the part stays mounted, on the
    frames of the same name; all parts are made anew, in their order.

    >>> import draisine as dr
    >>> m = dr.Model("scooter")
    >>> body = dr.parts.frame(m, "frame", wheelbase=1.0, trail=0.05, steer_axis_tilt="12 deg", points={"axle": (0, 0.1)})
    >>> fork = dr.parts.rigid_fork(m, "fork", body["head"], axle=(1.0, 0.1))
    >>> for name, axle in (("rear", body["axle"]), ("front", fork["axle"])):
    ...     _ = dr.parts.wheel(m, name, axle, radius=0.1)
    >>> sprung = dr.parts.replace(m, "fork", dr.parts.telescopic_fork, stiffness="12 kN/m")
    >>> [part.kind for part in sprung.freeze().parts]
    ['frame', 'telescopic_fork', 'wheel', 'wheel']
    """
    system = model.freeze()
    rebuilt, kept = split(system, type(model), own=True)
    known = [part.name for part in kept]
    if name not in known:
        inner = next((part for part in system.parts if part.name == name), None)
        if inner is not None and inner.within:
            raise ModelError(f"part {name!r} belongs to part {inner.within!r}; replace that one")
        changed = "" if inner is None else " was changed by hand after it was made; edit its items"
        if inner is not None and inner.kind not in {*catalog(), *OWN_KINDS}:
            changed = f" is of the kind {inner.kind!r}, whose function is not defined here; define it again or edit the items"
        raise ModelError(f"model {model.name!r}: part {name!r}{changed or ' does not exist' + did_you_mean(name, known)}")
    for part in kept:
        if part.name != name:
            remade(rebuilt, part, own=True)
            continue
        function = _maker_of(part, True) if kind is None else maker(kind, f"part {name!r}") if isinstance(kind, str) else kind
        accepted = inspect.signature(function).parameters
        old = {key: value for key, value in part.options if key in accepted}
        function(rebuilt, name, **(old | options))
    return rebuilt
