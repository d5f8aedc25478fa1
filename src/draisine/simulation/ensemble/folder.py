"""An ensemble on disk: chunks as they are made, beside a manifest that says whose they are.

Folders whose name ends with `.zarr` hold one Zarr group, others a Parquet file per chunk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draisine.errors import DataError
from draisine.simulation.ensemble.statistics import Tally
from draisine.simulation.ensemble.storage import SUFFIX, Chunks, Column, ParquetChunks, ZarrChunks

FORMAT = 2


@dataclass(frozen=True)
class Folder:
    """A folder of chunks of one ensemble."""

    path: Path
    chunks: Chunks

    @staticmethod
    def opened(path: str | Path, fingerprint: str, description: Mapping[str, Any]) -> Folder:
        """A folder for this problem: made, or taken up where it was left; one of another problem is refused."""
        path = Path(path)
        path.mkdir(parents=True, exist_ok=True)
        strange = sorted(entry.name for entry in path.iterdir())
        zarr = ZarrChunks(path, int(description["runs"]) if description["rows"] else 0, int(description["chunk"]))
        folder = Folder(path, zarr if path.suffix == SUFFIX else ParquetChunks(path))
        there = folder.chunks.manifest()
        if there is None and strange:
            raise DataError(f"{path} is not empty and holds no ensemble (there is {strange[0]}); give an empty or new folder")
        if there is None:
            folder.chunks.begin({"format": FORMAT, "fingerprint": fingerprint, "description": dict(description)})
        elif there.get("format") != FORMAT:
            raise DataError(f"{path} holds an ensemble of another version of draisine; give another folder, or remove this one")
        elif there.get("fingerprint") != fingerprint:
            differing = [key for key, value in description.items() if there.get("description", {}).get(key) != value]
            what = f"they differ in {', '.join(differing)}" if differing else "the equations differ"
            raise DataError(f"{path} holds the ensemble of another problem ({what}); give another folder, or remove this one")
        return folder

    def has(self, chunk: int) -> bool:
        return self.chunks.has(chunk)

    def write(self, chunk: int, columns: Mapping[str, Column], tally: Tally) -> None:
        """Keep a chunk."""
        self.chunks.write(chunk, columns, tally)

    def tally(self, chunk: int) -> Tally:
        return self.chunks.tally(chunk)

    def column(self, name: str) -> Column:
        """A column of all chunks there are, in order."""
        return self.chunks.column(name)
