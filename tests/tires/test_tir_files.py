"""Tire files of our own making: sections, units, sides, ranges, and refusals by file and line."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.tires.test_magic_formula import drawn

import draisine as dr
from draisine.errors import ArgumentError, DataError
from draisine.model.file_laws import law_of, law_table
from draisine.model.quantities import Entry

FILE = """$ a tire of our own making
[MDI_HEADER]
FILE_TYPE ='tir'
[UNITS]
LENGTH = 'mm'
FORCE = 'kN'
ANGLE = 'degree'
TIME = 'second'
[MODEL]
FITTYP = 61            $ version
TYRESIDE = 'LEFT'
USE_MODE = 14
[DIMENSION]
UNLOADED_RADIUS = 313  ! in mm
WIDTH = 205
[SHAPE]
{radial width}
1.0 0.0
1.0 0.4
[VERTICAL]
FNOMIN = 4
VERTICAL_STIFFNESS = 0.2
[SLIP_ANGLE_RANGE]
ALPMIN = -12
ALPMAX = 12
[LATERAL_COEFFICIENTS]
pcy1 = 1.3
PDY1 = -1.0
PKY1 = -1.5D1
PKY2 = 2.0
PVY1 = 0.05
"""


def written(folder: Path, text: str = FILE) -> Path:
    path = folder / "own.tir"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_is_read_in_its_units(tmp_path: Path) -> None:
    tire = dr.contact.read_tir(written(tmp_path))
    c = tire.numbers()
    assert tire.version == "6.1" and tire.compliant and not tire.mirrored
    assert (c["FNOMIN"], c["UNLOADED_RADIUS"], c["VERTICAL_STIFFNESS"]) == pytest.approx((4000.0, 0.313, 2e5))
    assert c["PKY1"] == -15.0
    assert tire.ranges["slip_angle"] == pytest.approx((-np.pi / 15, np.pi / 15))


def test_the_other_side_is_mirrored(tmp_path: Path) -> None:
    path = written(tmp_path)
    left, right = (dr.contact.read_tir(path, side=side) for side in ("left", "right"))
    assert float(left.forces(4000.0).lateral) == pytest.approx(200.0)
    assert float(right.forces(4000.0).lateral) == pytest.approx(-200.0)
    minus = dr.contact.read_tir(written(tmp_path, FILE.replace("USE_MODE = 14", "USE_MODE = -14")))
    assert minus.mirrored
    with pytest.raises(ArgumentError, match="side must be 'left' or 'right'"):
        dr.contact.read_tir(path, side="front")


@pytest.mark.parametrize("version", ["5.2", "6.1", "motorcycle"])
def test_what_is_written_is_read_again(tmp_path: Path, version: str) -> None:
    given = drawn(version, 1) | {"FZMIN": 200.0, "FZMAX": 9000.0, "VERTICAL_STIFFNESS": 2e5, "LMUX": 0.9}
    tire = dr.contact.MagicFormula(version, given, mirrored=True)
    dr.contact.write_tir(tire, tmp_path / "again.tir")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = dr.contact.read_tir(tmp_path / "again.tir")
    assert dict(again.coefficients) == dict(tire.coefficients)
    assert (again.version, again.mirrored, again.relaxes) == (tire.version, True, tire.relaxes)
    with pytest.raises(ArgumentError, match="LMUX of the tire is grip"):
        dr.contact.write_tir(tire.replaced(LMUX="grip"), tmp_path / "no.tir")


def test_a_side_without_a_side_of_measurement_is_warned_of(tmp_path: Path) -> None:
    for new, says in (("", "TYRESIDE is missing"), ("TYRESIDE = 'BOTH'\n", "TYRESIDE is 'both'")):
        path = written(tmp_path, FILE.replace("TYRESIDE = 'LEFT'\n", new))
        with pytest.warns(UserWarning, match=f"own.tir: {says}, so that side='right' mirrors nothing"):
            assert not dr.contact.read_tir(path, side="right").mirrored
        assert dr.contact.read_tir(path).side is None


@pytest.mark.parametrize("side", [None, "left", "right"])
def test_the_side_is_written_and_read_again(tmp_path: Path, side: str | None) -> None:
    """Whatever side a tire is read for, the file that is written of it gives the same forces for both sides."""
    path, again = written(tmp_path), tmp_path / "again.tir"
    tire = dr.contact.read_tir(path, side=side)
    dr.contact.write_tir(tire, again)
    assert dr.contact.read_tir(again) == tire and tire.side == (side or "left")
    for wanted in ("left", "right"):
        one, two = (float(dr.contact.read_tir(file, side=wanted).forces(4000.0).lateral) for file in (path, again))
        assert one == two != 0.0
    other = tire.on_other_side()
    assert law_of(Entry("tire", law_table(other))) == other
    assert other.side != tire.side and other.on_other_side() == tire
    dr.contact.write_tir(other, again)
    assert dr.contact.read_tir(again) == other == dr.contact.read_tir(path, side=other.side)


def test_options_without_a_key_are_named(tmp_path: Path) -> None:
    options = {"variant": "book", "rigid": True, "transient": False}
    given = drawn("6.1", 1) | {"VERTICAL_STIFFNESS": 2e5, "LONGITUDINAL_STIFFNESS": 3e5, "LATERAL_STIFFNESS": 1e5}
    path = tmp_path / "book.tir"
    tire = dr.contact.MagicFormula("6.1", given, settling=0.1, **options)
    with pytest.warns(UserWarning, match="no key for variant='book', transient=False, rigid=True, settling=0.1; set it again"):
        dr.contact.write_tir(tire, path)
    assert path.read_text().startswith("$ without a key: variant='book'")
    again = dr.contact.read_tir(path, **options)
    assert float(again.forces(4000.0, 0.02, 0.03).lateral) == float(tire.forces(4000.0, 0.02, 0.03).lateral)


def test_keys_that_are_not_used_are_named(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"own.tir: not used by version 6.1: PKY9 \[LATERAL_COEFFICIENTS\], COLOR \[PAINT\]"):
        dr.contact.read_tir(written(tmp_path, FILE + "PKY9 = 1\n[PAINT]\nCOLOR = 'black'\n"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("PKY2 = 2.0", "PKY2 = two", r"own.tir, line 30: PKY2 must be a number, got 'two'"),
        ("PKY2 = 2.0", "PKY2 = nan", r"line 30: PKY2 is not finite"),
        ("PKY2 = 2.0", "PKY2 =", r"line 30: PKY2 has no value"),
        ("PKY2 = 2.0", "PKY2 2.0", r"line 30: expected KEY = value, got 'PKY2 2.0'"),
        ("PKY2 = 2.0", "PDY1 = 2.0", r"line 30: PDY1 is given a second time, after line 28"),
        ("[MODEL]", "[MODEL", r"line 9: the header '\[MODEL' has no closing bracket"),
        ("FNOMIN = 4\n", "", "FNOMIN, the nominal load, is missing"),
        ("FITTYP = 61 ", "FITTYP = 62 ", r"line 10: FITTYP 62 is not supported"),
        ("FITTYP = 61 ", "", "neither FITTYP nor PROPERTY_FILE_FORMAT"),
        ("FORCE = 'kN'", "FORCE = 'stone'", r"line 6: unit 'stone' of FORCE is unknown"),
        ("ALPMIN = -12", "ALPMIN = 13", r"line 24: ALPMIN exceeds ALPMAX"),
        ("PKY1 = -1.5D1", "PKY1 = 1.5D1", r"own.tir: MagicFormula: PKY1 = 15 has the other sign in tire files"),
    ],
)
def test_damaged_files_are_refused_by_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in FILE
    with pytest.raises(DataError, match=says):
        dr.contact.read_tir(written(tmp_path, FILE.replace(old, new)))


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.tir"
    with pytest.raises(DataError, match="cannot be read"):
        dr.contact.read_tir(path)
    path.write_bytes(b"\x00\x01PK")
    with pytest.raises(DataError, match="contains zero bytes"):
        dr.contact.read_tir(path)
    path.write_text("")
    with pytest.raises(DataError, match="contains no values"):
        dr.contact.read_tir(path)
    path.write_bytes(b"A = 1\n" * 200_000)
    with pytest.raises(DataError, match="larger than"):
        dr.contact.read_tir(path)


def test_curves_can_be_drawn(tmp_path: Path) -> None:
    dr.contact.read_tir(written(tmp_path)).plot([2000.0, 4000.0]).save(tmp_path / "tire.png")
    assert (tmp_path / "tire.png").stat().st_size > 10_000


def test_turn_slip_is_refused_by_name(tmp_path: Path) -> None:
    """A file that asks for it is refused, and its coefficients are named; with zeros, or none, there is nothing to say."""
    turning = FILE.replace("USE_MODE = 14", "USE_MODE = 25")
    with pytest.raises(DataError, match=r"own.tir, line 12: USE_MODE 25 asks for turn slip, which is not modeled"):
        dr.contact.read_tir(written(tmp_path, turning))
    coefficients = "[TURNSLIP_COEFFICIENTS]\nPDXP1 = 0.4\nPKYP1 = 0\nQDTP1 = 10\n"
    with pytest.warns(UserWarning, match="turn slip is not modeled; left out: PDXP1, QDTP1$"):
        tire = dr.contact.read_tir(written(tmp_path, turning + coefficients), ignore_turn_slip=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tire == dr.contact.read_tir(written(tmp_path))
    with pytest.warns(UserWarning, match="USE_MODE 3 asks for forces without combined slip only"):
        dr.contact.read_tir(written(tmp_path, FILE.replace("USE_MODE = 14", "USE_MODE = 3")))
