"""Mutated robot files: each is read, or refused with the file; nothing else is raised."""

from __future__ import annotations

import random
import re
import sys
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from mjcf_trees import random_mjcf
from urdf_trees import random_urdf

import draisine as dr
from draisine.errors import ModelError

LETTERS = ("", '"', "<", ">", "&", "0", "-", "é", "nan", "1e400", " ", "inf")
VALUES = ('""', '"0 0 0"', '"1e308"', '"-1"', '"ground"', '"a b"', '"0"', '"1e-320"')


def mutated(text: str, rng: random.Random) -> str:
    for _ in range(rng.randrange(1, 4)):
        way = rng.random()
        if way < 0.3:
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(LETTERS) + text[at + 1 :]
            continue
        found = [m.span() for m in re.finditer(r'"[^"]*"' if way < 0.7 else r"<[^>]*/>", text)] or [(0, 0)]
        first, last = rng.choice(found)
        other = text[slice(*rng.choice(found))]
        new = rng.choice([*VALUES, other]) if way < 0.7 else rng.choice(["", 2 * text[first:last]])
        text = text[:first] + new + text[last:]
    return text


@pytest.mark.parametrize(("reader", "writer"), [(dr.read_urdf, random_urdf), (dr.read_mjcf, random_mjcf)])
def test_mutated_files_are_read_or_refused(reader, writer, tmp_path):
    rng = random.Random(7)
    path = tmp_path / "robot.xml"
    read = 0
    for _ in range(150):
        path.write_text(mutated(writer(rng.randrange(100), terms=rng.random() < 0.5), rng), encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read += bool(reader(path).freeze().bodies)
            except ModelError as problem:
                assert str(problem).startswith(str(path))
    assert 10 < read < 140
