"""Trajectories as xarray and pandas tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from draisine.errors import require

if TYPE_CHECKING:
    import pandas
    import xarray

    from draisine.results.trajectory import Trajectory


def to_xarray(run: Trajectory) -> xarray.Dataset:
    """A Dataset over `time`, each channel a variable with `units`, `long_name` and `group`."""
    xarray_module = require("xarray", "a trajectory as xarray Dataset")
    variables = {}
    for channel, column in zip(run.channels, run.data.T, strict=True):
        attributes = {"units": channel.unit, "long_name": channel.description or channel.name, "group": str(channel.group)}
        if channel.kind:
            attributes |= {"kind": channel.kind, "level": channel.level}
        variables[channel.name] = ("time", column, attributes)
    dataset: xarray.Dataset = xarray_module.Dataset(
        variables,
        coords={"time": ("time", run.time, {"units": "s", "long_name": "time"})},
        attrs={
            "model": run.model,
            "status": str(run.status.kind),
            "message": run.status.message,
            "warnings": "\n".join(run.warnings),
        },
    )
    return dataset


def to_pandas(run: Trajectory) -> pandas.DataFrame:
    """A DataFrame indexed by time, a column per channel; units in `frame.attrs["units"]`."""
    pandas_module = require("pandas", "a trajectory as pandas DataFrame")
    frame: pandas.DataFrame = pandas_module.DataFrame(
        run.data.copy(), index=pandas_module.Index(run.time.copy(), name="time"), columns=list(run.names())
    )
    frame.attrs["model"] = run.model
    frame.attrs["units"] = {channel.name: channel.unit for channel in run.channels}
    return frame
