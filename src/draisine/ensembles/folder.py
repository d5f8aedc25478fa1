"""Chunks on disk: one Parquet file each, written whole or not at all, beside a manifest that says whose they are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.ensembles.moments import Tally
from draisine.results.optional import needed

MANIFEST = "ensemble.json"
FORMAT = 1
TALLY = b"draisine tally"

Column = NDArray[Any]


@dataclass(frozen=True)
class Folder:
    """A folder of chunks of one ensemble."""

    path: Path

    @staticmethod
    def opened(path: str | Path, fingerprint: str, about: Mapping[str, Any]) -> Folder:
        """A folder for this problem: made, or taken up where it was left; one of another problem is refused."""
        folder = Folder(Path(path))
        folder.path.mkdir(parents=True, exist_ok=True)
        manifest = folder.path / MANIFEST
        if manifest.exists():
            there = folder.manifest()
            if there.get("fingerprint") != fingerprint:
                differing = [key for key, value in about.items() if there.get("about", {}).get(key) != value]
                what = f"they differ in {', '.join(differing)}" if differing else "the equations differ"
                raise ValueError(
                    f"{folder.path} holds the ensemble of another problem ({what}); give another folder, or remove this one"
                )
            return folder
        strange = sorted(entry.name for entry in folder.path.iterdir())
        if strange:
            raise ValueError(
                f"{folder.path} is not empty and holds no ensemble (there is {strange[0]}); give an empty or new folder"
            )
        text = json.dumps({"format": FORMAT, "fingerprint": fingerprint, "about": dict(about)}, indent=1, ensure_ascii=False)
        folder._write(manifest, text.encode())
        return folder

    def manifest(self) -> dict[str, Any]:
        """What the folder says of itself."""
        read: dict[str, Any] = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
        return read

    def part(self, chunk: int) -> Path:
        return self.path / f"part-{chunk:08d}.parquet"

    def has(self, chunk: int) -> bool:
        return self.part(chunk).exists()

    def write(self, chunk: int, columns: Mapping[str, Column], tally: Tally) -> None:
        """Keep a chunk."""
        arrow = needed("pyarrow", "an ensemble kept in a folder")
        parquet = needed("pyarrow.parquet", "an ensemble kept in a folder")
        table = arrow.table(dict(columns)).replace_schema_metadata({TALLY: tally.as_text().encode()})
        unfinished = self.part(chunk).with_suffix(".unfinished")
        parquet.write_table(table, unfinished)
        os.replace(unfinished, self.part(chunk))

    def tally(self, chunk: int) -> Tally:
        parquet = needed("pyarrow.parquet", "an ensemble kept in a folder")
        return Tally.from_text(parquet.read_schema(self.part(chunk)).metadata[TALLY].decode())

    def parts(self) -> Iterator[Path]:
        """Files of the chunks there are, in order."""
        return iter(sorted(self.path.glob("part-*.parquet")))

    def column(self, name: str) -> Column:
        """A column of all chunks."""
        parquet = needed("pyarrow.parquet", "an ensemble kept in a folder")
        read = [parquet.read_table(part, columns=[name])[name].to_numpy(zero_copy_only=False) for part in self.parts()]
        return np.concatenate(read) if read else np.zeros(0)

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_bytes(content)
        os.replace(unfinished, path)
