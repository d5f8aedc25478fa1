"""Parquet: one column per channel, metadata under the key `draisine` of the schema."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import DataError, require
from draisine.results.checksum import verify
from draisine.results.metadata import MAX_CHARACTERS, check_columns, check_format, decode, describe, encode, most_bytes

if TYPE_CHECKING:
    from draisine.results.trajectory import Trajectory

_KEY = b"draisine"


def write(run: Trajectory, path: Path) -> None:
    arrow = require("pyarrow", "saving .parquet")
    parquet = require("pyarrow.parquet", "saving .parquet")
    fields = [arrow.field("time", arrow.float64(), nullable=False, metadata={"unit": "s"})]
    fields += [arrow.field(c.name, arrow.float64(), nullable=False, metadata={"unit": c.unit}) for c in run.channels]
    schema = arrow.schema(fields, metadata={_KEY: encode(describe(run)).encode()})
    columns = [arrow.array(column) for column in (run.time, *np.asfortranarray(run.data).T)]
    parquet.write_table(arrow.Table.from_arrays(columns, schema=schema), path)


def read(path: Path, limit: int) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
    """Metadata, times and table; at most `limit` numbers."""
    arrow = require("pyarrow", "loading .parquet")
    parquet = require("pyarrow.parquet", "loading .parquet")
    verify(path, most_bytes(limit))
    try:
        # pyarrow limits the size of footers, so that a forged size cannot exhaust the memory
        with parquet.ParquetFile(path) as file:
            return _read_open(file, arrow, limit)
    except (arrow.ArrowException, OSError) as error:
        raise DataError(f"not a readable Parquet file ({_first_line(error)})") from None


def _read_open(file: Any, arrow: Any, limit: int) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
    schema = file.schema_arrow
    raw = (schema.metadata or {}).get(_KEY)
    if raw is None:
        raise DataError("a Parquet file without a draisine trajectory")
    if len(raw) > 4 * MAX_CHARACTERS:
        raise DataError(f"the metadata has {len(raw)} bytes, more than is read")
    metadata = decode(raw.decode("utf-8", errors="replace"))
    check_format(metadata)
    check_columns(metadata, list(schema.names))
    wrong = [field.name for field in schema if field.type != arrow.float64()]
    if wrong:
        raise DataError(f"the column {wrong[0]!r} should hold 64-bit floats")
    rows, columns = file.metadata.num_rows, len(schema.names)
    if rows * columns > limit:
        raise DataError(f"the file has {rows * columns} numbers, more than {limit}; pass a larger limit to load it")
    table = file.read()
    if any(column.null_count for column in table.columns):
        raise DataError("the file has missing values")
    data = np.empty((table.num_rows, columns))
    for i, column in enumerate(table.columns):
        data[:, i] = column.to_numpy()
    return metadata, np.ascontiguousarray(data[:, 0]), data[:, 1:]


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
