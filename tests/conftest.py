"""What makes a run of the tests quick; what each worker of it does first.

- Kernels are compiled at LLVM's lowest level: most tests call a kernel a few times, and compiling took a fifth of the time. The
  tests of `codegen` are about the code that users get and compile at its level; so do tests marked `long` or
  `further` by hand, which run more.
- Linear algebra runs on one thread per process: the workers fill the cores already. Two workers with two threads each wait
  for each other at every product, and a singular value decomposition of 60 rows takes 100 ms of processor time in place of 0.4.
- Equations stay in memory: no process derives the same twice. Across processes and clones they are found on disk.
- The loops that every machine compiles once are shared out among the workers, so that no two compile the same; so are the test
  modules whose asserts pytest rewrites, which takes as long as all their imports.
- `make test` leaves out tests marked `long`: pages of the documentation, browsers, packages; and `further`: studies whose methods
  have shorter tests, and further cases of tests that cost more than a moment (`schedule.py`).
- Every worker begins with dear tests, and ends with cheap ones.
"""

from __future__ import annotations

import gc
import inspect
import os
import sys
import time
import warnings
from collections.abc import Generator, Iterable
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _rewrite_test, _write_pyc, assertstate_key, get_cache_dir, try_makedirs
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from draisine.cli.warm import LOOPS
from schedule import by_hand, dear_first, mark, read

LEVEL = os.environ.setdefault("DRAISINE_KERNEL_LEVEL", "0")  # for the processes that tests start, too
for library in (
    "OPENBLAS",
    "MKL",
    "OMP",
    "VECLIB",
):  # read by workers, which begin after this; this process has loaded NumPy already
    os.environ.setdefault(f"{library}_{'MAXIMUM' if library == 'VECLIB' else 'NUM'}_THREADS", "1")

# Neither seconds decide a test, for a machine may be busy, nor chance: Hypothesis draws the same examples everywhere.
# It would also take constants from the sources that a process happens to have loaded, which are others in every run of the
# workers; reading them takes three seconds of each.
settings.register_profile(
    "reproducible", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, database=None
)
settings.load_profile("reproducible")
if hasattr(providers, "_get_local_constants"):
    NO_CONSTANTS = providers.Constants()
    providers._get_local_constants = lambda: NO_CONSTANTS
# Nor do the seconds decide that a refinement may take by default: where they run out, the solution is another one.
UNHURRIED = 3600.0
started = inspect.unwrap(import_module("draisine.optimal.refinement").Refinement.__init__)
assert started.__defaults__[-1] == 60.0
started.__defaults__ = (*started.__defaults__[:-1], UNHURRIED)

# Users look at few models, which the caches of derived equations and kernels hold; the tests of a process come back to hundreds.
for module in map(import_module, ("draisine.dynamics.derive", "draisine.codegen.equation_cache", "draisine.codegen.jit.engine")):
    for name, found in list(vars(module).items()):
        if hasattr(found, "cache_parameters") and found.cache_parameters()["maxsize"]:
            setattr(module, name, lru_cache(maxsize=500)(found.__wrapped__))

PATIENCE = 300.0  # seconds for another worker's share; then one goes on, and makes what is missing when it is needed

SHARES = {  # about the same time
    "gw0": ("contacts that open", "implicit methods"),
    "gw1": ("starts", "explicit methods", "ensembles", "switching"),
}


def _make(share: tuple[str, ...]) -> None:
    try:
        for name in share:
            LOOPS[name]()
    except Exception as wrong:  # no reason to run no test at all
        warnings.warn(f"not compiled ahead: {wrong!r}; the tests that need it will say more", stacklevel=1)


def _rewrite(modules: Iterable[Path], config: pytest.Config) -> None:
    """Put test modules with rewritten asserts where pytest finds them, but for those that it has, be they of an older text."""
    for module in modules:
        folder = get_cache_dir(module)
        rewritten = folder / f"{module.stem}{PYC_TAIL}"
        if not rewritten.exists() and try_makedirs(folder):
            digest, code = _rewrite_test(module, config)
            _write_pyc(config.stash[assertstate_key], code, digest, rewritten)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    worker, count = os.environ.get("PYTEST_XDIST_WORKER"), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if worker is None or count < len(SHARES):
        return
    place: Path = session.config._tmp_path_factory.getbasetemp().parent  # type: ignore[attr-defined]
    done = [place / f"gw{number} has made its share" for number in range(count)]
    number = int(worker.removeprefix("gw"))
    if number < count:  # not one that takes the place of another
        _make(SHARES.get(worker, ()))
        if assertstate_key in session.config.stash and not sys.dont_write_bytecode:
            _rewrite(sorted(Path(__file__).parent.rglob("test_*.py"))[number::count], session.config)
        done[number].touch()
    begun = time.monotonic()
    while not all(path.exists() for path in done) and time.monotonic() - begun < PATIENCE:
        time.sleep(0.1)
    for share in SHARES.values():
        _make(share)  # from the disk by now, and kept: tests with a store of their own do not ask it for them


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Set before the fixtures of a test, which compile as well."""
    if not by_hand(item):
        return (yield)
    os.environ["DRAISINE_KERNEL_LEVEL"] = max(LEVEL, "1")
    try:
        return (yield)
    finally:
        os.environ["DRAISINE_KERNEL_LEVEL"] = LEVEL


@pytest.fixture
def shipped_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are compiled as users get them: for tests of the code itself, and of steps whose choice hangs on last digits."""
    monkeypatch.delenv("DRAISINE_KERNEL_LEVEL", raising=False)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Modules of tests have no examples in their docstrings: looking for them takes a tenth of the collection."""
    return [found for found in (yield) if not isinstance(found, DoctestModule)]


@pytest.hookimpl(tryfirst=True)  # before cases are left out by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark(items, read())


@pytest.hookimpl(wrapper=True, specname="pytest_collection_modifyitems")
def order_of_items(items: list[pytest.Item]) -> Generator[None, None, None]:
    """The cases that are left, in an order in which no worker ends alone."""
    yield
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        items[:] = dear_first(items, read(), workers)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of modules and collected tests are nothing for the garbage collector to walk through again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()
