"""Keep a trajectory in a file and get it back: NetCDF, Parquet or CSV by suffix.

All three give back the numbers to the last bit and everything the run had to say. Files are data: metadata is JSON, checked
item by item; nothing in a file can run.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np

from draisine.errors import ArgumentError, DataError
from draisine.results.channel import Group
from draisine.results.formats import csv, netcdf, parquet
from draisine.results.metadata import rebuild
from draisine.results.sensitivity import Sensitivity
from draisine.results.trajectory import Trajectory

MAX_NUMBERS = 2**28  # 2 GiB, about an hour of a bicycle at 1 kHz

_FORMATS = {".nc": netcdf, ".parquet": parquet, ".csv": csv}
FILMS = (".html", ".htm", ".gif", ".mp4", ".png")  # written by those who show runs; none can be read back


def save(run: Trajectory, path: str | os.PathLike[str]) -> None:
    """Write `run` to `path`: .nc, .parquet or .csv by suffix.

    The file appears complete or not at all: an interrupted save leaves what was there before.
    """
    target = Path(path)
    form = _format(target, f"; films are {', '.join(FILMS)}")
    with replacing(target) as draft:
        form.write(_unfolded(run), draft)


def load(path: str | os.PathLike[str], *, limit: int = MAX_NUMBERS) -> Trajectory:
    """Read a trajectory that `save` wrote; at most `limit` numbers, so that a forged file cannot take the memory."""
    source = Path(path)
    form = _format(source)
    if not source.is_file():
        raise FileNotFoundError(f"there is no trajectory file {str(source)!r}")
    try:
        return _folded(rebuild(*form.read(source, limit)))
    except DataError as problem:
        raise DataError(f"{source}: {problem}") from None


def _unfolded(run: Trajectory) -> Trajectory:
    """The run with its sensitivities as columns of its table."""
    if run.sensitivity is None:
        return run
    channels, table = run.sensitivity.columns()
    return replace(run, channels=(*run.channels, *channels), data=np.hstack([run.data, table]), sensitivity=None)


def _folded(run: Trajectory) -> Trajectory:
    """The run as it was before its sensitivities were made columns."""
    count = len(run.names(Group.SENSITIVITIES))
    if not count:
        return run
    own, columns = run.channels[:-count], run.channels[-count:]
    try:
        sensitivity = Sensitivity.from_columns(run.time, own, columns, run.data[:, -count:])
    except (KeyError, ValueError):
        raise DataError("its sensitivities do not belong to its channels") from None
    return replace(run, channels=own, data=run.data[:, :-count], sensitivity=sensitivity)


def check_target(path: str | os.PathLike[str], *, film: bool = False) -> None:
    """Refuse a path to which a trajectory, or a film of it, could not be written, before the work is done."""
    if not film:
        _format(Path(path))
    elif Path(path).suffix.lower() not in FILMS:
        raise ArgumentError(f"unknown kind of film {Path(path).name!r}: the suffix must be one of {', '.join(FILMS)}")
    _check_place(Path(path).resolve())


def _check_place(target: Path) -> None:
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {target.name!r}: there is no directory {str(target.parent)!r}; create it first")
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {str(target)!r}: it is a directory; add a file name")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(
            f"cannot write {target.name!r}: nothing may be written to the directory {str(target.parent)!r}; name another"
        )


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A draft beside `target` to write to, which takes its place when the block ends well and vanishes when it does not."""
    target = target.resolve()  # a link stays a link; its target is replaced
    _check_place(target)
    draft = target.with_name(f".{target.stem[:100]}-{secrets.token_hex(6)}{target.suffix}")
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def _format(path: Path, more: str = "") -> ModuleType:
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        known = ".nc (NetCDF), .parquet and .csv"
        raise ArgumentError(f"unknown kind of trajectory file {path.name!r}: the suffix {suffix!r} is none of {known}{more}")
    return _FORMATS[suffix]
