"""Threads: order of results, exceptions, cancellation, rows in parts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

from draisine.numerics.parallel import Job, map_in_threads, one_after_the_other, split_rows


def test_results_keep_the_order_of_the_items() -> None:
    def slow_first(k: int) -> int:
        time.sleep(0.02 if k % 4 == 0 else 0.0)
        return k * k

    assert list(map_in_threads(slow_first, range(20), threads=3, ahead=6)) == [k * k for k in range(20)]


def test_no_more_than_asked_is_begun_ahead() -> None:
    begun: list[int] = []
    results = map_in_threads(lambda k: begun.append(k) or k, range(100), threads=2, ahead=4)
    assert next(results) == 0
    time.sleep(0.05)
    assert len(begun) <= 5
    results.close()


def test_an_exception_comes_to_the_caller_and_the_rest_is_dropped() -> None:
    done: list[int] = []
    canceled: list[bool] = []

    def fails_at_three(k: int) -> int:
        if k == 3:
            raise ValueError("three")
        done.append(k)
        return k

    results = map_in_threads(fails_at_three, range(1000), threads=1, ahead=5, cancel=lambda: canceled.append(True))
    with pytest.raises(ValueError, match="three"):
        list(results)
    assert canceled == [True] and len(done) < 12


def test_stopping_early_cancels_and_waits() -> None:
    begun, stop, ended = threading.Event(), threading.Event(), threading.Event()

    def until_stopped(k: int) -> int:
        if k:
            begun.set()
            stop.wait(5.0)
            ended.set()
        else:
            begun.wait(5.0)
        return k

    results = map_in_threads(until_stopped, range(3), threads=2, ahead=1, cancel=stop.set)
    assert next(results) == 0
    results.close()
    assert stop.is_set() and ended.is_set()


@pytest.mark.parametrize("each", [1, 3, 10, 100])
def test_rows_in_parts_are_all_there(each: int) -> None:
    a, b = np.arange(20.0).reshape(10, 2), np.arange(10.0)
    parts = split_rows(lambda rows: rows[0].sum(axis=1) + rows[1], [a, b], each)
    assert len(parts) == -(-10 // each)
    np.testing.assert_array_equal(np.concatenate(parts), a.sum(axis=1) + b)


def test_a_failing_part_is_heard_of() -> None:
    def refuse(rows: list[np.ndarray]) -> float:
        if rows[0][0] > 0:
            raise ZeroDivisionError
        return 0.0

    with pytest.raises(ZeroDivisionError):
        split_rows(refuse, [np.arange(4.0)], 2)


@dataclass(frozen=True)
class Doubled:
    def begin(self) -> Callable[[int], int]:
        return lambda piece: 2 * piece


def test_a_job_runs_on_any_executor() -> None:
    with ThreadPoolExecutor(2) as pool:
        assert dict(Job.of(Doubled()).run(range(30), pool)) == {k: 2 * k for k in range(30)}
        few = Job.of(Doubled()).run(range(1000), pool)
        assert next(few)[1] in range(0, 10, 2)
        few.close()  # what is under way is canceled


def test_functions_are_called_while_the_next_are_made() -> None:
    called, first = list[int](), threading.Event()

    def function(k: int) -> Callable[[], int]:
        def call() -> int:
            called.append(k)
            first.set()
            return k * k

        return call

    def functions() -> Iterator[Callable[[], int]]:
        yield function(0)
        assert first.wait(30.0)  # before the others are made
        yield from map(function, range(1, 5))

    assert [made.result() for made in one_after_the_other("some", functions())] == [0, 1, 4, 9, 16]
    assert called == [0, 1, 2, 3, 4]


def test_what_cannot_be_made_is_raised() -> None:
    def functions() -> Iterator[Callable[[], int]]:
        yield lambda: 1
        raise ZeroDivisionError("not made")

    with pytest.raises(ZeroDivisionError, match="not made"):
        one_after_the_other("some", functions())
