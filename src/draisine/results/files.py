"""Writing of trajectories to NetCDF, Parquet or CSV files, by suffix; `load` reads them.

All formats preserve every bit of the numbers and all metadata, which are JSON and checked on reading. A checksum (`checksum.py`)
tells damaged files. Reading executes no code.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import ArgumentError, DraisineError
from draisine.results.checksum import seal
from draisine.results.formats import csv, netcdf, parquet

if TYPE_CHECKING:
    from draisine.results.trajectory import Trajectory

_FORMATS = {".nc": netcdf, ".parquet": parquet, ".csv": csv}
MAX_BYTES = 10_000_000  # of a text file
FILMS = (".html", ".htm", ".gif", ".mp4", ".png")  # written by `draisine.view`; cannot be loaded


def save(run: Trajectory, path: str | os.PathLike[str]) -> None:
    """Write `run` to `path`: .nc, .parquet or .csv by suffix.

    The file is replaced atomically: an interrupted save leaves the previous file.
    """
    target = Path(path)
    form = format_of(target, f"; films are {', '.join(FILMS)}")
    with replacing(target) as draft:
        form.write(_unfolded(run), draft)
        seal(draft)


def _unfolded(run: Trajectory) -> Trajectory:
    """The run with its sensitivities as columns of the table."""
    if run.sensitivity is None:
        return run
    channels, table = run.sensitivity.columns()
    return replace(run, channels=(*run.channels, *channels), data=np.hstack([run.data, table]), sensitivity=None)


def check_target(path: str | os.PathLike[str], *, film: bool = False) -> None:
    """Check before a computation that a trajectory, or a film of it, can be written to a path."""
    if not film:
        format_of(Path(path))
    elif Path(path).suffix.lower() not in FILMS:
        raise ArgumentError(f"unknown film format {Path(path).name!r}: the suffix must be one of {', '.join(FILMS)}")
    _check_directory(Path(path).resolve())


def _check_directory(target: Path) -> None:
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {target.name!r}: the directory {str(target.parent)!r} does not exist; create it first"
        )
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {str(target)!r}: it is a directory; add a file name")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(
            f"cannot write {target.name!r}: no write permission for the directory {str(target.parent)!r}; choose another"
        )


FULL = (errno.EFBIG, errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EIO)  # of a disk or a limit


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary file beside `target`, which replaces it if the block succeeds and is deleted otherwise."""
    target = target.resolve()  # of a link the target is replaced
    if target.exists() and not target.is_file() and not target.is_dir():
        yield target  # a terminal or a pipe, in whose place nothing can be put
        return
    _check_directory(target)
    draft = target.with_name(f".{target.stem[:100]}-{os.urandom(6).hex()}{target.suffix}")
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(draft, target)
    except OSError as problem:
        if problem.errno is None or (problem.errno not in FULL and problem.filename != str(draft)):
            raise
        if problem.errno not in FULL:
            raise type(problem)(problem.errno, problem.strerror, str(target)) from None
        why = os.strerror(problem.errno)  # of a write that fails the system names no file
        raise OSError(f"cannot write {str(target)!r}: {why}; free some space, or choose another directory") from problem
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, completely or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, completely or not at all."""
    with replacing(Path(path)) as draft:
        draft.write_bytes(data)


def format_of(path: Path, more: str = "") -> ModuleType:
    """The module that writes and reads files of this suffix."""
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        known = ".nc (NetCDF), .parquet and .csv"
        raise ArgumentError(f"unknown trajectory format {path.name!r}: the suffix {suffix!r} is none of {known}{more}")
    return _FORMATS[suffix]


def read_bytes(path: str | Path, error: type[DraisineError]) -> bytes:
    """The contents of a file of at most `MAX_BYTES`; raises `error` with the reason if it cannot be read."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise error(f"{path}: cannot be read ({problem.strerror}); check the name and the permissions") from None
    except ValueError:  # a NUL character in the name
        raise error(f"{str(path)!r}: not a valid file name") from None
    if len(data) > MAX_BYTES:
        raise error(f"{path}: larger than {MAX_BYTES // 1_000_000} MB; is it the right file?")
    return data


def read_text(path: str | Path, error: type[DraisineError]) -> str:
    """The text of a file; raises `error` with the reason if it cannot be read."""
    data = read_bytes(path, error)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data[: problem.start].count(b"\n") + 1
        raise error(f"{path}, line {line}: not UTF-8 text; save the file in that encoding") from None
