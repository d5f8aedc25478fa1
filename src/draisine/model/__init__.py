"""Describe a system by names."""

from __future__ import annotations

from draisine.lazily import loader, names_of

# module of this folder → the names it holds
_HELD = {
    "errors": ("ModelError",),
    "items": ("GROUND", "System"),
    "model": ("Model",),
}
__all__ = names_of(_HELD)
__getattr__ = loader(__name__, _HELD)
