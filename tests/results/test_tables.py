"""Tables of results in files: written without pandas, and read by it to the last bit."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from draisine.results.base import _write


def drawn(seed: int) -> dict[str, Any]:
    """Numbers of all sizes and kinds, texts that need quoting, and a value that is missing."""
    random, n = np.random.default_rng(seed), 9
    real = random.normal(size=n) * 10.0 ** random.integers(-300, 300, size=n)
    real[seed % n] = np.nan
    return {
        "real": real,
        "whole": random.integers(-(10**12), 10**12, size=n),
        "true": [bool(value) for value in random.integers(0, 2, size=n)],
        "complex": random.normal(size=n) + 1j * random.normal(size=n),
        "word": [f'a "{k}", ü\n' for k in range(n)],
        "object": [np.float64(value) for value in random.normal(size=n)],
    }


def _read_csv(path: Path) -> pandas.DataFrame:
    """Python's own reader: older versions of pandas round."""
    with path.open(encoding="utf-8", newline="") as file:
        table = pandas.DataFrame(list(csv.DictReader(file)))
    for name in ("real", "complex.re", "complex.im", "object"):
        table[name] = [float(text or "nan") for text in table[name]]
    table["whole"] = [int(text) for text in table["whole"]]
    table["true"] = [{"True": True, "False": False}[text] for text in table["true"]]
    return table


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
def test_every_bit_is_read_again(seed: int, suffix: str, tmp_path: Path) -> None:
    given, path = drawn(seed), tmp_path / f"table{suffix}"
    _write(given, path, suffix)
    if suffix == ".json":
        read = pandas.DataFrame(json.loads(path.read_text(encoding="utf-8")))
    else:
        read = _read_csv(path) if suffix == ".csv" else pandas.read_parquet(path)
    assert list(read) == ["real", "whole", "true", "complex.re", "complex.im", "word", "object"]
    np.testing.assert_array_equal(read["real"].astype(float), given["real"])
    np.testing.assert_array_equal(read["complex.re"] + 1j * read["complex.im"], given["complex"])
    for name in ("whole", "true", "word", "object"):
        assert list(read[name]) == list(given[name]), name


def test_no_rows(tmp_path: Path) -> None:
    _write({"a": np.zeros(0), "b": []}, tmp_path / "table.csv", ".csv")
    assert (tmp_path / "table.csv").read_text() == "a,b\n"
