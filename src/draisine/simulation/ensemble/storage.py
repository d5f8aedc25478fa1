"""What every form of chunks on disk can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from draisine.simulation.ensemble.statistics import Tally

Column = NDArray[Any]


class Chunks(Protocol):
    """Chunks of one ensemble, each there whole or not at all."""

    def manifest(self) -> dict[str, Any] | None:
        """What the ensemble says of itself, if there is one."""

    def begin(self, manifest: Mapping[str, Any]) -> None:
        """Keep the manifest."""

    def has(self, chunk: int) -> bool: ...
    def write(self, chunk: int, columns: Mapping[str, Column], tally: Tally) -> None: ...
    def tally(self, chunk: int) -> Tally: ...
    def column(self, name: str) -> Column:
        """A column of all chunks there are, in order."""
