"""The store of object code: it must never serve what it should not, and never stand in the way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from draisine.codegen import cache, equation_cache
from draisine.codegen.cache import cache_directory, cached_object, contents_digest, kept_object
from draisine.codegen.host import host_key
from draisine.errors import CacheWarning

posix = pytest.mark.skipif(sys.platform == "win32", reason="mode bits say nothing there")


@pytest.fixture
def directory(tmp_path, monkeypatch):
    place = tmp_path / "deep" / "store"
    monkeypatch.setenv("DRAISINE_CACHE_DIR", str(place))
    monkeypatch.setattr(cache, "PRUNE_EVERY", 1)
    return place


def never() -> bytes:
    raise AssertionError("it was in the cache and should not be made again")


def stored(directory: Path) -> Path:
    (file,) = directory.glob("*.object")
    return file


def test_makes_once_and_serves_again(directory):
    assert cached_object("key", lambda: b"code") == b"code"
    assert cached_object("key", never) == b"code"
    assert cached_object("other key", lambda: b"other") == b"other"
    assert cached_object("empty", lambda: b"") == b""
    assert cached_object("empty", never) == b""


@posix
def test_directory_and_files_are_private(directory):
    cached_object("key", lambda: b"code")
    assert directory.stat().st_mode & 0o777 == 0o700
    assert stored(directory).stat().st_mode & 0o077 == 0


def test_place_follows_the_platform(monkeypatch, tmp_path):
    monkeypatch.delenv("DRAISINE_CACHE_DIR", raising=False)
    if sys.platform.startswith("linux"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache_directory() == tmp_path / "draisine"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert cache_directory() == tmp_path / "home" / ".cache" / "draisine"


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "foreign", "swap"])
def test_damaged_files_are_made_anew(directory, damage):
    cached_object("key", lambda: b"code" * 100)
    file = stored(directory)
    whole = file.read_bytes()
    if damage == "truncate":
        file.write_bytes(whole[:-7])
    elif damage == "flip":
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage == "foreign":
        file.write_bytes(b"\x7fELF" + whole)
    else:  # a sound file under another key's name
        file.unlink()
        cached_object("other", lambda: b"wrong code")
        stored(directory).rename(file)
    assert cached_object("key", lambda: b"made anew") == b"made anew"
    assert cached_object("key", never) == b"made anew"


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_directory_others_can_write_is_refused(directory, mode):
    directory.mkdir(parents=True, mode=0o700)
    cached_object(f"key {mode}", lambda: b"planted")
    directory.chmod(mode)
    with pytest.warns(CacheWarning, match=r"may be written by others.*chmod 700"):
        used = cache_directory()
    assert used != directory
    assert used.stat().st_mode & 0o777 == 0o700
    key = f"key {mode}"  # the temporary directory is one for the whole process
    with pytest.warns(CacheWarning):
        assert cached_object(key, lambda: b"own") == b"own"
    with pytest.warns(CacheWarning):
        assert cached_object(key, never) == b"own"  # the temporary place serves this process


@posix
def test_directory_of_somebody_else_is_refused(directory, monkeypatch):
    directory.mkdir(parents=True, mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: directory.stat().st_uid + 1)
    with pytest.warns(CacheWarning, match="belongs to user"):
        assert cache_directory() != directory


@posix
def test_file_others_can_write_is_not_loaded(directory):
    cached_object("key", lambda: b"code")
    stored(directory).chmod(0o666)
    assert cached_object("key", lambda: b"own") == b"own"


def test_works_without_a_disk(directory, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "_private", full)
    with pytest.warns(CacheWarning, match="No space left.*DRAISINE_CACHE_DIR"):
        assert cached_object("key", lambda: b"code") == b"code"
    monkeypatch.setattr(cache.Path, "mkdir", full)
    monkeypatch.setenv("DRAISINE_CACHE_DIR", str(directory / "missing"))
    with pytest.warns(CacheWarning):
        assert cached_object("no disk", lambda: b"code") == b"code"


def test_warns_once_about_a_full_disk(directory, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    cache_directory()
    monkeypatch.setattr(cache, "_private", full)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for k in range(5):
            cached_object(f"key {k}", lambda: b"code")
    assert len(caught) == 1


def test_a_failing_maker_leaves_nothing_behind(directory):
    def fail() -> bytes:
        raise RuntimeError("no code")

    with pytest.raises(RuntimeError, match="no code"):
        cached_object("key", fail)
    assert list(directory.iterdir()) == []


def test_least_recently_used_files_go_first(directory, monkeypatch):
    monkeypatch.setattr(cache, "LIMIT", 10_000)
    for k in range(4):
        cached_object(f"key {k}", lambda: bytes(2000))
        file = max(directory.glob("*.object"), key=lambda f: f.stat().st_mtime_ns)
        os.utime(file, (1000.0 + k, 1000.0 + k))
    cached_object("key 0", never)  # used just now, so it stays
    cached_object("large", lambda: bytes(4000))
    assert sum(f.stat().st_size for f in directory.glob("*.object")) <= 7500
    assert cached_object("key 0", never) == bytes(2000)
    assert cached_object("key 1", lambda: b"made anew") == b"made anew"


def test_what_a_process_holds_in_memory_does_not_age(directory, monkeypatch):
    """It is read once and used for hours, while kernels of many models come and go."""
    monkeypatch.setattr(cache, "LIMIT", 10_000)
    kept_object("loop", lambda: bytes(2000))
    cached_object("kernel", lambda: bytes(2000))
    for file in directory.glob("*.object"):
        os.utime(file, (1000.0, 1000.0))
    for k in range(4):
        cached_object(f"other {k}", lambda: bytes(2000))
    assert cached_object("loop", never) == bytes(2000)
    assert cached_object("kernel", lambda: b"made anew") == b"made anew"


def test_not_every_file_has_the_store_looked_through(directory, monkeypatch):
    looked = []
    monkeypatch.setattr(cache, "PRUNE_EVERY", 16)
    monkeypatch.setattr(cache, "_prune", lambda *_: looked.append(len(list(directory.glob("*.object")))))
    for k in range(160):
        cached_object(f"key {k}", lambda: b"code")
    assert 3 <= len(looked) <= 25  # ten are expected of names as good as drawn by lot


def test_files_of_dead_writers_are_swept(directory):
    cached_object("key", lambda: b"code")
    old, young = directory / "old.part", directory / "young.part"
    old.touch()
    young.touch()
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    cached_object("other", lambda: b"code")
    assert not old.exists()
    assert young.exists()


WRITER = """
import sys
from draisine.codegen.cache import cached_object
for k in range(60):
    content = bytes([k]) * 50_000
    got = cached_object(f"key {k % 6}", lambda: bytes([k % 6]) * 50_000)
    assert got == bytes([k % 6]) * 50_000, "a reader saw half a file"
    if k % 7 == int(sys.argv[1]):
        import pathlib
        for file in pathlib.Path(sys.argv[2]).glob("*.object"):
            file.unlink(missing_ok=True)
"""


def test_processes_at_the_same_time(directory):
    path = os.pathsep.join([str(Path(cache.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    running = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", WRITER, str(k), str(directory)], env=environment, stderr=subprocess.PIPE
        )
        for k in range(3)
    ]
    for process in running:
        _, complaint = process.communicate(timeout=120)
        assert process.returncode == 0, complaint.decode()
    assert list(directory.glob("*.part")) == []


def test_digests_of_files_follow_their_contents(directory, tmp_path, monkeypatch):
    files = [tmp_path / "a.py", tmp_path / "b.py"]
    for file in files:
        file.write_text(f"name = {file.stem!r}\n")
    names = [str(file) for file in files]
    fresh = contents_digest(names)
    assert not directory.exists()  # files changed a moment ago are not remembered
    monkeypatch.setattr(cache, "_SETTLED_NANOSECONDS", -(10**12))
    assert contents_digest(names) == fresh and contents_digest(names[::-1]) != fresh
    with monkeypatch.context() as patched:
        patched.setattr(cache, "_contents_digest", lambda _: pytest.fail("read again"))
        assert contents_digest(names) == fresh
    before = files[1].stat()
    time.sleep(0.02)  # longer than the tick of a file system's clock
    files[1].write_text("name = 'c'\n")
    assert files[1].stat().st_size == before.st_size
    changed = contents_digest(names)
    assert changed != fresh
    if sys.platform != "win32":  # where there is no time of the last change beside that of the content
        os.utime(files[1], ns=(before.st_atime_ns, before.st_mtime_ns))
        assert contents_digest(names) == changed
    copied = tmp_path / "other"
    copied.mkdir()
    for file in files:
        (copied / file.name).write_bytes(file.read_bytes())
    assert contents_digest([str(copied / file.name) for file in files]) == changed


def test_host_key_names_what_code_depends_on():
    import llvmlite.binding as llvm

    key = host_key()
    assert llvm.get_host_cpu_name() in key
    assert llvm.get_process_triple() in key
    assert ".".join(map(str, llvm.llvm_version_info)) in key


def test_the_key_of_equations_covers_the_sources_that_derive():
    package = Path(equation_cache.__file__).parents[1]
    for folder in equation_cache._SOURCES:
        assert any((package / folder).rglob("*.py")), folder
