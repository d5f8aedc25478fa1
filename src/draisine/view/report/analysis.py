"""Which motions last: eigenvalues over the speed, or about the equilibrium, or why there is nothing to be said."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.errors import DraisineError
from draisine.program.dae_residual import DaeResidual
from draisine.results.linear import LinearModel
from draisine.stability.critical import Critical
from draisine.stability.modes import Modes
from draisine.view.plots.labels import pretty_unit, words
from draisine.view.report.chapter import Absent, Reported, figure, number, paragraph, table
from draisine.view.report.subject import SPEEDS, Subject

_WIDER = (3.0, 10.0)  # the usual speeds are taken so many times, until something happens
_SHOWN = 6  # values of the sweep that are printed
NEUTRAL = 1e-9  # growth this small, beside the largest eigenvalue or in 1/s, is rounding
_MOST = 24  # eigenvalues that are printed


class Lasting:
    """Stability of one model; the sample ride asks which speeds are stable."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    @cached_property
    def swept(self) -> Modes | str:
        """Modes over the quantity asked for, or over the speed; or why there are none."""
        if self.subject.wanted.over:
            return self._modes(*next(iter(self.subject.wanted.over.items())))
        if isinstance(self.subject.equations.dynamics, DaeResidual):
            return ""
        known = {q.name: q for q in (*self.subject.equations.states, *self.subject.equations.outputs)}
        if "speed" not in known or known["speed"].unit != "m/s":
            return ""
        try:
            first = self._modes("speed", SPEEDS)
            if first.eigenvalues.shape[1] and not _reported(first):
                wider = (self._modes("speed", factor * SPEEDS) for factor in _WIDER)
                return next((found for found in wider if _reported(found)), first)
        except (DraisineError, np.linalg.LinAlgError) as problem:
            return str(problem)
        return first

    def _modes(self, name: str, values: np.ndarray) -> Modes:
        from draisine.stability.modes import modes

        return modes(self.subject.model, {name: values}, states=self.subject.reported_by)

    def stable_middle(self) -> float | None:
        """The middle of the widest stable range of speeds."""
        found = self.swept
        if isinstance(found, str) or found.over != "speed" or not found.eigenvalues.shape[1]:
            return None
        spans = _spans(_sign(found) < 0)
        if not spans:
            return None
        first, last = max(spans, key=lambda span: span[1] - span[0])
        return float(found.values[(first + last) // 2])


def _sign(found: Modes) -> NDArray[np.int64]:
    """At each value −1 where all deviations die away, 0 where some neither grows nor does, 1 where one grows."""
    values = found.eigenvalues
    size = np.maximum(np.nanmax(np.abs(values), axis=1), 1.0)
    worst = np.nanmax(values.real, axis=1) / size
    return np.where(worst < -NEUTRAL, -1, np.where(worst <= NEUTRAL, 0, 1))


def _spans(holds: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last index of each run of truths.

    >>> _spans(np.array([True, False, True, True]))
    [(0, 0), (2, 3)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], holds.astype(int), [0]])))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def stability(lasting: Lasting) -> Reported | Absent:
    found = lasting.swept
    if not isinstance(found, str) and found.eigenvalues.shape[1]:
        return _over(found)
    why = found if isinstance(found, str) else f"No deviation from steady motion at any {found.over} matters to another"
    reported = _at_rest(lasting.subject)
    lead = (paragraph(f"Over the speed nothing is told: {why.rstrip('.')}."),) if why else ()
    if isinstance(reported, Absent):
        return Absent(f"{f'{why}. ' if why else ''}{reported.reason}")
    return Reported((*lead, *reported.lines), reported.facts)


def _over(found: Modes) -> Reported:
    e = found.family.equations
    unit = next((q.unit for q in (*e.states, *e.outputs, *e.parameters, *e.inputs) if q.name == found.over), "")
    shown, name = pretty_unit(unit), words(found.over)
    ranges, neutral = ([f"{a:.4g} to {b:.4g} {shown}".rstrip() for a, b in _ranges(found, sign)] for sign in (-1, 0))
    verdict = (
        f"All of them die away at {name} {' and '.join(ranges)}." if ranges else "At no value of it do all of them die away."
    )
    verdict += f" They neither grow nor all die away, to first order, at {name} {' and '.join(neutral)}." if neutral else ""
    swept = f"{name} from {found.values[0]:g} to {found.values[-1]:g} {shown}".rstrip()
    lines = [paragraph(f"Small deviations from steady motion, {swept}, told by {', '.join(found.states)}. {verdict}")]
    critical = [(c.kind, number(c.value, unit), _complex(c.eigenvalue)) for c in _reported(found)]
    if critical:
        lines += table(("what happens", name, "eigenvalue [1/s]"), critical, "Critical values, solved exactly")
    caption = f"Eigenvalues against {name}: real parts solid, imaginary parts dashed; where gray, all motion decays."
    lines += figure(found.plot(), caption)
    some = np.unique(np.linspace(0, len(found.values) - 1, _SHOWN).round().astype(int))
    rows = [[number(found.values[i], unit), *(_complex(z) for z in found.eigenvalues[i])] for i in some]
    lines += table((name, *found.names), rows, "Eigenvalues [1/s]")
    facts = {f"Stable {name}": " and ".join(ranges) or f"nowhere up to {found.values[-1]:g} {shown}".rstrip()}
    facts |= {f"Neutral {name}": " and ".join(neutral)} if neutral else {}
    return Reported(tuple(lines), facts)


def _reported(found: Modes) -> list[Critical]:
    """Critical values beside which something grows or dies away; elsewhere signs change by rounding alone."""
    sign = _sign(found)
    right = [int(np.clip(np.searchsorted(found.values, c.value), 1, len(sign) - 1)) for c in found.critical()]
    return [c for c, k in zip(found.critical(), right, strict=True) if sign[k - 1] or sign[k]]


def _ranges(found: Modes, sign: int) -> list[tuple[float, float]]:
    """Where deviations do as the sign says, the ends taken from the exact critical values next to them."""
    ends = [c.value for c in _reported(found)]
    step = float(np.diff(found.values).max(initial=0.0))
    low, high = float(found.values[0]), float(found.values[-1])
    ranges = []
    for first, last in _spans(_sign(found) == sign):
        a, b = float(found.values[first]), float(found.values[last])
        ranges.append((a if a == low else _nearest(ends, a, step), b if b == high else _nearest(ends, b, step)))
    return ranges


def _nearest(ends: list[float], value: float, reach: float) -> float:
    """The exact end next to a value of the sweep, or the value itself; zero where it is rounding."""
    found = min([x for x in ends if abs(x - value) <= reach], key=lambda x: abs(x - value), default=value)
    return 0.0 if abs(found) < 1e-9 * reach else found


def _at_rest(subject: Subject) -> Reported | Absent:
    """Linear model about the steady motion nearest to where the description begins."""
    from draisine.dynamics.dae.index_reduction import reduce_index
    from draisine.stability.steady import steady

    model = subject.model
    try:
        if isinstance(subject.equations.dynamics, DaeResidual):
            model = reduce_index(subject.equations)
        found = steady(model).linearize(subject.reported_by).essential()
    except (DraisineError, np.linalg.LinAlgError) as problem:
        return Absent(
            f"No steady motion was found near the start, about which small deviations could be told. {_sentence(problem)}"
        )
    return _eigenvalues(found)


def _sentence(problem: Exception) -> str:
    text = str(problem)
    return text if text.endswith(".") else f"{text}."


def _eigenvalues(found: LinearModel) -> Reported | Absent:
    place = "the steady motion nearest to the start"
    if not found.states:
        return Absent(f"About {place}, no deviation matters to another: there are no eigenvalues to be told.")
    values = found.eigenvalues
    largest = float(np.abs(values).max())
    growing = values.real > NEUTRAL * max(largest, 1.0)
    swinging = np.abs(values.real) <= NEUTRAL * max(largest, 1.0)
    if growing.any():
        verdict = f"unstable: the fastest deviation grows by e in {1 / values.real.max():.3g} s"
    elif swinging.any():
        verdict = "neither growing nor decaying to first order"
    else:
        verdict = f"stable: the slowest deviation decays by e in {-1 / values.real.max():.3g} s"
    at = {name: found.at[name] for name in found.states if name in found.at and abs(found.at[name]) > 1e-12}
    where = f", at {', '.join(f'{name} = {value:.6g}' for name, value in at.items())}" if at else ""
    lines = [
        paragraph(f"Small deviations from {place}{where}, told by {', '.join(found.states)}: {verdict}."),
        *table(
            ("eigenvalue [1/s]", "frequency [Hz]", "damping ratio", "time to change by e [s]"),
            [_row(z, largest) for z in values if z.imag >= 0][:_MOST],
            "Eigenvalues; of each pair the one above the real axis",
        ),
    ]
    if found.left_out:
        lines.append(paragraph(f"Left out, since nothing else depends on them: {', '.join(found.left_out)}.", "small"))
    return Reported(tuple(lines), {"Steady motion": verdict})


def _row(z: complex, largest: float) -> tuple[str, str, str, str]:
    frequency = f"{abs(z.imag) / (2 * np.pi):.4g}" if abs(z.imag) > 1e-9 * largest else ""
    damping = f"{-z.real / abs(z):.4g}" if frequency and abs(z.real) > 1e-9 * largest else ""
    time = f"{1 / abs(z.real):.4g}" if abs(z.real) > 1e-9 * largest else ""
    return _complex(z, largest), frequency, damping, time


def _complex(z: complex, largest: float = 0.0) -> str:
    small = max(1e-9 * largest, 1e-12)
    real = 0.0 if abs(z.real) <= small else z.real
    shown = f"{real:.5g}" if abs(z.imag) <= small else f"{real:.5g} {'+' if z.imag > 0 else '-'} {abs(z.imag):.5g}i"
    return shown.replace("-", "−")
