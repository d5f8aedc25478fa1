"""Chunks as rows of the arrays of one Zarr group, which xarray opens as a dataset along `run`.

Texts are stored as numbers with their meanings beside them, as the CF conventions do with flags: an array of texts would
be read by few programs. The manifest is an attribute of the group; a chunk counts when its tally is there, which is an attribute
of a group of its own and written last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from draisine.errors import require
from draisine.simulation.ensemble.statistics import Tally
from draisine.simulation.ensemble.storage import Column

SUFFIX = ".zarr"
PURPOSE = "an ensemble in a .zarr folder"
MANIFEST = "draisine ensemble"
TALLY = "tally"
VALUES, MEANINGS = "flag_values", "meanings"
NOTHING = -1  # the code of rows not yet written


@dataclass(frozen=True)
class ZarrChunks:
    """Arrays of `runs` entries, one per column, divided as the ensemble is."""

    path: Path
    runs: int
    length: int  # of a chunk

    def manifest(self) -> dict[str, Any] | None:
        return dict(self._group().attrs).get(MANIFEST) if (self.path / "zarr.json").exists() else None

    def begin(self, manifest: Mapping[str, Any]) -> None:
        self._group().attrs[MANIFEST] = dict(manifest)

    def has(self, chunk: int) -> bool:
        return (self.path / _tally(chunk) / "zarr.json").exists()

    def write(self, chunk: int, columns: Mapping[str, Column], tally: Tally) -> None:
        group = self._group()
        begin = chunk * self.length
        for name, column in columns.items():
            array = group[name] if name in group else self._made(group, name, column)
            if self.runs:
                array[begin : begin + len(column)] = self._coded(array, column) if column.dtype == object else column
        group.create_group(_tally(chunk), attributes={TALLY: tally.as_text()})

    def tally(self, chunk: int) -> Tally:
        return Tally.from_text(str(self._group()[_tally(chunk)].attrs[TALLY]))

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
        return require("zarr", PURPOSE).open_group(str(self.path), mode="a")

    def _made(self, group: Any, name: str, column: Column) -> Any:
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
        """Numbers for texts; new texts are added to the meanings."""
        meanings = list(array.attrs[MEANINGS])
        new = [text for text in dict.fromkeys(column.tolist()) if text not in meanings]
        if new:
            meanings += new
            array.attrs.update({MEANINGS: meanings, VALUES: list(range(len(meanings)))})
        code = {text: number for number, text in enumerate(meanings)}
        return np.array([code[text] for text in column.tolist()], dtype=np.int16)


def _tally(chunk: int) -> str:
    return f"tallies/part-{chunk:08d}"
