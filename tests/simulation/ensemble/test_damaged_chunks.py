"""Stored chunks that were damaged, exchanged or taken from elsewhere: noticed by name, computed again, and never in a table."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from draisine.errors import DataError

FORMS = ["", ".zarr"]


@pytest.fixture(scope="module")
def oscillator() -> dr.Equations:
    from sympy.abc import k, v, x

    return dr.first_order("oscillator", {x: v, v: -k * x}, parameters={k: 1.0}, start={x: 1.0})


def run(oscillator: dr.Equations, out: Path | None, seed: int = 4, runs: int = 40) -> dr.Ensemble:
    varied = {"k": dr.distributions.Uniform(1.0, 9.0)}
    return dr.ensemble(oscillator, 1.0, cases=varied, runs=runs, seed=seed, outputs=["x"], chunk=10, threads=1, out=out)


def same(one: dr.Ensemble, other: dr.Ensemble) -> None:
    assert one.statistics == other.statistics and one.statuses == other.statuses
    assert one.to_pandas().equals(other.to_pandas())


def files_of(folder: Path) -> list[Path]:
    """Files with data, without manifests."""
    return sorted(f for f in folder.rglob("*") if f.is_file() and f not in (folder / "ensemble.json", folder / "zarr.json"))


@pytest.mark.parametrize("form", FORMS)
def test_flipped_bytes_are_noticed_and_made_anew(oscillator: dr.Equations, tmp_path: Path, form: str) -> None:
    """Any bit of any file: the resumed ensemble is the whole one, and if the bit meant something the chunk is named."""
    folder = tmp_path / f"a{form}"
    whole, chance = run(oscillator, folder, runs=20), np.random.default_rng(5)
    in_memory = run(oscillator, None, runs=20)
    same(whole, in_memory)
    for _ in range(25):
        file = files_of(folder)[chance.integers(len(files_of(folder)))]
        content = bytearray(file.read_bytes())
        content[chance.integers(len(content))] ^= 1 << int(chance.integers(8))
        file.write_bytes(content)
        if not form:
            with pytest.raises(DataError, match=rf"{file.name}.*computes it again"):
                whole["x.end"]
        resumed = run(oscillator, folder, runs=20)
        same(resumed, in_memory)
        if not form:
            assert len(resumed.remade) == 1 and resumed.remade[0].startswith(file.name)
            assert any(file.name in text and text.endswith("computed again") for text in resumed.warnings)
    assert run(oscillator, folder, runs=20).remade == ()  # what was made anew is stored


@pytest.mark.parametrize("form", FORMS)
def test_a_column_is_read_as_written_or_refused(oscillator: dr.Equations, tmp_path: Path, form: str) -> None:
    folder = tmp_path / f"a{form}"
    whole, expected, chance = run(oscillator, folder), run(oscillator, None), np.random.default_rng(6)
    refused = 0
    for file in files_of(folder):
        content = file.read_bytes()
        damaged = bytearray(content)
        for at in chance.integers(len(content), size=3):
            damaged[at] = int(chance.integers(256))
        file.write_bytes(damaged)
        for name in ("x.end", "k", "status"):
            try:
                assert np.array_equal(whole[name], expected[name])
            except DataError as problem:
                refused += 1
                assert str(problem).startswith(str(folder))
        file.write_bytes(content)
    assert refused >= 4


@pytest.mark.parametrize("form", FORMS)
def test_exchanged_and_foreign_chunks(oscillator: dr.Equations, tmp_path: Path, form: str) -> None:
    folder, other = tmp_path / f"a{form}", tmp_path / f"b{form}"
    whole = run(oscillator, folder)
    run(oscillator, other, seed=5)
    name = "part-{:08d}.parquet" if not form else "tallies/part-{:08d}"
    first, second = (folder / name.format(k) for k in (0, 1))
    first.rename(tmp_path / "kept")
    second.rename(first)
    (tmp_path / "kept").rename(second)
    again = run(oscillator, folder)
    assert sorted(again.remade) == [
        f"{name.format(0)}: it is chunk 1 of this ensemble",
        f"{name.format(1)}: it is chunk 0 of this ensemble",
    ]
    same(again, whole)
    (shutil.copytree if form else shutil.copy)(
        other / name.format(2), folder / name.format(2), **({"dirs_exist_ok": True} if form else {})
    )
    again = run(oscillator, folder)
    assert again.remade == (f"{name.format(2)}: it is chunk 2 of another ensemble",)
    same(again, whole)
    if not form:  # a chunk that the ensemble does not have is not in the table
        shutil.copy(folder / name.format(2), folder / name.format(9))
        same(run(oscillator, folder), whole)


@pytest.mark.parametrize("form", FORMS)
def test_a_damaged_manifest_is_refused(oscillator: dr.Equations, tmp_path: Path, form: str) -> None:
    folder = tmp_path / f"a{form}"
    run(oscillator, folder)
    manifest = folder / ("zarr.json" if form else "ensemble.json")
    content = manifest.read_bytes()
    chance, refused = np.random.default_rng(7), 0
    for _ in range(25):
        damaged = bytearray(content)
        damaged[chance.integers(len(content))] = int(chance.integers(256))
        manifest.write_bytes(damaged if chance.integers(4) else damaged[: chance.integers(len(content))])
        try:
            same(run(oscillator, folder), run(oscillator, None))  # blanks may have changed
        except DataError as problem:
            refused += 1
            assert str(folder) in str(problem)
    assert refused > 20


def test_a_full_disk_leaves_no_draft(oscillator: dr.Equations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet

    def full(table: object, path: Path) -> None:
        path.write_bytes(b"PAR1")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pyarrow.parquet, "write_table", full)
    with pytest.raises(OSError, match="No space left"):
        run(oscillator, tmp_path / "a")
    assert [file.name for file in (tmp_path / "a").iterdir()] == ["ensemble.json"]
    monkeypatch.undo()
    same(run(oscillator, tmp_path / "a"), run(oscillator, None))
