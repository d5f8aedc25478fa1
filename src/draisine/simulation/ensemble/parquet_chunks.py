"""Chunks as Parquet files, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from draisine.errors import require
from draisine.simulation.ensemble.statistics import Tally
from draisine.simulation.ensemble.storage import Column

MANIFEST = "ensemble.json"
TALLY = b"draisine tally"
PURPOSE = "an ensemble kept in a folder"


@dataclass(frozen=True)
class ParquetChunks:
    """One file per chunk; its tally in the file's own metadata."""

    path: Path

    def manifest(self) -> dict[str, Any] | None:
        file = self.path / MANIFEST
        if not file.exists():
            return None
        read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return read

    def begin(self, manifest: Mapping[str, Any]) -> None:
        unfinished = (self.path / MANIFEST).with_suffix(".unfinished")
        unfinished.write_text(json.dumps(dict(manifest), indent=1, ensure_ascii=False), encoding="utf-8")
        os.replace(unfinished, self.path / MANIFEST)

    def has(self, chunk: int) -> bool:
        return self._part(chunk).exists()

    def write(self, chunk: int, columns: Mapping[str, Column], tally: Tally) -> None:
        arrow, parquet = require("pyarrow", PURPOSE), require("pyarrow.parquet", PURPOSE)
        table = arrow.table(dict(columns)).replace_schema_metadata({TALLY: tally.as_text().encode()})
        unfinished = self._part(chunk).with_suffix(".unfinished")
        parquet.write_table(table, unfinished)
        os.replace(unfinished, self._part(chunk))

    def tally(self, chunk: int) -> Tally:
        parquet = require("pyarrow.parquet", PURPOSE)
        return Tally.from_text(parquet.read_schema(self._part(chunk)).metadata[TALLY].decode())

    def column(self, name: str) -> Column:
        parquet = require("pyarrow.parquet", PURPOSE)
        parts = sorted(self.path.glob("part-*.parquet"))
        read = [parquet.read_table(part, columns=[name])[name].to_numpy(zero_copy_only=False) for part in parts]
        return np.concatenate(read) if read else np.zeros(0)

    def _part(self, chunk: int) -> Path:
        return self.path / f"part-{chunk:08d}.parquet"
