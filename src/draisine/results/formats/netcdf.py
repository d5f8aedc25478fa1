"""NetCDF-4 through h5netcdf: one variable per channel over `time`, metadata in the text variable `_draisine`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, DataError, DependencyError, require
from draisine.results.checksum import verify
from draisine.results.metadata import channels_in, check_columns, check_format, decode, describe, encode, most_bytes

if TYPE_CHECKING:
    from draisine.results.trajectory import Trajectory

# A variable, since HDF5 attributes are limited to 64 KiB. The leading underscore distinguishes it from channels.
_METADATA = "_draisine"
# Dimensions, values (numbers, texts or one text) and attributes.
Variable = tuple[Sequence[str], Any, Mapping[str, str]]


@contextmanager
def opened(path: Path, limit: int) -> Iterator[Any]:
    """The root group of a file of at most `limit` numbers whose checksum fits."""
    library = _library("loading .nc")
    verify(path, most_bytes(limit))
    with library.File(path, "r") as file:
        yield file


@contextmanager
def written(path: Path) -> Iterator[Any]:
    """The root group of a new file, which is made in memory: HDF5 ends the process when a disk is full."""
    library, hdf5 = _library("saving .nc"), require("h5py", "saving .nc")
    with hdf5.File("draft", "w", driver="core", backing_store=False) as memory:
        with library.File(memory, "w") as file:
            yield file
        memory.flush()
        image = memory.id.get_file_image()
    path.write_bytes(image)


def _library(purpose: str) -> Any:
    require("h5py", purpose, "h5netcdf h5py")
    return require("h5netcdf", purpose, "h5netcdf h5py")


def put(group: Any, variables: Mapping[str, Variable]) -> None:
    """Add variables to a group, with their dimensions. No fill value is declared: NaN is a value, not a missing value."""
    for name, (dimensions, values, attributes) in variables.items():
        is_text = isinstance(values, str) or (len(values) > 0 and isinstance(values[0], str))
        array = np.asarray(values, dtype=object if is_text else float)
        for dimension, length in zip(dimensions, array.shape, strict=True):
            if dimension not in group.dimensions:
                group.dimensions[dimension] = length
        kind = require("h5py", "saving .nc").string_dtype() if is_text else array.dtype
        variable = group.create_variable(name, tuple(dimensions), dtype=kind, data=array)
        for key, text in attributes.items():
            variable.attrs[key] = text


def write(run: Trajectory, path: Path) -> None:
    with written(path) as file:
        put_run(file, run)


def put_run(file: Any, run: Trajectory) -> None:
    """Add a run to the root group of a file."""
    if _METADATA in run:
        raise ArgumentError(
            f"a channel is named {_METADATA!r}, which .nc files use for metadata; rename it or save as .parquet or .csv"
        )
    for key, text in run.file_attributes().items():
        file.attrs[key] = text
    put(file, {"time": (("time",), run.time, {"units": "s", "long_name": "time"})})
    columns = zip(run.channels, run.data.T, strict=True)
    put(file, {channel.name: (("time",), column, channel.attributes()) for channel, column in columns})
    put(file, {_METADATA: ((), encode(describe(run)), {})})


def read(path: Path, limit: int) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
    """Metadata, times and table; at most `limit` numbers."""
    try:
        with opened(path, limit) as file:
            return _read_open(file.variables, limit)
    except (DataError, DependencyError, MemoryError):
        raise
    except Exception as error:  # the HDF5 libraries raise many types for damaged files
        reason = (str(error).splitlines() or [""])[0][:200] or type(error).__name__
        raise DataError(f"not a readable NetCDF file ({reason})") from None


def text_of(variable: Any) -> str:
    """The text of a variable without dimensions."""
    value = variable[()]
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def _read_open(variables: Mapping[str, Any], limit: int) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
    if _METADATA not in variables or variables[_METADATA].shape != ():
        raise DataError("a NetCDF file without a draisine trajectory")
    metadata = decode(text_of(variables[_METADATA]))
    check_format(metadata)
    # NetCDF does not preserve the order of variables; the metadata does
    names = [channel.name for channel in channels_in(metadata)]
    check_columns(metadata, ["time", *(name for name in names if name in variables)])
    wrong = [n for n in ("time", *names) if variables[n].dimensions != ("time",) or variables[n].dtype != np.float64]
    if wrong:
        raise DataError(f"the variable {wrong[0]!r} should hold 64-bit floats along time")
    length = int(variables["time"].shape[0])
    total = length * (len(names) + 1)
    if total > limit:
        raise DataError(f"the file has {total} numbers, more than {limit}; pass a larger limit to load it")
    data = np.empty((length, len(names)))
    for i, name in enumerate(names):
        data[:, i] = variables[name][...]
    return metadata, np.array(variables["time"][...]), data
