"""Generated files as they were reviewed. After a change that is meant, run with UPDATE_GOLDEN=1 and read the diff."""

from __future__ import annotations

import os
from pathlib import Path

import export_samples as samples
import pytest

from draisine.codegen.export.languages import LANGUAGES
from draisine.codegen.export.source import file_name, source_text

GOLDEN = Path(__file__).parent / "golden"


def compare(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"  # so that no tool takes it for code of ours
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8", newline="\n")
    assert path.is_file(), f"{name} is new: write it with UPDATE_GOLDEN=1 and read it"
    assert text == path.read_text(encoding="utf-8"), f"{name} has changed; if this is meant, UPDATE_GOLDEN=1 writes it anew"


@pytest.mark.parametrize("key", list(LANGUAGES))
def test_sample(key):
    program = samples.sample()
    compare(file_name(program, LANGUAGES[key]), source_text(program, LANGUAGES[key], samples.sample_guide()))


@pytest.mark.parametrize("key", list(LANGUAGES))
def test_solved(key):
    program = samples.solved()
    compare(file_name(program, LANGUAGES[key]), source_text(program, LANGUAGES[key]))


@pytest.mark.parametrize("key", list(LANGUAGES))
def test_the_same_text_every_time(key):
    first, second = (source_text(samples.calling(), LANGUAGES[key]) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("key", list(LANGUAGES))
def test_every_argument_is_documented(key):
    text = source_text(samples.sample(), LANGUAGES[key], samples.sample_guide())
    for reported in (
        "lean [rad] = 0.1: of the frame, positive to the right",
        "speed [m/s] = 4.6: forward",
        "force [N]",
        "moment [N*m]",
    ):
        assert reported in text
    assert "m (2 × 3)" in text and "t [s]" in text and "a bit of everything" in text


def test_golden_files_are_all_in_use():
    used = {file_name(make(), language) for make in (samples.sample, samples.solved) for language in LANGUAGES.values()}
    assert {path.name.removesuffix(".txt") for path in GOLDEN.iterdir()} == used
