"""The studio: models that run live in a page, from the JavaScript that the exporter generates.

The package is its own verb: `dr.studio(model)` is `draisine.studio.verb.open_studio`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from draisine.studio.bundle import Bundle, bundle
from draisine.studio.checking import Replay, replay

if TYPE_CHECKING:
    from draisine.studio.server import Server

__all__ = ["Bundle", "Replay", "bundle", "replay"]


class _Verb(ModuleType):
    """Importing the package binds `draisine.studio` to it, so that the verb of that name must be the package."""

    def __call__(self, *given: Any, **named: Any) -> Server:
        from draisine.studio.verb import open_studio

        return open_studio(*given, **named)


sys.modules[__name__].__class__ = _Verb
