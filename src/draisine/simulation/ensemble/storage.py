"""Storage of an ensemble on disk: chunks as they are computed, and a manifest that identifies the problem.

Folders whose name ends with `.zarr` hold one Zarr group, others one Parquet file per chunk. In Zarr, chunks are rows of arrays
that xarray opens as a dataset along `run`. Texts are stored as integer codes with their meanings, as in the flags of the CF
conventions, because few programs read arrays of texts. The manifest is an attribute of the group; a chunk is complete when its
tally exists, which is an attribute of a group of its own and written last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.errors import DataError, require
from draisine.simulation.ensemble.statistics import Tally

Column = NDArray[Any]


class Chunks(Protocol):
    """Chunks of one ensemble, each stored completely or not at all."""

    def manifest(self) -> dict[str, Any] | None:
        """The manifest of the ensemble, if there is one."""

    def begin(self, manifest: Mapping[str, Any]) -> None:
        """Store the manifest."""

    def has(self, chunk: int) -> bool: ...
    def write(self, chunk: int, columns: Mapping[str, Column], tally: Tally) -> None: ...
    def tally(self, chunk: int) -> Tally: ...
    def column(self, name: str) -> Column:
        """A column of all stored chunks, in order."""


PARQUET_MANIFEST = "ensemble.json"
PARQUET_TALLY = b"draisine tally"
PARQUET_PURPOSE = "an ensemble stored in a folder"


@dataclass(frozen=True)
class ParquetChunks:
    """One Parquet file per chunk; its tally is in the metadata of the file."""

    path: Path

    def manifest(self) -> dict[str, Any] | None:
        file = self.path / PARQUET_MANIFEST
        if not file.exists():
            return None
        read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return read

    def begin(self, manifest: Mapping[str, Any]) -> None:
        unfinished = (self.path / PARQUET_MANIFEST).with_suffix(".unfinished")
        unfinished.write_text(json.dumps(dict(manifest), indent=1, ensure_ascii=False), encoding="utf-8")
        os.replace(unfinished, self.path / PARQUET_MANIFEST)

    def has(self, chunk: int) -> bool:
        return self._part(chunk).exists()

    def write(self, chunk: int, columns: Mapping[str, Column], tally: Tally) -> None:
        arrow, parquet = require("pyarrow", PARQUET_PURPOSE), require("pyarrow.parquet", PARQUET_PURPOSE)
        table = arrow.table(dict(columns)).replace_schema_metadata({PARQUET_TALLY: tally.as_text().encode()})
        unfinished = self._part(chunk).with_suffix(".unfinished")
        parquet.write_table(table, unfinished)
        os.replace(unfinished, self._part(chunk))

    def tally(self, chunk: int) -> Tally:
        parquet = require("pyarrow.parquet", PARQUET_PURPOSE)
        return Tally.from_text(parquet.read_schema(self._part(chunk)).metadata[PARQUET_TALLY].decode())

    def column(self, name: str) -> Column:
        parquet = require("pyarrow.parquet", PARQUET_PURPOSE)
        parts = sorted(self.path.glob("part-*.parquet"))
        read = [parquet.read_table(part, columns=[name])[name].to_numpy(zero_copy_only=False) for part in parts]
        return np.concatenate(read) if read else np.zeros(0)

    def _part(self, chunk: int) -> Path:
        return self.path / f"part-{chunk:08d}.parquet"


ZARR_SUFFIX = ".zarr"
ZARR_PURPOSE = "an ensemble in a .zarr folder"
ZARR_MANIFEST = "draisine ensemble"
ZARR_TALLY = "tally"
VALUES, MEANINGS = "flag_values", "meanings"
NOTHING = -1  # the code of rows not yet written


@dataclass(frozen=True)
class ZarrChunks:
    """Zarr arrays of `runs` entries, one per column, with the chunks of the ensemble."""

    path: Path
    runs: int
    length: int  # of a chunk

    def manifest(self) -> dict[str, Any] | None:
        return dict(self._group().attrs).get(ZARR_MANIFEST) if (self.path / "zarr.json").exists() else None

    def begin(self, manifest: Mapping[str, Any]) -> None:
        self._group().attrs[ZARR_MANIFEST] = dict(manifest)

    def has(self, chunk: int) -> bool:
        return (self.path / _tally(chunk) / "zarr.json").exists()

    def write(self, chunk: int, columns: Mapping[str, Column], tally: Tally) -> None:
        group = self._group()
        begin = chunk * self.length
        for name, column in columns.items():
            array = group[name] if name in group else self._created(group, name, column)
            if self.runs:
                array[begin : begin + len(column)] = self._coded(array, column) if column.dtype == object else column
        group.create_group(_tally(chunk), attributes={ZARR_TALLY: tally.as_text()})

    def tally(self, chunk: int) -> Tally:
        return Tally.from_text(str(self._group()[_tally(chunk)].attrs[ZARR_TALLY]))

    def column(self, name: str) -> Column:
        group = self._group()
        if name not in group:
            return np.zeros(0)
        array = group[name]
        there = [chunk for chunk in range(-(-self.runs // self.length)) if self.has(chunk)]
        parts = [np.asarray(array[chunk * self.length : min((chunk + 1) * self.length, self.runs)]) for chunk in there]
        found = np.concatenate(parts) if parts else np.zeros(0)
        meanings = array.attrs.get(MEANINGS)
        return found if meanings is None else np.array(meanings, dtype=object)[found]

    def _group(self) -> Any:
        return require("zarr", ZARR_PURPOSE).open_group(str(self.path), mode="a")

    def _created(self, group: Any, name: str, column: Column) -> Any:
        coded = column.dtype == object
        array = group.create_array(
            name,
            shape=(self.runs,),
            chunks=(max(1, min(self.length, self.runs)),),
            dtype="int16" if coded else column.dtype,
            fill_value=NOTHING if coded else (np.nan if column.dtype == np.float64 else 0),
            dimension_names=("run",),
        )
        if coded:
            array.attrs[MEANINGS] = []
        return array

    @staticmethod
    def _coded(array: Any, column: Column) -> Column:
        """Integer codes of texts; new texts are added to the meanings."""
        meanings = list(array.attrs[MEANINGS])
        new = [text for text in dict.fromkeys(column.tolist()) if text not in meanings]
        if new:
            meanings += new
            array.attrs.update({MEANINGS: meanings, VALUES: list(range(len(meanings)))})
        code = {text: number for number, text in enumerate(meanings)}
        return np.array([code[text] for text in column.tolist()], dtype=np.int16)


def _tally(chunk: int) -> str:
    return f"tallies/part-{chunk:08d}"


FORMAT = 3


@dataclass(frozen=True)
class Folder:
    """A folder of chunks of one ensemble."""

    path: Path
    chunks: Chunks

    @staticmethod
    def opened(path: str | Path, fingerprint: str, description: Mapping[str, Any]) -> Folder:
        """A folder for this problem: new, or resumed; a folder of another problem is refused."""
        path = Path(path)
        path.mkdir(parents=True, exist_ok=True)
        existing = sorted(entry.name for entry in path.iterdir())
        zarr = ZarrChunks(path, int(description["runs"]) if description["rows"] else 0, int(description["chunk"]))
        folder = Folder(path, zarr if path.suffix == ZARR_SUFFIX else ParquetChunks(path))
        there = folder.chunks.manifest()
        if there is None and existing:
            raise DataError(f"{path} is not empty and holds no ensemble (it contains {existing[0]}); give an empty or new folder")
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
        """Store a chunk."""
        self.chunks.write(chunk, columns, tally)

    def tally(self, chunk: int) -> Tally:
        return self.chunks.tally(chunk)

    def column(self, name: str) -> Column:
        """A column of all stored chunks, in order."""
        return self.chunks.column(name)
