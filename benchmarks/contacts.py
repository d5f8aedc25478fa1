"""Figures of contacts that come and go: runs in one mode against ideal wheels, bounces, changes of modes, falls of a bicycle.

Times are processor times of long runs less those of short ones; those of changes of modes are times of single steps, and falls
are whole runs of ensembles.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import draisine as dr
from draisine.model.contact.dry_friction import dry_friction
from draisine.simulation.compiled_equations import VelocityChoices, prepare
from draisine.simulation.initial.consistent_start import consistent_start
from draisine.simulation.initial.problem import StartProblem
from draisine.simulation.methods.selection import Method
from draisine.simulation.methods.tableau import Advance
from draisine.simulation.result import Run
from draisine.simulation.run import _Driver, integrate
from draisine.simulation.stepper import layout
from draisine.simulation.stepper.layout import Stepper
from figure import AtLeast, AtMost, Figure
from optimized import warmed

KNOCK = {"speed": 4.6, "roll_rate": 0.5}
ROUNDS = 30
SHORT, LONG, EVEN = 5.0, 65.0, dr.methods.DOP853(max_step=0.05)
FALLS, UNTIL = 1000, 3.0  # so many that starts of threads and the last blocks of runs count for as little as in 100,000
COARSE = 1e-5  # relative tolerance, of falls whose motion after several impacts no tolerance determines
RANGES = {"speed": (0.5, 8.0), "roll_rate": (-2.0, 2.0), "steer": (-0.3, 0.3), "steer_rate": (-2.0, 2.0)}


def bicycle(friction: float, lands: float | None = None) -> dr.Model:
    """The benchmark bicycle with friction at its wheels; with `lands`, the friction of grips, pedals and saddle that land."""
    m = dr.gallery.bicycle()
    for name, wheel in m._items["wheels"].items():
        m._items["wheels"][name] = wheel._replace(friction=dry_friction(friction, 0.0, "energetic", name))
    if lands is None:
        return m
    m._items["events"].clear()  # a fall is no end
    for name, side in (("left", 1), ("right", -1)):
        m.contact(f"{name}_grip", m.point(f"{name}_end", "fork", (0.1, 0.3 * side, 0.7)), friction=lands)
        m.contact(f"{name}_pedal", m.point(f"{name}_foot", "frame", (0.4, 0.15 * side, 0.0)), friction=lands)
    m.contact("saddle", m.point("top", "frame", (0.3, 0.0, 0.6)), friction=lands)
    return m


class Timed:
    """Runs of one model from one start, everything compiled beforehand."""

    def __init__(self, model: dr.Model, start: Mapping[str, float], parameters: Mapping[str, float] | None = None) -> None:
        self.described = model
        equations = dr.derive(model)
        self._choices: VelocityChoices = prepare(equations)
        values = {q.name: q.default for q in equations.parameters} | dict(parameters or {})
        given = np.array([*values.values(), *(q.default for q in equations.mode_parameters)])
        begin = consistent_start(StartProblem(equations), dict(start), parameters=given)
        self._x, self._parameters = begin.x, begin.given[2]

    def run(self, until: float, method: Method | None = None) -> Run:
        samples = np.array([0.0, until])
        return integrate(self._choices, self._x, until, parameters=self._parameters, samples=samples, method=method)

    def seconds(self, until: float, method: Method | None = None) -> float:
        """Processor time of a run from its start."""
        begun = time.process_time()
        self.run(until, method)
        return time.process_time() - begun


def figures() -> Iterator[Figure]:
    yield from _one_mode()
    yield from _bounces()
    yield from _changes()
    yield from _falls()


def _one_mode() -> Iterator[Figure]:
    """Steps of equal length, many and few, so that starts are not counted; interleaved."""
    models = {
        "ideal": Timed(dr.gallery.bicycle(), KNOCK),
        "wheels": Timed(bicycle(0.9), KNOCK),
        "landing": Timed(bicycle(0.9, 0.3), KNOCK),
    }
    for model in models.values():
        warmed(partial(model.run, SHORT, EVEN))
    least = {(name, until): np.inf for name in models for until in (SHORT, LONG)}
    for _ in range(ROUNDS):
        for name, until in least:
            least[name, until] = min(least[name, until], models[name].seconds(until, EVEN))
    slope = {name: least[name, LONG] - least[name, SHORT] for name in models}
    calls = {name: _seconds_of_calls(model.described) for name, model in models.items()}
    evaluations = {name: model.run(20.0).evaluations for name, model in models.items()}
    for name, text in (("wheels", "two wheels"), ("landing", "two wheels and five points that may land")):
        share = evaluations[name] / evaluations["ideal"]
        yield Figure(f"bicycle that rolls with friction at {text}: evaluations, against ideal wheels", share, "", AtMost(1.05))
        yield Figure("the same, time of a step", slope[name] / slope["ideal"], "", AtMost(1.2))
        whole = least[name, SHORT] / least["ideal", SHORT]
        yield Figure(f"the same, a whole run of {SHORT:g} s with its start", whole, "", AtMost(1.2))
        yield Figure(f"the same, a call of simulate for {SHORT:g} s, with reports of all contacts", calls[name] / calls["ideal"])


def _seconds_of_calls(model: dr.Model) -> float:
    """Processor time of `simulate`: start, run, and the report at 501 samples."""

    def call() -> None:
        dr.simulate(model, SHORT, start=KNOCK)

    warmed(call)
    least = np.inf
    for _ in range(ROUNDS):
        begun = time.process_time()
        call()
        least = min(least, time.process_time() - begun)
    return float(least)


def _bounces() -> Iterator[Figure]:
    ball = Timed(dr.gallery.bouncing_ball(), {"z": 1.1, "x_rate": 3.0}, {"restitution": 0.99})
    spans = (20.0, 80.0)
    warmed(partial(ball.run, spans[0]))
    count = {until: len(ball.run(until).modes) for until in spans}
    least, read = dict.fromkeys(spans, np.inf), dict.fromkeys(spans, np.inf)
    for _ in range(ROUNDS):
        for until in spans:
            least[until] = min(least[until], ball.seconds(until))
            begun = time.process_time()
            assert ball.run(until).modes[-1].time <= until  # makes the record of every change
            read[until] = min(read[until], time.process_time() - begun)
    for text, taken in (("recorded by columns", least), ("each with a record that was read", read)):
        rate = 1e-3 * (count[80.0] - count[20.0]) / (taken[80.0] - taken[20.0])
        target = AtLeast(200) if taken is least else None
        yield Figure(f"ball that bounces: bounces per millisecond, {text}", rate, "", target)


def _random_falls() -> dict[str, NDArray[np.float64]]:
    rng = np.random.default_rng(20)
    return {name: rng.uniform(*between, FALLS) for name, between in RANGES.items()}


def _changes() -> Iterator[Figure]:
    """Steps of falls that end in a change of modes, less steps of the same method without one; one call of the loop for each."""
    starts = _random_falls()
    impacts: list[float] = []
    others: list[float] = []
    plain: list[float] = []
    fall = Timed(bicycle(0.6, 0.6), {name: float(column[0]) for name, column in starts.items()})
    original = _Driver._make_advance

    def one_by_one(driver: _Driver) -> Advance:
        advance = original(driver)

        def step(s: Stepper) -> int:
            before, done, s.budget = s.modes.change_count, s.accepted, 1
            begun = time.process_time()
            reason = advance(s)
            used = time.process_time() - begun
            explicit = not (s.paired and s.uses_implicit) and reason == layout.PAUSED and s.accepted > done > 0
            if explicit and s.modes.change_count > before:
                (impacts if s.modes.change_impulse[s.modes.change_count - 1].any() else others).append(used)
            elif explicit and not s.modes.usual:
                plain.append(used)
            return int(reason)

        return step

    warmed(partial(fall.run, UNTIL))
    with patch.object(_Driver, "_make_advance", one_by_one):
        for _ in range(ROUNDS):
            fall.run(UNTIL)
    for text, found in (("with an impact", impacts), ("without one", others)):
        cost = 1e6 * float(np.median(found) - np.median(plain))
        yield Figure(f"change of modes of a bicycle with seven contacts {text}, its location included", cost, "µs", AtMost(50))


def _falls() -> Iterator[Figure]:
    cases = {f"start.{name}": column for name, column in _random_falls().items()}
    model = bicycle(0.6, 0.6)
    few = {name: column[:8] for name, column in cases.items()}
    warmed(partial(dr.ensemble, model, UNTIL, cases=few, outputs=["lean"]))
    begun, clock = time.process_time(), time.perf_counter()
    found = dr.ensemble(model, UNTIL, cases=cases, outputs=["lean"])
    used, passed = time.process_time() - begun, time.perf_counter() - clock
    finished = float(np.mean(found["status"] == "FINISHED"))
    yield Figure(f"random falls of a bicycle × {UNTIL:g} s: share that reaches the end", finished, "", AtLeast(0.95))
    yield Figure("the same, falls per second of the clock", FALLS / passed, "", AtLeast(1700))
    yield Figure("the same, falls per second of one core", FALLS / used)
    coarse = dr.methods.Auto(rtol=COARSE, atol=1e-2 * COARSE)
    begun = time.process_time()
    found = dr.ensemble(model, UNTIL, cases=cases, outputs=["lean"], method=coarse)
    used = time.process_time() - begun
    finished = float(np.mean(found["status"] == "FINISHED"))
    text = f"the same with a relative tolerance of {COARSE:g}"
    yield Figure(f"{text}: share that reaches the end", finished, "", AtLeast(0.95))
    yield Figure(f"{text}, falls per second of one core", FALLS / used)


if __name__ == "__main__":
    for figure in figures():
        print(figure)
