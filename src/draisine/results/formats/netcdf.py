"""NetCDF-4 through xarray: one variable per channel over `time`, metadata in the text variable `draisine`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, DataError, DependencyError, require
from draisine.results.metadata import channels_in, check_columns, check_format, decode, describe, encode

if TYPE_CHECKING:
    from draisine.results.trajectory import Trajectory

# A variable, since HDF5 attributes are limited to 64 KiB. The leading underscore distinguishes it from channels.
_METADATA = "_draisine"


def engine(purpose: str) -> Literal["h5netcdf", "netcdf4"]:
    """The NetCDF-4 backend of xarray: h5netcdf, or netCDF4 if only that is installed."""
    if find_spec("h5netcdf") and find_spec("h5py"):
        return "h5netcdf"
    if find_spec("netCDF4"):
        return "netcdf4"
    raise DependencyError(
        f"{purpose} needs h5netcdf with h5py; install them: pip install h5netcdf h5py (or use .parquet or .csv)"
    )


def write(run: Trajectory, path: Path) -> None:
    require("xarray", "saving .nc")
    library = engine("saving .nc")
    if _METADATA in run:
        raise ArgumentError(
            f"a channel is named {_METADATA!r}, which .nc files use for metadata; rename it or save as .parquet or .csv"
        )
    dataset = run.to_xarray().assign({_METADATA: ((), encode(describe(run)))})
    plain = {"_FillValue": None}  # NaN is a value, not a missing value
    dataset.to_netcdf(path, engine=library, format="NETCDF4", encoding={name: plain for name in ("time", *run.names())})


def read(path: Path, limit: int) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
    """Metadata, times and table; at most `limit` numbers."""
    xarray = require("xarray", "loading .nc")
    library = engine("loading .nc")
    try:
        # without indexes no data are read before the sizes are checked
        with xarray.open_dataset(path, engine=library, decode_cf=False, create_default_indexes=False) as dataset:
            return _read_open(dataset, limit)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # the HDF5 libraries raise many types for damaged files
        reason = (str(error).splitlines() or [""])[0][:200] or type(error).__name__
        raise DataError(f"not a readable NetCDF file ({reason})") from None


def _read_open(dataset: Any, limit: int) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
    if _METADATA not in dataset.variables or dataset.variables[_METADATA].ndim != 0:
        raise DataError("a NetCDF file without a draisine trajectory")
    text = dataset.variables[_METADATA].values.item()
    metadata = decode(text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text)
    check_format(metadata)
    # NetCDF does not preserve the order of variables; the metadata does
    names = [channel.name for channel in channels_in(metadata)]
    check_columns(metadata, ["time", *(name for name in names if name in dataset.variables)])
    wrong = [n for n in ("time", *names) if dataset[n].dims != ("time",) or dataset[n].dtype != np.float64]
    if wrong:
        raise DataError(f"the variable {wrong[0]!r} should hold 64-bit floats along time")
    total = int(dataset.sizes["time"]) * (len(names) + 1)
    if total > limit:
        raise DataError(f"the file has {total} numbers, more than {limit}; pass a larger limit to load it")
    data = np.empty((dataset.sizes["time"], len(names)))
    for i, name in enumerate(names):
        data[:, i] = dataset[name].values
    return metadata, np.array(dataset["time"].values), data
