"""The verb `estimate`: parameters of a model from data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import DataError
from draisine.estimation.fit import Fit, Trial
from draisine.estimation.identifiability import Identifiability
from draisine.estimation.losses import Loss
from draisine.estimation.measurement import deviations, roughness
from draisine.estimation.multistart import MultiStart, best_of_several
from draisine.estimation.problem import Posed, pose
from draisine.estimation.single_shooting import SingleShooting
from draisine.estimation.solve import MultipleShooting, Outcome, Progress, look, solve
from draisine.expr.expression import Expr
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations

Reals = NDArray[np.float64]

ROUNDS = 12  # of fits with noise estimated anew
SAME = 0.01  # relative change of the noise at which it has settled


def estimate(
    model: Model | System | Equations,
    data: Any,
    unknown: Sequence[str] | Mapping[str, tuple[float, float]],
    measured: Mapping[str, Any] | Sequence[str],
    *,
    guess: Mapping[str, float] | None = None,
    start: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    relations: Mapping[str, str | Expr] | None = None,
    priors: Mapping[str, tuple[float, float]] | None = None,
    loss: Loss | None = None,
    method: MultipleShooting | None = None,
    starts: MultiStart | None = None,
    on: Any = None,
    progress: Progress | None = None,
) -> Fit:
    """Find parameters of a model in data, with their uncertainty.

    - `data`: a table (pandas, xarray, mapping of columns), a file (CSV, Parquet, NetCDF), a trajectory, or several of them.
    - `unknown`: names of parameters, or {name: (low, high)}; "start.lean" is a wish for the start, unknown in every experiment.
    - `measured`: {column: quantity} or {column: (quantity, noise)}; noise is a standard deviation in SI units or a text with a
      unit, estimated from the residuals where it is not given. Quantities are coordinates, velocities, outputs, multipliers.
    - `guess`: where the search begins; else the model's own values, or the middle of the sides.
    - `start`: wishes for the start, as in `simulate`; one mapping for all experiments, or one for each.
    - `inputs`: {input: column} or {input: (column, noise)}, straight between samples, or `Smooth(column, noise)`; a constant; or
      a law, {"u": "-3*rate + sin(2*t)"}.
    - `relations`: parameters that follow from others, {"izz_frame": "2*ixx_frame"}.
    - `priors`: {name: (mean, standard deviation)}, known before.
    - `loss`: `Huber()`, `SoftL1()` or `Cauchy()`, where there are outliers.
    - `method`: `SingleShooting()`; `MultipleShooting(window)` or `Collocation("radau", 3, intervals)` for motions that run away
      from their start.
    - `starts`: `MultiStart(count)`, where there may be several minima; `on`: who makes these fits, as in `ensemble`: a
      `distributed.Client`, or an executor of processes.

    >>> import numpy as np, sympy as sp, draisine as dr
    >>> x, k = sp.symbols("x k")
    >>> decay = dr.first_order("decay", {x: -k * x}, parameters={k: 1.0}, start={x: 1.0})
    >>> t = np.linspace(0.0, 2.0, 21)
    >>> found = dr.estimate(decay, {"time": t, "level": np.exp(-0.7 * t)}, ["k"], {"level": "x"})
    >>> round(found["k"], 9)
    0.7
    """
    posed = pose(
        model,
        data,
        unknown,
        measured,
        guess=guess,
        start=start,
        inputs=inputs,
        parameters=parameters,
        relations=relations,
        priors=priors,
    )
    return fitted(posed, method or SingleShooting(), loss, starts, progress, on)


def identifiability(
    model: Model | System | Equations,
    data: Any,
    unknown: Sequence[str] | Mapping[str, tuple[float, float]],
    measured: Mapping[str, Any] | Sequence[str],
    *,
    method: MultipleShooting | None = None,
    **given: Any,
) -> Identifiability:
    """What such data can tell about the unknowns, at the guess: before anything is fitted, or measured at all.

    Arguments are those of `estimate`. Where noise is given and shooting is single, only times, inputs and which samples are
    missing count of the data; a simulated run will do.

    >>> import numpy as np, sympy as sp, draisine as dr
    >>> x, a, b = sp.symbols("x a b")
    >>> decay = dr.first_order("decay", {x: -a * b * x}, parameters={a: 1.0, b: 2.0}, start={x: 1.0})
    >>> t = np.linspace(0.0, 2.0, 21)
    >>> reported = dr.identifiability(decay, {"time": t, "x": 0 * t}, ["a", "b"], {"x": ("x", 0.01)})
    >>> print(reported.unidentifiable[0])
    b +100 %, a -100 %: not at all
    """
    posed = pose(model, data, unknown, measured, **given)
    return Identifiability(posed.names, look(posed, method or SingleShooting(), _first_noise(posed)).root, posed.sizes)


def fitted(
    posed: Posed,
    method: MultipleShooting,
    loss: Loss | None = None,
    starts: MultiStart | None = None,
    progress: Progress | None = None,
    on: Any = None,
) -> Fit:
    """The fit of an estimation that is in words already."""
    sigmas = _first_noise(posed)
    _noise_needed(posed)
    seen = look(posed, method, sigmas)
    before = Identifiability(posed.names, seen.root, posed.sizes)
    if before.without_effect:
        raise DataError(
            f"{', '.join(before.without_effect)}: what is measured ({', '.join(posed.quantities)}) does not depend on it here; "
            "leave it out, measure something that does, or move differently"
        )
    trials: tuple[Trial, ...] = ()
    if starts is None:
        best = solve(posed, method, sigmas, loss, seen, progress)
    else:
        best, trials = best_of_several(posed, method, sigmas, loss, starts, progress, on)
    best, sigmas = _with_noise(posed, method, sigmas, loss, best, progress)
    return Fit(posed, method, best, sigmas, loss, before, trials)


def _first_noise(posed: Posed) -> Reals:
    guessed = roughness(posed.recordings)
    return np.array([g if c.sigma is None else c.sigma for c, g in zip(posed.recordings[0].channels, guessed, strict=True)])


def _noise_needed(posed: Posed) -> None:
    unsaid = [c.column for c in posed.recordings[0].channels if c.sigma is None]
    driven = [name for r in posed.recordings for name, _ in r.noisy]
    if unsaid and driven:
        raise DataError(
            f"the noise of the input {driven[0]!r} is given, that of {', '.join(unsaid)} is not: residuals cannot tell one "
            "from the other; give both"
        )


def _with_noise(
    posed: Posed, method: MultipleShooting, sigmas: Reals, loss: Loss | None, best: Outcome, progress: Progress | None
) -> tuple[Outcome, Reals]:
    """Estimate noise that was not given from residuals, and fit again, until both agree."""
    unsaid = np.array([c.sigma is None for c in posed.recordings[0].channels])
    if not unsaid.any():
        return best, sigmas
    sizes = np.nanmax(np.abs(np.concatenate([r.values for r in posed.recordings])), axis=0)
    for _ in range(ROUNDS):
        raw = [predicted - r.values for predicted, r in zip(best.predicted, posed.recordings, strict=True)]
        taken = posed.samples + len(best.prior) - best.freedom
        new = np.where(unsaid, deviations(raw, taken, loss is not None, sizes), sigmas)
        change = float(np.abs(new / sigmas - 1.0).max())
        sigmas = new
        best = solve(posed, method, sigmas, loss, best, progress)
        if change <= SAME:
            break
    return best, sigmas
