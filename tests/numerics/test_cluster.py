"""Pieces of work on a real cluster of processes, of which some are killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import draisine as dr
from draisine.errors import SimulationError
from draisine.numerics.parallel import Job
from draisine.simulation.ensemble.result import Ensemble

distributed = pytest.importorskip("distributed", reason="pip install distributed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@dataclass(frozen=True)
class Squares:
    """Notes in a folder which process began it, and which did what."""

    folder: str
    pause: float = 0.0

    def begin(self) -> Callable[[int], int]:
        Path(self.folder, f"begun-{os.getpid()}-{time.monotonic_ns()}").touch()

        def one(piece: int) -> int:
            time.sleep(self.pause)
            return piece * piece

        return one


@dataclass(frozen=True)
class EndsItsProcess:
    def begin(self) -> Callable[[int], int]:
        def one(piece: int) -> int:
            os._exit(1)

        return one


def test_pieces_come_back_with_their_numbers_and_each_process_begins_once(client: Any, tmp_path: Path) -> None:
    assert dict(Job("squares", Squares(str(tmp_path))).run(range(40), client)) == {k: k * k for k in range(40)}
    begun = [name.name.split("-")[1] for name in tmp_path.iterdir()]
    assert len(begun) == len(set(begun)) <= 2
    assert str(os.getpid()) not in begun


def test_the_work_of_a_killed_worker_is_done_by_others(client: Any, tmp_path: Path) -> None:
    found = {}
    for number, square in Job("slow squares", Squares(str(tmp_path), pause=0.05)).run(range(30), client):
        found[number] = square
        if len(found) == 6:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    assert found == {k: k * k for k in range(30)}


def test_a_pool_of_processes_does_as_well(tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert dict(Job("pool", Squares(str(tmp_path))).run(range(9), pool)) == {k: k * k for k in range(9)}
        with pytest.raises(SimulationError, match=r"a process of the pool died during piece \d.*Dask cluster"):
            list(Job("ends", EndsItsProcess()).run(range(3), pool))


def test_what_is_no_cluster_is_refused() -> None:
    with pytest.raises(TypeError, match=r"on: expected a distributed\.Client or an executor.*got str"):
        Job("nothing", Squares("")).run(range(3), "tcp://somewhere")


def test_a_stability_map_is_the_same_wherever_it_is_judged(client: Any) -> None:
    over = {"speed": (0.5, 10.0, 40), "trail": (0.02, 0.14, 25)}
    here = dr.stability.stability_map(dr.gallery.bicycle(), over, states=("lean", "steer"))
    there = dr.stability.stability_map(dr.gallery.bicycle(), over, states=("lean", "steer"), chunk=150, on=client)
    assert {"stable", "weave", "capsize"} <= {name for name, share in here.share.items() if share > 0.05}
    np.testing.assert_array_equal(there.kind, here.kind)
    np.testing.assert_array_equal(there.static, here.static)


def test_searches_for_an_optimum_are_the_same_wherever_they_are_made(client: Any) -> None:
    m = dr.Model("cart", "a mass on a rail")
    m.prismatic("place", "ground", m.body("cart", mass=1.0), axis="x")
    push = m.input("push", "N")
    m.generalized_force("place", push)
    across = (
        dr.maneuver(m).start(place=0, place_rate=0).bounds(push=(-2, 2)).duration(2.0).minimize(final="cos(3*place) + 0.1*place")
    )
    guesses = [dr.guess.ConstantGuess(inputs={"push": p}) for p in (-1.0, 1.0, 0.4)]
    here, there = (dr.optimal.multistart(across, guesses, method=dr.optimal.Adjoint(pieces=2), on=on) for on in (None, client))
    assert len(here.minima) == 3
    assert [a.number for a in there.attempts] == [a.number for a in here.attempts]
    for one, other in zip(here.attempts, there.attempts, strict=True):
        np.testing.assert_array_equal(one.solution.answer.w, other.solution.answer.w)
        np.testing.assert_array_equal(one.solution["place"], other.solution["place"])


KNOCKS = {
    "cases": {"roll_rate": dr.distributions.Normal(0.0, 2.0), "m_frame": dr.distributions.Uniform(70.0, 100.0)},
    "runs": 600,
    "seed": 8,
    "until": 1.0,
}
KEPT = {"start": {"speed": 5.0}, "outputs": ["lean", "steer"], "tolerance": 1e-6, "chunk": 40}


@pytest.fixture(scope="module")
def here() -> Ensemble:
    return dr.ensemble(dr.gallery.bicycle(), **KNOCKS, **KEPT)


def test_an_ensemble_is_the_same_though_a_worker_is_killed_in_the_middle(client: Any, here: Ensemble) -> None:
    killed: list[int] = []

    def kill(progress: Any) -> None:
        if progress.values["done"] >= 160 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    there = dr.ensemble(dr.gallery.bicycle(), **KNOCKS, **KEPT, on=client, progress=kill)
    assert killed and there.complete and len(there) == 600
    assert set(here.statuses) == {"EVENT", "FINISHED"}
    assert there.to_pandas().equals(here.to_pandas())
    assert there.statistics == here.statistics


def test_an_ensemble_elsewhere_goes_into_folders_and_is_taken_up_again(client: Any, here: Ensemble, tmp_path: Path) -> None:
    def impatient(progress: Any) -> None:
        if progress.values["done"] >= 200:
            raise KeyboardInterrupt

    part = dr.ensemble(dr.gallery.bicycle(), **KNOCKS, **KEPT, on=client, out=tmp_path / "k.zarr", progress=impatient)
    assert not part.complete and len(part) == 200
    whole = dr.ensemble(dr.gallery.bicycle(), **KNOCKS, **KEPT, on=client, out=tmp_path / "k.zarr")
    assert whole.complete and whole.to_pandas().equals(here.to_pandas())


def test_fits_from_several_starts_are_the_same_wherever_they_are_made(client: Any) -> None:
    from sympy import sin
    from sympy.abc import s, t, w

    swing = dr.first_order("swing", {s: w * sin(w * t)}, parameters={w: 2.0}, start={s: 0.0})
    times = np.linspace(0.0, 3.0, 61)
    data = {"time": times, "s": 1.0 - np.cos(3.1 * times)}
    given = {"unknown": {"w": (0.5, 8.0)}, "measured": {"s": ("s", 0.01)}, "starts": dr.estimation.MultiStart(6, seed=1)}
    here, there = (dr.estimate(swing, data, **given, on=on) for on in (None, client))
    assert here["w"] == pytest.approx(3.1, abs=1e-7)
    assert len({round(trial.end[0], 3) for trial in here.trials}) > 1
    assert there.trials == here.trials and there["w"] == here["w"]
