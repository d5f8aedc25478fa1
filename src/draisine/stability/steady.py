"""Steady motions with named quantities fixed (`steady`): from a guess, by continuation from a straight motion, from more guesses.

Newton's method from the fixed quantities finds motions near the defaults. Others are connected with straight running, or rest,
by branches: hands-free turns of a bicycle leave straight running at its capsize speed. Where Newton's method fails, a turn or an
acceleration at a given speed is increased in steps from straight running; where that ends before its target, at the limit of
friction as a rule, so does the search. Otherwise the family of straight motions is followed over its speed, and the branches that
cross it up to the fixed value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from draisine.errors import ArgumentError, ModelError, SolverError, StartError
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import checked, numbers
from draisine.program.equations import Equations
from draisine.results.channel import HasState
from draisine.simulation.contact_margins import sliding_tires
from draisine.simulation.initial.scales import Scales
from draisine.stability.changing_ground import refuse_changing_ground
from draisine.stability.continuation.branch import Branch, continuation
from draisine.stability.continuation.problem import Range
from draisine.stability.continuation.special_points import BRANCH_POINT
from draisine.stability.linearization import explicit_equations_of, named_quantities, real_values
from draisine.stability.steady_problem import ACCELERATION, SPEED, SteadyMotion, accelerates, steady_near

GRAVITY = 9.81  # m/s², for the scale of speeds, √(gravity · length)
SPAN = 12.0  # speeds up to this multiple of the scale are searched
GUESSES = (1.0, 2.0, 4.0, 0.5, 8.0)  # speeds of the guesses, in scales
MOST_SWEPT = 3  # velocities over which straight motions are followed
REACHED = 1e-9  # relative difference at which a branch has reached a value
RAMPED = (ACCELERATION, "curvature", "yaw_rate", "lean")  # targets that are zero in straight running
RAMP, LEAST_RAMP = 0.25, 0.02  # steps in which they are increased
MOST_CROSSINGS = 3  # of a branch, tried
STRAIGHT = 1e-9  # 1/m: curvature below which messages speak of a straight path
FAILURES = (SolverError, StartError, ArgumentError, ModelError, np.linalg.LinAlgError)  # there is no such branch or guess


@checked
def steady(
    model: Model | System | Equations,
    fixed: Mapping[str, float] | None = None,
    *,
    free: Sequence[str] = (),
    near: Mapping[str, float] | HasState | None = None,
    parameters: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
) -> SteadyMotion:
    """The steady motion with named quantities fixed.

    - `fixed`: values of states, outputs of motion or inputs, e.g. `{"speed": 5, "lean": 0.2}`; `radius` is that of the path, for
      models with an output `curvature`. `acceleration` is the rate of the output `speed`: a machine that is braked or driven has
      no steady motion, but a trim, in which all velocities change in proportion (`draisine.stability.steady_problem`).
    - `free`: inputs or parameters that may take any value, e.g. `("steer_torque",)`, or `acceleration`; other inputs keep theirs.
    - `near`: where Newton's method starts: targets of a state, `{"lean": 0.1, "speed": 6}`, or a result (a motion, a special
      point, a run). It selects one of several motions. Without it the guess has the fixed quantities; if no motion is found
      there, straight motions and the branches that cross them are followed, then more speeds are tried.
    - `parameters`, `inputs`: values by name; the others have their defaults.

    A failed search (`draisine.errors.SolverError`) does not prove that there is no such motion: give `near`. Motions in which a
    tire slides with a slip ratio beyond ±1 are refused, unless `near` leads to them; then they have a warning.

    >>> import draisine as dr
    >>> turn = dr.steady(dr.gallery.bicycle(), {"speed": 5.0, "lean": 0.1}, free=("steer_torque", "pedal_torque"))
    >>> round(turn["steer"], 4), round(turn["steer_torque"], 4)
    (-0.042, 0.0863)
    >>> round(dr.steady(dr.gallery.bicycle(), {"lean": 0.1})["speed"], 4)  # without torques
    5.9929
    """
    refuse_changing_ground(model, fixed or {}, near)
    equations = explicit_equations_of(model)
    given = real_values(equations, "fixed quantity", fixed)
    targets = _with_curvature(equations, given)
    try:
        found = steady_near(equations, targets, free=free, near=near, parameters=parameters, inputs=inputs)
        return found if near is not None else _rolling(found)
    except SolverError as missing:
        failure = missing
    if near is None:
        ramp = _Ramp(equations, free, parameters, inputs)
        if (reached := ramp.found(targets)) is not None:
            return reached
        if ramp.limit:
            failure = failure.reworded(
                lambda text: f"{text}; increased from straight running, it was followed up to {ramp.limit}"
            )
        elif not accelerates(equations, (*targets, *free)):  # branches have none
            search = _Search(equations, targets, tuple(free), dict(parameters or {}), dict(inputs or {}))
            if (other := search.found()) is not None:
                return other
    raise failure if given == targets else failure.reworded(_by_radius, _by_radius)


def _rolling(motion: SteadyMotion) -> SteadyMotion:
    """The motion, unless a tire slides: beyond the limit of friction, wheels that spin up or down by their inertia solve the
    equations, at slips far from those of any machine."""
    sliding = sliding_tires(motion.values)
    if not sliding:
        return motion
    raise SolverError(
        f"{motion.equations.name}: in the motion that was found {', '.join(sliding)} "
        "(beyond ±1 a wheel turns backwards, or faster than twice its rolling)",
        nearest=(motion.x, motion.u, motion.p),
        cure="ask for less acceleration or a wider turn, or brake and drive more wheels; near=… also finds motions that slide",
    )


def _by_radius(text: str) -> str:
    """A message that speaks of the radius, which was given, instead of the curvature."""

    def inverse(match: re.Match[str]) -> str:
        curvature = float(match[1])
        return f"radius = {1.0 / curvature:.5g}" if abs(curvature) > STRAIGHT else "a straight path"

    return re.sub(r"\bcurvature = ([-+\d.e]+)", inverse, text)


class _Ramp:
    """The motion that is reached from straight running at the same speed, with turn and acceleration increased in steps."""

    def __init__(
        self,
        equations: Equations,
        free: Sequence[str],
        parameters: Mapping[str, float] | None,
        inputs: Mapping[str, float] | None,
    ) -> None:
        self.equations = equations
        self.given = {"free": free, "parameters": parameters, "inputs": inputs}
        self.limit = ""  # how far a turn or an acceleration was increased that did not reach its target

    def found(self, fixed: Mapping[str, float]) -> SteadyMotion | None:
        """The motion with these targets, if they are reached."""
        if SPEED not in fixed or not any(fixed.get(name) for name in RAMPED):
            return None
        for targets in (self._leaning(fixed), fixed):
            try:
                reached = self._increased(targets) if targets is not None else None
                if reached is not None:
                    return reached if targets is fixed else self._near(fixed, reached)
            except FAILURES:
                continue
        return None

    def _leaning(self, fixed: Mapping[str, float]) -> dict[str, float] | None:
        """The lean that balances a turn in its place: steps of it may be large."""
        rate = fixed.get("yaw_rate", fixed[SPEED] * fixed.get("curvature", 0.0))
        if not rate or "lean" in fixed or "lean" not in {o.name for o in self.equations.outputs}:
            return None
        kept = {n: v for n, v in fixed.items() if n not in ("yaw_rate", "curvature")}
        return {**kept, "lean": -math.atan(fixed[SPEED] * rate / GRAVITY)}

    def _increased(self, fixed: Mapping[str, float]) -> SteadyMotion | None:
        ramped = {n: v for n, v in fixed.items() if n in RAMPED and v}
        motion = self._near({**fixed, **dict.fromkeys(ramped, 0.0)}, None)
        done, step = 0.0, RAMP
        while done < 1.0:
            share = min(done + step, 1.0)
            try:
                motion, done = self._near({**fixed, **{n: share * v for n, v in ramped.items()}}, motion), share
            except SolverError:
                step /= 2
                if step < LEAST_RAMP:
                    self.limit = ", ".join(f"{n} = {done * v:.4g}" for n, v in ramped.items()) if done else self.limit
                    return None
        return motion

    def _near(self, fixed: Mapping[str, float], near: SteadyMotion | None) -> SteadyMotion:
        return _rolling(steady_near(self.equations, fixed, near=near, **self.given))  # type: ignore[arg-type]


def _with_curvature(equations: Equations, fixed: dict[str, float]) -> dict[str, float]:
    """A target of the radius as one of the curvature, which is also defined on a straight path."""
    named = {q.name for q in named_quantities(equations)}
    if "radius" not in fixed or "radius" in named or "curvature" not in named:
        return fixed
    if fixed["radius"] == 0.0:
        raise ArgumentError(f"{equations.name}: the radius of a path must not be 0; give the yaw rate to turn on the spot")
    return {"curvature" if n == "radius" else n: 1.0 / v if n == "radius" else v for n, v in fixed.items()}


class _Search:
    """The search for one steady motion."""

    def __init__(
        self,
        equations: Equations,
        targets: dict[str, float],
        free: tuple[str, ...],
        parameters: dict[str, float],
        inputs: dict[str, float],
    ) -> None:
        self.equations, self.targets, self.free = equations, targets, free
        self.parameters, self.inputs = parameters, inputs
        own = {i.name for i in equations.inputs}
        self.moving = {name: value for name, value in targets.items() if name not in own}

    def found(self) -> SteadyMotion | None:
        """The first motion that branches or guesses lead to."""
        for guess in self._guesses():
            try:
                return self._near(guess)
            except FAILURES:
                continue
        return None

    def _near(self, guess: SteadyMotion | Mapping[str, float]) -> SteadyMotion:
        given = {"parameters": self.parameters, "inputs": self.inputs}
        return _rolling(steady_near(self.equations, self.targets, free=self.free, near=guess, **given))

    def _guesses(self) -> Iterator[SteadyMotion | Mapping[str, float]]:
        """Motions on branches at which a target is reached, then states with other speeds."""
        for name, value in self.moving.items():
            for bounds in ({name: (-abs(value), abs(value))}, {}) if value != 0.0 else ({},):
                for branch, after in self._branches({n: v for n, v in self.targets.items() if n != name}, bounds):
                    yield from _reached(branch, after, name, value)
        for over, scale in self._speeds():
            for speed in (sign * part * scale for part in GUESSES for sign in (1.0, -1.0)):
                yield {**self.moving, over: speed}

    def _speeds(self) -> list[tuple[str, float]]:
        """Velocities of straight motions with their scales: the output "speed" first, if there is one."""
        e = self.equations
        p = numbers("parameter", e.parameters, self.parameters)
        length = Scales.of(e).typical_length(p, np.array([c.default for c in e.coordinates], dtype=float))
        units = {v.name: v.unit for v in e.velocities}
        outputs = e.motion.output("outputs").labels if e.outputs else ()
        named = [("speed", "m/s")] if "speed" in outputs else []
        found = [*named, *((name, units[name]) for name in e.independent)]
        scales = {"m/s": math.sqrt(GRAVITY * length), "rad/s": math.sqrt(GRAVITY / length)}
        return [(name, scales.get(unit, 1.0)) for name, unit in found if name not in self.targets][:MOST_SWEPT]

    def _branches(self, fixed: Mapping[str, float], bounds: Mapping[str, Range]) -> Iterator[tuple[Branch, int]]:
        """Families of straight motions, and the branches that cross them, with the point at which they cross.

        With bounds the branches end exactly where a quantity is reached for the first time.
        """
        for over, scale in self._speeds():
            known = False  # further velocities describe the same family
            for sign in (1.0, -1.0):
                between = (0.0, SPAN * scale) if sign > 0 else (-SPAN * scale, 0.0)
                start = {**self.inputs, over: sign * scale}
                try:
                    straight = self._straight(over, start, between, fixed, bounds)
                    known = True
                    yield straight, 0
                    for point in straight.points(BRANCH_POINT):
                        branch = straight.switch(point)
                        yield branch, next(p.after for p in branch.points(BRANCH_POINT) if p.value == point.value)
                except FAILURES:
                    continue
            if known:
                return

    def _straight(
        self, over: str, start: Mapping[str, float], between: Range, fixed: Mapping[str, float], bounds: Mapping[str, Range]
    ) -> Branch:
        e, free, p = self.equations, self.free, self.parameters
        return continuation(e, over, start=start, between=between, fixed=fixed, free=free, parameters=p, bounds=bounds)


def _reached(branch: Branch, after: int, name: str, value: float) -> list[SteadyMotion]:
    """Motions of a branch at which a quantity has a value, or nearly; those close to a point of the branch first."""
    if name not in branch.columns:
        return []
    distance = branch[name] - value
    exact = [i for i, d in enumerate(distance.tolist()) if abs(d) <= REACHED * max(1.0, abs(value))]
    crossings = [i for i, (a, b) in enumerate(pairwise(distance.tolist())) if a * b < 0.0 and not {i, i + 1} & set(exact)]
    ends = [j for i in sorted(crossings, key=lambda i: abs(i - after))[:MOST_CROSSINGS] for j in (i, i + 1)]
    return [branch.motions[i] for i in (*sorted(exact, key=lambda i: abs(i - after)), *ends)]
