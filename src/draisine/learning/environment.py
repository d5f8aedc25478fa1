"""Gymnasium environments over any model (`environment`): one, or many side by side in compiled code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from draisine.dynamics.derive import derive
from draisine.errors import ArgumentError, require
from draisine.learning.episodes import Episodes, Outcome, Random, Task, Terminate, checked_step
from draisine.learning.quantities import Bound, Law, Observe
from draisine.learning.starts import Reset
from draisine.model.model import Model
from draisine.model.quantities import Amount, laws_and_constants
from draisine.model.system import System
from draisine.program.arguments import checked_argument
from draisine.program.equations import Equations
from draisine.program.program import DaeResidual
from draisine.simulation.given_equations import equations_for_run

MOST_ENVIRONMENTS = 10_000_000
MODES = ("next_step", "same_step", "disabled")
NO_FUNCTION = "environments do not call functions for inputs; give a law as text, or make it an action"


def environment(
    model: Model | System | Equations,
    *,
    observe: Observe,
    act: Mapping[str, Bound],
    reward: Law | Callable[..., Any],
    step: float = 0.01,
    reset: Reset = None,
    terminate: Terminate = None,
    until: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Amount] | None = None,
    substeps: int = 1,
    num_envs: int | None = None,
    threads: int | None = None,
    autoreset: Any = "next_step",
) -> Any:
    """A Gymnasium environment over a model: `gymnasium.Env`, or with `num_envs` a `gymnasium.vector.VectorEnv`.

    - `observe`: names of outputs, states and inputs, or expressions of them: `["lean", "sin(heading)"]`; a mapping gives them
      labels.
    - `act`: inputs that actions set, with their bounds: `{"steer_torque": 5.0}` for ±5 N·m, `("-2 N*m", "3 N*m")` for others.
      Actions beyond them are clipped. An action is held for `step` seconds.
    - `reward`: an expression of the state after the step and of the actions, `"1 - lean^2 - 0.01*steer_torque^2"`.
    - `reset`: start targets by name, as `start` of `simulate`: numbers, texts with a unit, (low, high) for a uniform
      distribution, or distributions of `dr.distributions`; the rest of the state follows from the constraints. Or a function of
      a random generator and a number of starts that returns such a mapping.
    - `terminate`: a condition, `"abs(lean) > 0.8"`, or several by name. Stopping events of the model terminate too.
    - `until`: seconds after which an episode is truncated, a multiple of `step`; without it episodes end by termination alone.
    - `parameters`: as in `simulate`; (low, high) and distributions are drawn anew for every episode.
    - `inputs`: constants and laws of the inputs that are not actions; where they are named in `observe`, `reward` and
      `terminate`, they have the value of the law at that time.
    - `substeps`: integration steps (classical Runge–Kutta) per action.
    - `num_envs`, `threads`: number of environments side by side, and of cores that share them (all by default).
    - `autoreset`: what a vector environment does with episodes that ended: reset in the next step, in the same step, or not;
      `"next_step"`, `"same_step"`, `"disabled"`, or an `AutoresetMode` of Gymnasium.

    `observe`, `reward` and `terminate` may be Python functions: their parameters name the quantities that they take, as arrays
    over the environments: `lambda lean, steer: np.cos(lean) - steer**2`.
    """
    checked_argument("environment", "model", model)
    checked_step(step, substeps, until)
    _check_count("num_envs", num_envs, MOST_ENVIRONMENTS)
    _check_count("threads", threads, 4096)
    autoreset = autoreset.name.lower() if isinstance(autoreset, Enum) else autoreset
    if autoreset not in MODES:
        raise ArgumentError(f"environment: autoreset is one of {', '.join(MODES)}, got {autoreset!r}")
    classes = gymnasium_classes()
    laws, constants = laws_and_constants(inputs or {}, NO_FUNCTION)
    for name in act if isinstance(act, Mapping) else ():
        if name in (inputs or {}):
            raise ArgumentError(f"environment: {name!r} is an action and also among the inputs; leave one out")
    if isinstance(model, Equations):
        equations, _ = equations_for_run(model, laws, (), ())
    else:
        equations = derive(model, laws, work=False)
    if isinstance(equations.dynamics, DaeResidual):
        raise ArgumentError(
            f"environment: {equations.name!r} is given as 0 = F(t, x, ẋ) and has no explicit steps; reduce its index first "
            "(dr.dae.reduce_index)"
        )
    task = Task.of(equations, observe, act, reward, terminate, float(step), substeps, until)
    episodes = Episodes(task, num_envs or 1, reset, dict(parameters or {}), constants, threads, model)
    return classes.single(episodes) if num_envs is None else classes.vector(episodes, autoreset)


def _check_count(name: str, given: int | None, most: int) -> None:
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= most):
        raise ArgumentError(f"environment: {name} is a whole number from 1 to {most:,}, got {given!r}")


class Classes(NamedTuple):
    """The classes of environments, which derive from those of Gymnasium."""

    single: Any
    vector: Any


def _spaces(gymnasium: Any, episodes: Episodes) -> tuple[Any, Any]:
    """Spaces of one environment; the size of what a function observes is that of its first result."""
    actions = episodes.task.actions
    episodes.restart(np.arange(episodes.members), np.random.default_rng(0))
    size = episodes.observation().shape[1]
    episodes.starts.forget()
    observation = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)
    return observation, gymnasium.spaces.Box(actions.low, actions.high, dtype=np.float64)


def _metadata(episodes: Episodes) -> dict[str, Any]:
    task = episodes.task
    named = {"observations": task.observed, "actions": task.actions.quantities}
    return {"render_modes": [], "step": task.problem.step} | {
        key: tuple(f"{q.name} [{q.unit}]" if q.unit else q.name for q in quantities) for key, quantities in named.items()
    }


def _described(episodes: Episodes) -> str:
    meta, count = _metadata(episodes), episodes.members
    seen = ", ".join(meta["observations"]) or "a function"
    sides = f"{count} of " if count > 1 else ""
    return (
        f"<{sides}{episodes.task.equations.name}: observes {seen}; acts by {', '.join(meta['actions'])}; step {meta['step']:g} s>"
    )


def _targets(options: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Start targets among the options of a reset."""
    for key in options or {}:
        if key not in ("start", "reset_mask"):
            raise ArgumentError(
                f"reset: option {key!r} is unknown; {{'start': {{'lean': 0.1}}}} gives start targets of this episode"
            )
    return None if options is None else options.get("start")


def _masked(options: Mapping[str, Any] | None, count: int) -> Any:
    """The environments that an option `reset_mask` selects, or all."""
    mask = (options or {}).get("reset_mask")
    if mask is None:
        return np.arange(count)
    found = np.asarray(mask)
    if found.dtype != np.bool_ or found.shape != (count,):
        raise ArgumentError(
            f"reset: reset_mask is an array of {count} truth values, one for each environment, got {found.dtype} of the shape "
            f"{found.shape}"
        )
    return np.flatnonzero(found)


def _is_seed(given: Any) -> bool:
    whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
    return given is None or (whole and given >= 0)


def _refuse_copy(self: Any, _protocol: Any) -> Any:
    raise ArgumentError(
        f"{type(self).__name__} holds compiled code and cannot be copied or pickled; make another by dr.environment or "
        "gymnasium.make"
    )


@cache
def gymnasium_classes() -> Classes:
    """The classes, defined at the first call: Gymnasium is optional."""
    gymnasium = require("gymnasium", "environment", "draisine[learning]")
    vector = require("gymnasium.vector", "environment", "draisine[learning]")
    return Classes(_single_class(gymnasium), _vector_class(gymnasium, vector))


def _single_class(gymnasium: Any) -> Any:
    class Environment(gymnasium.Env):
        """A model as an environment; `info["status"]` says how an episode ended, `info["time"]` is that of the episode."""

        def __init__(self, episodes: Episodes) -> None:
            self.episodes, self.metadata, self.render_mode = episodes, _metadata(episodes), None
            self.observation_space, self.action_space = _spaces(gymnasium, episodes)
            self._running = False

        __reduce_ex__ = _refuse_copy

        def __str__(self) -> str:
            return _described(self.episodes)

        __repr__ = __str__

        @property
        def state(self) -> dict[str, float]:
            """The present state by name, as `start` of `simulate` takes it."""
            x = self.episodes.batch.states(np.array([0]))[0]
            return dict(zip((q.name for q in self.episodes.task.equations.states), x.tolist(), strict=True))

        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
            super().reset(seed=seed)
            if seed is not None:
                self.episodes.starts.forget()
            self.episodes.restart(np.array([0]), self.np_random, _targets(options))
            self._running = True
            beyond = self.episodes.beyond(np.array([0]))
            return self.episodes.observation()[0], {"time": 0.0, **({"warnings": beyond[0]} if beyond else {})}

        def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            if not self._running:
                raise ArgumentError("step: there is no episode, or it has ended; call reset() first")
            found = self.episodes.step(_actions(self.episodes, action, ()))
            info: dict[str, Any] = {"time": float(self.episodes.steps[0] * self.episodes.task.problem.step)}
            if 0 in found.status:
                info["status"] = found.status[0]
            ended, cut = bool(found.terminated[0]), bool(found.truncated[0])
            self._running = not (ended or cut)
            return found.observation[0], float(found.reward[0]), ended, cut, info

    return Environment


def _actions(episodes: Episodes, given: Any, axes: tuple[int, ...]) -> Any:
    count = len(episodes.task.actions.names)
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (*axes, count):
        names = ", ".join(episodes.task.actions.names)
        raise ArgumentError(f"step: the actions are {names}: an array of the shape {(*axes, count)} is needed, got {given!r}")
    if np.isnan(found).any():
        raise ArgumentError(f"step: {np.isnan(found).sum()} of {found.size} numbers of the actions are NaN; none was applied")
    return found.reshape(-1, count)


def _warnings(episodes: Episodes, which: Any) -> dict[str, Any]:
    """Infos of many environments that have just begun, where there is something to say."""
    beyond = episodes.beyond(which)
    if not beyond:
        return {}
    texts, begun = np.full(episodes.members, None, dtype=object), np.zeros(episodes.members, dtype=bool)
    texts[list(beyond)], begun[list(beyond)] = list(beyond.values()), True
    return {"warnings": texts, "_warnings": begun}


def _vector_class(gymnasium: Any, vector: Any) -> Any:
    modes = {mode: getattr(vector.AutoresetMode, mode.upper()) for mode in MODES}

    class VectorEnvironment(vector.VectorEnv):
        """Many environments over one model; `infos["status"]` says how the episodes of `infos["_status"]` ended."""

        def __init__(self, episodes: Episodes, autoreset: str) -> None:
            self.episodes, self.num_envs, self.render_mode = episodes, episodes.members, None
            self.metadata = {**_metadata(episodes), "autoreset_mode": modes[autoreset]}
            self.single_observation_space, self.single_action_space = _spaces(gymnasium, episodes)
            both = (self.single_observation_space, self.single_action_space)
            self.observation_space, self.action_space = (vector.utils.batch_space(one, self.num_envs) for one in both)
            self._autoreset, self._ended, self._begun = autoreset, np.zeros(self.num_envs, dtype=bool), False
            self._generators: list[np.random.Generator] | None = None

        __reduce_ex__ = _refuse_copy

        def __str__(self) -> str:
            return _described(self.episodes)

        __repr__ = __str__

        def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
            self._seed(seed)
            which = _masked(options, self.num_envs)
            self.episodes.restart(which, self._random, _targets(options))
            self._ended[which], self._begun = False, True
            return self.episodes.observation(), _warnings(self.episodes, which)

        def _seed(self, seed: Any) -> None:
            """One seed for all, or one for each: then each environment has a generator of its own from there on."""
            many = isinstance(seed, list | tuple | np.ndarray)
            if many and (len(seed) != self.num_envs or not all(_is_seed(one) for one in seed)):
                raise ArgumentError(
                    f"reset: give one seed, or a seed or None for each of {self.num_envs} environments, got {seed!r}"
                )
            if not many and not _is_seed(seed):
                raise ArgumentError(f"reset: a seed is an integer that is not negative, or a list of them, got {seed!r}")
            if many:
                self._generators = [gymnasium.utils.seeding.np_random(None if one is None else int(one))[0] for one in seed]
            elif seed is not None:
                super().reset(seed=int(seed))
                self._generators = None
                self.episodes.starts.forget()

        @property
        def _random(self) -> Random:
            return self.np_random if self._generators is None else self._generators

        def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
            if not self._begun:
                raise ArgumentError("step: there are no episodes yet; call reset() first")
            waiting = np.flatnonzero(self._ended)
            if len(waiting) and self._autoreset == "disabled":
                raise ArgumentError(
                    f"step: {len(waiting)} episodes have ended and autoreset is disabled; first call "
                    "reset(options={'reset_mask': ended})"
                )
            found = self.episodes.step(_actions(self.episodes, actions, (self.num_envs,)))
            observation, infos = found.observation, dict[str, Any]()
            if len(waiting):  # this step was their reset: the action is ignored
                self.episodes.restart(waiting, self._random)
                observation = self.episodes.observation()
                for column in (found.reward, found.terminated, found.truncated):
                    column[waiting] = 0
                for member in waiting:
                    found.status.pop(int(member), None)
            self._ended = found.terminated | found.truncated
            ended = np.flatnonzero(self._ended)
            if len(ended):
                self._add_status(infos, found)
                if self._autoreset == "same_step":
                    observation = self._restart_at_once(infos, observation, ended)
            return observation, found.reward, found.terminated, found.truncated, infos

        def _add_status(self, infos: dict[str, Any], found: Outcome) -> None:
            texts = np.full(self.num_envs, None, dtype=object)
            for member, status in found.status.items():
                texts[member] = status
            infos["status"], infos["_status"] = texts, self._ended.copy()

        def _restart_at_once(self, infos: dict[str, Any], observation: Any, ended: Any) -> Any:
            last = np.full(self.num_envs, None, dtype=object)
            for member in ended:
                last[member] = observation[member].copy()
            status = {key: infos.pop(key) for key in ("status", "_status")}
            infos |= {
                "final_obs": last,
                "_final_obs": self._ended.copy(),
                "final_info": status,
                "_final_info": self._ended.copy(),
            }
            self.episodes.restart(ended, self._random)
            self._ended = np.zeros(self.num_envs, dtype=bool)
            return self.episodes.observation()

    return VectorEnvironment
