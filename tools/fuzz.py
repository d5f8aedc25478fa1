"""Mutated model files: whatever a file holds, it is read, derived and run, or refused by a `ModelError`.

    make fuzz                                       # 100,000 files, on all cores
    python -m tools.fuzz --files 5000 --seed 7      # others; --only bicycle:123 repeats one

The files are those of the gallery with values, keys and texts deleted, replaced, renamed, wrapped, scaled or taken from
elsewhere, and files that are long or deep. A failure is another exception, a message without file or longer than a screen, or a
file that takes more than five seconds to be read or refused. `tests/model/test_hostile_files.py` tries a few of them in each run
of the tests.
"""

from __future__ import annotations

import argparse
import copy
import os
import random
import re
import sys
import time
import tomllib
import traceback
import warnings
from collections import Counter
from functools import cache
from multiprocessing import Pool
from typing import Any

import draisine as dr
from draisine.dynamics.derive import derive
from draisine.errors import DraisineError, ModelError
from draisine.model.files import from_toml, to_toml
from draisine.model.model import Model
from draisine.model.toml_files import inline

LONGEST = 12_000  # characters: of longer files the gallery has shorter relatives
WHERE = re.compile(r"hostile\.toml(, line \d+(, column \d+)?)?: ")

# what is put in place of a value, as TOML writes it
ODD = (
    *("0", "-1", "1e308", "1e-308", "nan", "inf", "true", "99999999999999999999", "1979-05-27", "[]", "{}", "[1]", "[0, 0, 0]"),
    *('""', '"x"', '"pi"', '"t"', '"ground"', '"a b"', '"é"', '"\\u0000"', '"1 m"', '"3 kg"', '"1/0"', '"0/0"', '"1e400"'),
    *('"sqrt(-1)"', '"log(0)"', '"acos(2)"', '"atan2(0,0)"', '"t^t"', '"rate(1)"', '"where(t,1,0)"', '"((((1))))"', '"-"'),
)
NAMES = (
    "x",
    "ground",
    "1a",
    "",
    "a b",
    "t",
    "é",
    "pi",
    "sin",
    "name",
    "__x",
    "a" * 300,
    "-1e99e",
    "1e5",
    "0x1",
    "a.b",
    "nan",
    "-",
    "\x1b[2J",
)
LETTERS = "abxyz019eE+-*/^().,_ \t\n\"'[]{}#=<>é\u2028\x00\x1b"
WRAPPED = ("0*({})", "1/({})", "({})/0", "sqrt({})", "1e300*({})", "log({})", "rate({})", "({})*t", "{} + nobody")
FACTORS = (0.0, -1.0, 1e9, 1e-9, 1e150, 1e-150)


class Raw(str):
    """A value as TOML writes it."""


@cache
def files() -> dict[str, str]:
    made = {name: dr.gallery.model(name) for name in dr.gallery.models()}
    texts = {name: to_toml(model) for name, model in made.items() if isinstance(model, Model)}
    return {name: text for name, text in texts.items() if len(text) < LONGEST}


def places(table: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = table.items() if isinstance(table, dict) else enumerate(table) if isinstance(table, list) else ()
    return [place for key, value in items for place in ((*path, key), *places(value, (*path, key)))]


def at(content: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        content = content[key]
    return content


def written(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{inline(str(key))} = {written(item)}" for key, item in value.items()) + " }"
    return "[" + ", ".join(map(written, value)) + "]" if isinstance(value, list) else inline(value)


def text_of(content: dict[str, Any]) -> str:
    lines = [f"{inline(str(key))} = {written(value)}" for key, value in content.items() if not isinstance(value, dict)]
    for key, value in content.items():
        if isinstance(value, dict):
            lines += [f"[{inline(str(key))}]", *(f"{inline(str(name))} = {written(item)}" for name, item in value.items())]
    return "\n".join(lines) + "\n"


def changed(content: dict[str, Any], pick: random.Random) -> None:
    """One change: a value or key deleted, replaced, renamed, edited, wrapped, scaled, cut, or taken from elsewhere."""
    found = places(content)
    if not found:
        return
    path = pick.choice(found)
    parent, key, value = at(content, path[:-1]), path[-1], at(content, path)
    kind = pick.randrange(8)
    if kind == 0:
        del parent[key]
    elif kind == 1:
        parent[key] = Raw(pick.choice(ODD))
    elif kind == 2 and isinstance(key, str):
        parent[pick.choice(NAMES)] = parent.pop(key)
    elif kind == 3:
        parent[key] = copy.deepcopy(at(content, pick.choice(found)))
    elif kind == 4 and isinstance(key, str):
        parent[edited(key, pick)] = parent.pop(key)
    elif kind == 5 and isinstance(value, list):
        parent[key] = pick.choice((value[:-1], value[1:], value + value[-1:], value * 2, [value]))
    elif kind == 6 and isinstance(value, int | float) and not isinstance(value, bool):
        parent[key] = pick.choice((-1, 1)) * 10.0 ** pick.uniform(*pick.choice(((-2, 2), (-12, 12), (-320, 308))))
    elif kind == 6 and isinstance(value, str) and not isinstance(value, Raw):
        parent[key] = edited(value, pick)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        parent[key] = value * pick.choice(FACTORS)
    elif isinstance(value, str) and not isinstance(value, Raw):
        parent[key] = pick.choice(WRAPPED).format(value)


def edited(text: str, pick: random.Random) -> str:
    """A text with a few letters deleted, inserted or doubled."""
    for _ in range(pick.choice((1, 1, 2, 5))):
        begin = pick.randrange(len(text) + 1)
        end = min(len(text), begin + pick.choice((0, 1, 1, 4)))
        text = text[:begin] + pick.choice(("", pick.choice(LETTERS), text[begin:end] * 2)) + text[end:]
    return text


def is_scaled(seed: int) -> bool:
    """Whether only numbers are changed; such files are read more often, and a share of them is derived."""
    return seed % 5 == 0


def hostile(name: str, seed: int) -> str:
    """The file of a model, changed."""
    pick, text = random.Random(seed), files()[name]
    if is_scaled(seed):
        content = tomllib.loads(text)
        numbers = [p for p in places(content) if isinstance(at(content, p), float | int) and not isinstance(at(content, p), bool)]
        for path in pick.sample(numbers, min(len(numbers), pick.choice((1, 1, 2, 4)))):
            at(content, path[:-1])[path[-1]] *= 10.0 ** pick.uniform(*pick.choice(((-1, 1), (-8, 8))))
        return text_of(content)
    if pick.random() < 0.05:
        return edited(text, pick)
    if pick.random() < 0.1:  # a file that was cut, or has a letter too much
        begin = pick.randrange(len(text))
        end = pick.choice((len(text), min(len(text), begin + 20)))
        return text[:begin] + pick.choice(("", "\x00", '"', "[", "=", "é")) + text[end:]
    content = tomllib.loads(text)
    for _ in range(pick.choice((1, 1, 2, 3))):
        changed(content, pick)
    return text_of(content)


PATIENCE = 5.0  # seconds of CPU to read or refuse a file below 1 MB
SCREEN = 24 * 80  # characters of a message
DERIVED, RUN = 0.2, 0.1  # the share of files with scaled numbers that are derived, or derived and run


def fate(name: str, seed: int) -> str:
    """What becomes of a file: "refused", "read", "derived" or "run"; anything else is the description of a failure."""
    text, pick = hostile(name, seed), random.Random(seed)
    began = time.process_time()
    try:
        model = from_toml(text, "hostile.toml")
    except ModelError as refused:
        message = str(refused)
        if not WHERE.match(message):
            return f"a message without its file: {message[:200]}"
        if len(message) > SCREEN:
            return f"a message of {len(message)} characters: {message[:200]}"
        return "refused" if time.process_time() - began < PATIENCE else f"refused after {time.process_time() - began:.1f} s"
    except BaseException as problem:
        return described(problem)
    if time.process_time() - began > PATIENCE:
        return f"read after {time.process_time() - began:.1f} s"
    chance = pick.random()
    if chance > (DERIVED if is_scaled(seed) else 0.02):
        return "read"
    return _further(model, chance < RUN)


def _further(model: Model, run: bool) -> str:
    try:
        equations = derive(model)
    except ModelError:
        return "refused"
    except BaseException as problem:
        return described(problem)
    if not run:
        return "derived"
    try:
        dr.simulate(equations, 1e-3, method=dr.methods.DOP853(max_steps=200), samples=2)
    except DraisineError:  # no consistent start
        return "refused"
    except BaseException as problem:
        return described(problem)
    return "run"


def described(problem: BaseException) -> str:
    own = [frame for frame in traceback.extract_tb(problem.__traceback__) if "draisine" in frame.filename]
    at = f" in {os.path.basename(own[-1].filename)}, line {own[-1].lineno}" if own else ""
    return f"{type(problem).__name__}{at}: {str(problem)[:200]}"


def _one(task: tuple[str, int]) -> tuple[str, int, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (*task, fate(*task))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="MODEL:SEED", help="one file: print it and what becomes of it")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    given = parser.parse_args()
    if given.only:
        name, _, seed = given.only.partition(":")
        print(hostile(name, int(seed)))
        print(fate(name, int(seed)))
        return 0
    names = sorted(files())
    tasks = ((names[k % len(names)], given.seed + k) for k in range(given.files))
    fates: Counter[str] = Counter()
    failures = []
    with Pool(given.processes) as pool:
        for name, seed, found in pool.imap_unordered(_one, tasks, chunksize=50):
            known = found in ("refused", "read", "derived", "run")
            fates[found if known else "failed"] += 1
            if not known:
                failures.append(f"{name}:{seed}: {found}")
                print(failures[-1], file=sys.stderr, flush=True)
    print(", ".join(f"{count:,} {kind}" for kind, count in sorted(fates.items())))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
