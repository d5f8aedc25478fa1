"""Every Python block of the README runs, in order, in a folder of its own, and says what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from extensions.snippets import executed

README = Path(__file__).parents[1] / "README.md"


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readme")
    return [
        (printed, names["run"].status, sorted(p.name for p in folder.iterdir())) for _, printed, names in executed(README, folder)
    ]


def test_all_blocks_run(ran):
    assert len(ran) == 3
    for _, status, _ in ran:
        assert status.complete, status


def test_the_bicycle_rolls(ran):
    printed, _, files = ran[0]
    assert "FINISHED: reached t = 5 s" in printed
    assert "4.622 m/s" in printed
    assert files == ["ride.html", "ride.nc"]


def test_a_mechanism_of_ones_own(ran):
    printed, _, files = ran[1]
    assert printed == "('sled_vx', 'sled_heading_rate')\n"
    assert "sled.toml" in files


def test_from_motion_to_design(ran):
    printed, _, _ = ran[2]
    assert "('weave', 4.2924), ('capsize', 6.0243)" in printed
    assert "steers away first" in printed
