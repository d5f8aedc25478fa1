"""Figures of the tests: how long the quick ones take, and how many there are."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from figure import Figure

ROOT = Path(__file__).parents[1]


def figures() -> Iterator[Figure]:
    """`make test`; the environment is made first, and not counted."""
    # make of the benchmark hands its own variables on
    surroundings = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "PYTHONPATH")}
    subprocess.run(["make", "--silent", ".venv/.test"], cwd=ROOT, env=surroundings, check=True)
    began = time.perf_counter()
    done = subprocess.run(["make", "--silent", "test"], cwd=ROOT, env=surroundings, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    counts = {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|error)", done.stdout.splitlines()[-1])}
    yield Figure("`make test`", seconds, "s")
    yield Figure("`make test`: tests that pass", counts.get("passed", 0))
    if done.returncode:
        which = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, flags=re.MULTILINE)
        raise RuntimeError(f"tests fail: {', '.join(which[:5])}{' …' if len(which) > 5 else ''}")
