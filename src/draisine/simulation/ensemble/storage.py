"""Storage of an ensemble on disk: chunks as they are computed, and a manifest that identifies the problem.

Folders whose name ends with `.zarr` hold one Zarr group, others one Parquet file per chunk. In Zarr, chunks are rows of arrays
that xarray opens as a dataset along `run`. Texts are stored as integer codes with their meanings, as in the flags of the CF
conventions, because few programs read arrays of texts. The manifest is an attribute of the group; a chunk is complete when its
tally exists, which is an attribute of a group of its own and written last.

Every chunk carries a checksum, its number and the fingerprint of its problem. One that is damaged, exchanged or of another
ensemble is a `DataError` that names it, both when the ensemble is resumed and when a column is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from draisine.errors import DataError, DependencyError, require
from draisine.results.checksum import UNSEALED, checksum, seal, verify
from draisine.results.files import replacing
from draisine.simulation.ensemble.statistics import Tally

Column = NDArray[Any]


class Chunks(Protocol):
    """Chunks of one ensemble, each stored completely or not at all."""

    def manifest(self) -> dict[str, Any] | None:
        """The manifest of the ensemble, if there is one."""

    def begin(self, manifest: Mapping[str, Any]) -> None:
        """Store the manifest."""

    def write(self, chunk: int, columns: Mapping[str, Column], tally: Tally) -> None: ...
    def tally(self, chunk: int) -> Tally | None:
        """The tally of a chunk; None if it is not stored. All of the chunk is checked."""

    def part(self, chunk: int, name: str) -> Column:
        """A column of a stored chunk, checked."""


PARQUET_MANIFEST = "ensemble.json"
PARQUET_TALLY, PARQUET_CHUNK, PARQUET_CHECKSUM = b"draisine tally", b"draisine chunk", b"draisine checksum"
PARQUET_PURPOSE = "an ensemble stored in a folder"


@dataclass(frozen=True)
class ParquetChunks:
    """One Parquet file per chunk; its tally, its number and its checksum are in the metadata of the file."""

    path: Path
    fingerprint: str

    def manifest(self) -> dict[str, Any] | None:
        file = self.path / PARQUET_MANIFEST
        if not file.exists():
            return None
        read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return read

    def begin(self, manifest: Mapping[str, Any]) -> None:
        with replacing(self.path / PARQUET_MANIFEST) as draft:
            draft.write_text(json.dumps(dict(manifest), indent=1, ensure_ascii=False), encoding="utf-8")

    def write(self, chunk: int, columns: Mapping[str, Column], tally: Tally) -> None:
        arrow, parquet = require("pyarrow", PARQUET_PURPOSE), require("pyarrow.parquet", PARQUET_PURPOSE)
        about = {PARQUET_TALLY: tally.as_text(), PARQUET_CHUNK: _identity(self.fingerprint, chunk), PARQUET_CHECKSUM: UNSEALED}
        with replacing(self._part(chunk)) as draft:
            parquet.write_table(arrow.table(dict(columns)).replace_schema_metadata(about), draft)
            seal(draft)

    def tally(self, chunk: int) -> Tally | None:
        if not self._part(chunk).exists():
            return None
        return Tally.from_text(self._checked(chunk)[PARQUET_TALLY].decode())

    def part(self, chunk: int, name: str) -> Column:
        self._checked(chunk)
        table = require("pyarrow.parquet", PARQUET_PURPOSE).read_table(self._part(chunk), columns=[name])
        found: Column = table[name].to_numpy(zero_copy_only=False)
        return found

    def _checked(self, chunk: int) -> dict[bytes, bytes]:
        """The metadata of a chunk; a file that is damaged or of another chunk is refused."""
        file = self._part(chunk)
        try:
            verify(file)
        except (DataError, OSError) as problem:
            raise DataError(f"{file.name}: {problem}") from None
        about: dict[bytes, bytes] = require("pyarrow.parquet", PARQUET_PURPOSE).read_schema(file).metadata
        _check_identity(file.name, about.get(PARQUET_CHUNK, b"").decode(), self.fingerprint, chunk)
        return about

    def _part(self, chunk: int) -> Path:
        return self.path / f"part-{chunk:08d}.parquet"


ZARR_SUFFIX = ".zarr"
ZARR_PURPOSE = "an ensemble in a .zarr folder"
ZARR_MANIFEST = "draisine ensemble"
ZARR_TALLY, ZARR_CHUNK, ZARR_COLUMNS, ZARR_CHECKSUM = "tally", "chunk", "columns", "checksum"
VALUES, MEANINGS = "flag_values", "meanings"
NOTHING = -1  # the code of rows not yet written


@dataclass(frozen=True)
class ZarrChunks:
    """Zarr arrays of `runs` entries, one per column, with the chunks of the ensemble."""

    path: Path
    fingerprint: str
    runs: int
    length: int  # of a chunk

    def manifest(self) -> dict[str, Any] | None:
        if not (self.path / "zarr.json").exists():
            return None
        found: dict[str, Any] | None = dict(self._group().attrs).get(ZARR_MANIFEST)
        return found

    def begin(self, manifest: Mapping[str, Any]) -> None:
        self._group().attrs[ZARR_MANIFEST] = dict(manifest)

    def write(self, chunk: int, columns: Mapping[str, Column], tally: Tally) -> None:
        group = self._group()
        begin = chunk * self.length
        for name, column in columns.items():
            array = self._array(group, name, column)
            if self.runs:
                array[begin : begin + len(column)] = self._coded(array, column) if column.dtype == object else column
        about: dict[str, Any] = {ZARR_TALLY: tally.as_text(), ZARR_CHUNK: _identity(self.fingerprint, chunk)}
        about |= {ZARR_COLUMNS: {name: _checksum_of(column) for name, column in columns.items()}}
        group.create_group(_tally(chunk), attributes=about | {ZARR_CHECKSUM: _checksum_of_text(about)}, overwrite=True)

    def tally(self, chunk: int) -> Tally | None:
        if not (self.path / _tally(chunk) / "zarr.json").exists():
            return None
        about = self._checked(chunk)
        for name in about[ZARR_COLUMNS]:
            self._part(about, chunk, name)
        return Tally.from_text(about[ZARR_TALLY])

    def part(self, chunk: int, name: str) -> Column:
        return self._part(self._checked(chunk), chunk, name)

    def _checked(self, chunk: int) -> dict[str, Any]:
        """Attributes of a chunk; those that are damaged or of another chunk are refused."""
        try:
            about = dict(self._group()[_tally(chunk)].attrs)
            intact = about.pop(ZARR_CHECKSUM, None) == _checksum_of_text(about)
        except Exception as error:  # JSON, missing keys and more, by zarr
            raise DataError(f"{_tally(chunk)}: it cannot be read ({_first_line(error)})") from None
        if not intact:
            raise DataError(f"{_tally(chunk)}: its checksum does not fit; it was damaged or changed")
        _check_identity(_tally(chunk), about[ZARR_CHUNK], self.fingerprint, chunk)
        return about

    def _part(self, about: dict[str, Any], chunk: int, name: str) -> Column:
        place = f"{name} of chunk {chunk}"
        try:
            array = self._group()[name]
            found: Column = np.asarray(array[chunk * self.length : min((chunk + 1) * self.length, self.runs)])
            meanings = array.attrs.get(MEANINGS)
            if meanings is not None:
                found = np.array(meanings, dtype=object)[found]
            intact = _checksum_of(found) == about[ZARR_COLUMNS][name]
        except Exception as error:  # codecs raise many types for damaged data
            raise DataError(f"{place}: it cannot be read ({_first_line(error)})") from None
        if not intact:
            raise DataError(f"{place}: the checksum does not fit; it was damaged or changed")
        return found

    def _group(self) -> Any:
        return require("zarr", ZARR_PURPOSE).open_group(str(self.path), mode="a")

    def _array(self, group: Any, name: str, column: Column) -> Any:
        """The array of a column; one that is not as this ensemble makes it is replaced, since none of its chunks is intact."""
        coded = column.dtype == object
        kind = np.dtype("int16") if coded else column.dtype
        chunks = (max(1, min(self.length, self.runs)),)
        there = _array_in(group, name)
        fits = there is not None and (there.shape, there.chunks, there.dtype) == ((self.runs,), chunks, kind)
        if fits and (not coded or isinstance(there.attrs.get(MEANINGS), list)):
            return there
        array = group.create_array(
            name,
            overwrite=True,
            shape=(self.runs,),
            chunks=chunks,
            dtype=kind,
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


def _array_in(group: Any, name: str) -> Any:
    """An array of a group; None if it is not there, is no array, or its description is damaged."""
    try:
        found = group[name]
    except Exception:  # of many types, by zarr
        return None
    return found if hasattr(found, "chunks") else None


def _tally(chunk: int) -> str:
    return f"tallies/part-{chunk:08d}"


def _checksum_of(column: Column) -> str:
    texts = column.dtype == object
    return checksum("\0".join(column.tolist()).encode() if texts else str(column.dtype).encode() + column.tobytes())


def _checksum_of_text(value: Mapping[str, Any]) -> str:
    return checksum(json.dumps(value, sort_keys=True).encode())


def _identity(fingerprint: str, chunk: int) -> str:
    return f"chunk {chunk} of {fingerprint}"


def _check_identity(place: str, found: str, fingerprint: str, chunk: int) -> None:
    if found == _identity(fingerprint, chunk):
        return
    number, _, problem = found.partition(" of ")
    raise DataError(f"{place}: it is {number} of {'this' if problem == fingerprint else 'another'} ensemble")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0][:120] or type(error).__name__


FORMAT = 4


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
        zarr = ZarrChunks(path, fingerprint, int(description["runs"]) if description["rows"] else 0, int(description["chunk"]))
        folder = Folder(path, zarr if path.suffix == ZARR_SUFFIX else ParquetChunks(path, fingerprint))
        there = folder._manifest()
        if there is None and existing:
            raise DataError(f"{path} is not empty and holds no ensemble (it contains {existing[0]}); give an empty or new folder")
        if there is None:
            manifest = {"format": FORMAT, "fingerprint": fingerprint, "description": dict(description)}
            folder.chunks.begin(manifest | {"checksum": _checksum_of_text(manifest)})
        elif there.get("format") != FORMAT:
            raise DataError(f"{path} holds an ensemble of another version of draisine; give another folder, or remove this one")
        elif there.pop("checksum", None) != _checksum_of_text(there):
            raise DataError(f"{path}: its manifest was damaged or changed; give another folder, or remove this one")
        elif there.get("fingerprint") != fingerprint:
            differing = [key for key, value in description.items() if there.get("description", {}).get(key) != value]
            what = f"they differ in {', '.join(differing)}" if differing else "the equations differ"
            raise DataError(f"{path} holds the ensemble of another problem ({what}); give another folder, or remove this one")
        return folder

    def _manifest(self) -> dict[str, Any] | None:
        try:
            there = self.chunks.manifest()
        except DependencyError:
            raise
        except Exception as error:  # JSON, UTF-8 and more, by zarr
            reason = _first_line(error)
            raise DataError(f"{self.path}: its manifest is damaged ({reason}); give another folder, or remove this one") from None
        if there is not None and not isinstance(there, dict):
            raise DataError(f"{self.path}: its manifest is damaged; give another folder, or remove this one")
        return there

    def write(self, chunk: int, columns: Mapping[str, Column], tally: Tally) -> None:
        """Store a chunk."""
        self.chunks.write(chunk, columns, tally)

    def tally(self, chunk: int) -> Tally | None:
        """The tally of a chunk, all of which is checked; None if it is not stored."""
        return self.chunks.tally(chunk)

    def column(self, name: str, chunks: Sequence[int]) -> Column:
        """A column of some chunks, in order."""
        try:
            parts = [self.chunks.part(chunk, name) for chunk in chunks]
        except DataError as problem:
            raise DataError(f"{self.path}: {problem}; the same call of `ensemble` computes it again") from None
        return np.concatenate(parts) if parts else np.zeros(0)
