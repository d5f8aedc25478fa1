"""Damaged files and full disks: a file is loaded as it was written, or refused by name; one that does not fit is not left."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import zlib

import numpy as np
import pytest

from draisine.errors import ArgumentError, DataError
from draisine.results.checksum import MARK, seal, verify
from draisine.results.load import load
from draisine.results.trajectory import Trajectory
from synthetic_run import bicycle_run, pendulum_run

SUFFIXES = [".nc", ".parquet", ".csv"]


def damages(content: bytes, chance: np.random.Generator, count: int):
    """The content with a byte flipped, a stretch overwritten, cut off, doubled or exchanged with another."""
    size = len(content)
    for _ in range(count):
        at, length = int(chance.integers(size)), int(chance.choice([1, 2, 8, 64, 512]))
        kind, to = chance.integers(6), int(chance.integers(size))
        stretch = content[at : at + length]
        yield {
            0: content[:at] + bytes([content[at] ^ (1 << int(chance.integers(8)))]) + content[at + 1 :],
            1: content[:at] + chance.bytes(len(stretch)) + content[at + len(stretch) :],
            2: content[:at],
            3: content[:at] + stretch + content[at:],
            4: content[:at] + bytes(len(stretch)) + content[at + len(stretch) :],
            5: content[:to] + stretch + content[to + len(stretch) :],
        }[int(kind)]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_damaged_file_never_loads_with_other_numbers(tmp_path, suffix):
    run = bicycle_run()
    path = tmp_path / f"run{suffix}"
    run.save(path)
    content = path.read_bytes()
    changed = 0
    for damage in damages(content, np.random.default_rng(19), 400):
        if damage == content:
            continue
        path.write_bytes(damage)
        changed += 1
        with pytest.raises(DataError, match="run"):
            load(path)
    assert changed > 300


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_checksum_is_that_of_the_file_with_zeros(tmp_path, suffix):
    path = tmp_path / f"run{suffix}"
    pendulum_run().save(path)
    content = path.read_bytes()
    assert content.count(MARK) == 1
    at = content.index(MARK) + len(MARK)
    assert int(content[at : at + 8], 16) == zlib.crc32(content[:at] + b"0" * 8 + content[at + 8 :])


def test_a_text_that_looks_like_a_checksum_is_refused(tmp_path):
    forged = Trajectory("draisine-crc32:12345678", [0.0], (), np.zeros((1, 0)), pendulum_run().status)
    with pytest.raises(ArgumentError, match="mark the checksum"):
        forged.save(tmp_path / "run.csv")
    assert list(tmp_path.iterdir()) == []


def test_huge_files_are_not_read(tmp_path):
    with (tmp_path / "run.nc").open("wb") as file:
        file.truncate(10**13)
    with pytest.raises(DataError, match="10,000,000,000,000 bytes, more than"):
        load(tmp_path / "run.nc")
    (tmp_path / "small").write_bytes(b"draisine-crc32:00000000")
    seal(tmp_path / "small")
    verify(tmp_path / "small", 23)
    with pytest.raises(DataError, match="23 bytes, more than 22"):
        verify(tmp_path / "small", 22)


def limited() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # as in a shell; Python ignores it
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path, suffix):
    out = tmp_path / f"run{suffix}"
    words = ["simulate", "rolling_disk", "--until", "0.5", "--out", str(out)]
    # prepared without a limit: the cache on disk is written then
    assert subprocess.run([sys.executable, "-m", "draisine", *words], capture_output=True, check=False).returncode == 0
    out.unlink()
    done = subprocess.run(
        [sys.executable, "-m", "draisine", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # Python stores modules without noticing that they are cut off
        preexec_fn=limited,
    )
    assert done.returncode == 2, done.stderr
    assert f"cannot write {str(out)!r}: File too large" in done.stderr and "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error(tmp_path, monkeypatch):
    """Every write fails as on a full disk."""

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match=r"run\.nc': No space left"):
        pendulum_run().save(tmp_path / "run.nc")
    assert list(tmp_path.iterdir()) == []
