"""Cache of object code on disk, so that later processes need not compile.

Machine code is loaded from here and executed, so the directory must be private: one that another user owns or may write to is
refused, and a private temporary directory is used for the rest of the process. Every file has a checksum of its key and content;
a truncated or damaged file is replaced.

The directory is `$DRAISINE_CACHE_DIR`, else the user's cache directory of the platform.
"""

from __future__ import annotations

import atexit
import gc
import os
import stat
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from draisine.errors import CacheWarning
from draisine.program.digest import SIZE, digest_of

T = TypeVar("T")

LIMIT = 256 * 1024 * 1024  # bytes kept; the least recently used files are removed first
PRUNE_EVERY = 64  # one write in so many, by the file's name, prunes: scanning the directory takes longer than writing a file

_MAGIC = b"draisine object 2\n"
_SUFFIX = ".object"
_HALF_WRITTEN = ".part"
_STALE_SECONDS = 3600.0  # a half-written file this old was left by a process that died
_SETTLED_NANOSECONDS = 3_000_000_000  # the coarsest resolution of a file's time is 2 s
_CLAIM = ".claim"
_CLAIM_SECONDS = 120.0  # a claim this old was left by a process that died

_kept: set[Path] = set()


def cache_directory() -> Path:
    """The private directory of compiled code, created if need be."""
    directory = _configured_directory()
    try:
        if not directory.is_dir():
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        complaint, cure = _complaint(os.stat(directory)), "Make it private (chmod 700), or name another"
    except OSError as error:
        complaint, cure = f"cannot be used ({error.strerror or error})", "Name a writable directory"
    if complaint is None:
        return directory
    # reported at this line, not at those of callers, so that Python's filter shows it once per process
    warnings.warn(
        f"cache directory {directory} {complaint}; compiled code is kept in a temporary directory for this process only. "
        f"{cure} in DRAISINE_CACHE_DIR.",
        CacheWarning,
        stacklevel=1,
    )
    return _temporary_directory()


def cached_object(key: str, make: Callable[[], bytes]) -> bytes:
    """The bytes stored under `key`, or `make()`, which is then stored."""
    try:
        path = _path(key)
    except OSError as error:
        _warn_uncached(error)
        return without_collection(make)
    stored = _read(path, key)
    if stored is not None:
        return stored
    content = without_collection(make)
    try:
        _write(path, key, content)
        if int(path.stem, 16) % PRUNE_EVERY == 0:
            _prune(path.parent, LIMIT)
    except OSError as error:
        _warn_uncached(error)
    return content


def without_collection(make: Callable[[], T]) -> T:
    """`make()` while no garbage is collected: derivation and code generation make many objects and few cycles of them, and the
    collector would walk through all that is alive time and again, a tenth of the time of a new model."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return make()
    finally:
        if collects:
            gc.enable()


def stored_object(key: str) -> bytes | None:
    """The bytes stored under `key`, or None."""
    try:
        return _read(_path(key), key)
    except OSError:
        return None  # `cached_object` will warn


def is_stored(key: str) -> bool:
    """Whether there is a file under `key`; only reading tells whether it is whole."""
    try:
        return _path(key).exists()
    except OSError:
        return False  # `cached_object` will warn


def keep(key: str) -> None:
    """Count what is stored under `key` as in use as long as this process lives: for code that many processes need and this one
    holds in memory. It does not read the file again, which would age, be removed, and be made anew by the next process."""
    try:
        _kept.add(_path(key))
    except OSError:
        return  # nothing is stored


def kept_object(key: str, make: Callable[[], bytes]) -> bytes:
    """As `cached_object` and `keep`."""
    content = cached_object(key, make)
    keep(key)
    return content


def contents_digest(files: Sequence[str]) -> str:
    """A digest of the contents of files, in this sequence.

    Stored by their paths, sizes and times: a file whose content changed has another time, by which Python, too, knows that it
    has to compile it again. Files changed a moment ago are read, since they may change once more within the resolution of a time.
    """
    found = [(file, os.stat(file)) for file in files]
    times = [(file, status.st_size, status.st_mtime_ns, status.st_ctime_ns) for file, status in found]
    latest = max(max(modified, changed) for _, _, modified, changed in times)
    if latest > time.time_ns() - _SETTLED_NANOSECONDS:
        return _contents_digest(files)
    return cached_object(f"digest of contents; {times}", lambda: _contents_digest(files).encode()).decode()


def _contents_digest(files: Sequence[str]) -> str:
    digested = digest_of()
    for name in files:
        with open(name, "rb") as file:
            content = file.read()
        digested.update(f"{os.path.basename(name)} {len(content)}\n".encode())
        digested.update(content)
    return digested.hexdigest()


def claim(key: str) -> bool:
    """Whether this process is the one to make what belongs under `key`: no other has claimed it, or long ago."""
    try:
        path = _path(key).with_suffix(_CLAIM)
        if path.exists() and time.time() - path.stat().st_mtime > _CLAIM_SECONDS:
            path.unlink(missing_ok=True)
        path.touch(exist_ok=False)
    except OSError:
        return False  # claimed, or nothing can be stored
    return True


def release(key: str) -> None:
    """Withdraw a claim."""
    _path(key).with_suffix(_CLAIM).unlink(missing_ok=True)


def _path(key: str) -> Path:
    return cache_directory() / (digest_of(key.encode()).hexdigest() + _SUFFIX)


# -------------------------------------------------------------------------------------------------------- the directory


def _configured_directory() -> Path:
    named = os.environ.get("DRAISINE_CACHE_DIR")
    if named:
        return Path(named).expanduser().absolute()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
        return Path(base) / "draisine" / "Cache"
    if sys.platform == "darwin":
        return Path(os.path.expanduser("~/Library/Caches/draisine"))
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification requires that relative paths are ignored.
    return Path(base if os.path.isabs(base) else os.path.expanduser("~/.cache")) / "draisine"


def _complaint(status: os.stat_result) -> str | None:
    """Why code in this directory cannot be trusted, or None."""
    if sys.platform == "win32":
        return None  # access lists protect the user's profile; the mode bits have no meaning
    if status.st_uid != os.geteuid():
        return f"belongs to user {status.st_uid}, not to you (user {os.geteuid()})"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"may be written by others (mode {stat.S_IMODE(status.st_mode):o})"
    return None


@cache
def _temporary_directory() -> Path:
    import shutil  # these two import much that a process which finds all its code does not need
    import tempfile

    directory = Path(tempfile.mkdtemp(prefix="draisine-"))
    owner = os.getpid()  # a forked child must not remove its parent's directory

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(directory, ignore_errors=True)

    atexit.register(remove)
    return directory


def _warn_uncached(error: OSError) -> None:
    # The text names no file, so that Python's filter shows it once per process.
    warnings.warn(
        f"compiled code cannot be cached on disk ({error.strerror or error}); every process compiles again. "
        "Free some space, or name a writable directory in DRAISINE_CACHE_DIR.",
        CacheWarning,
        stacklevel=3,
    )


# -------------------------------------------------------------------------------------------------------- the files


def _checksum(key: str, content: bytes) -> bytes:
    return digest_of(key.encode() + b"\0" + content).digest()


def _read(path: Path, key: str) -> bytes | None:
    """The content of a valid file, whose access time is updated; None if there is none."""
    try:
        with open(path, "rb") as file:
            if _complaint(os.fstat(file.fileno())) is not None:
                return None
            data = file.read()
    except OSError:
        return None  # absent or unreadable: compiled again, and writing will warn if the disk is at fault
    head = len(_MAGIC) + SIZE
    content = data[head:]
    if not data.startswith(_MAGIC) or data[len(_MAGIC) : head] != _checksum(key, content):
        return None
    try:
        os.utime(path)
    except OSError:
        return content  # on a read-only disk only the order of pruning is lost
    return content


def _write(path: Path, key: str, content: bytes) -> None:
    """Write a temporary file and rename it: a reader sees the whole file or none."""
    part = path.with_name(os.urandom(16).hex() + _HALF_WRITTEN)  # `tempfile` takes longer to import than all is to write
    try:
        with open(part, "xb", opener=_private) as file:
            file.write(_MAGIC + _checksum(key, content) + content)
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        # Windows cannot replace a file that another process is reading; that file has the same code.
        if not (sys.platform == "win32" and path.exists()):
            raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _prune(directory: Path, limit: int) -> None:
    """Remove the least recently used files until a quarter of the limit is free."""
    for kept in _kept:
        try:
            os.utime(kept)
        except OSError:
            continue  # in a store used before, or removed by hand
    files, total, now = [], 0, time.time()
    for entry in os.scandir(directory):
        try:
            status = entry.stat()
        except FileNotFoundError:
            continue  # another process pruned it
        if entry.name.endswith(_SUFFIX):
            files.append((status.st_mtime, status.st_size, entry.path))
            total += status.st_size
        elif entry.name.endswith((_HALF_WRITTEN, _CLAIM)) and now - status.st_mtime > _STALE_SECONDS:
            Path(entry.path).unlink(missing_ok=True)
    if total <= limit:
        return
    for _, size, path in sorted(files):
        Path(path).unlink(missing_ok=True)
        total -= size
        if total <= 3 * limit // 4:
            return
