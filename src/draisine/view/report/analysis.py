"""Analyses in a report: stability (eigenvalues over the speed or about an equilibrium), certificate, diagnosis of constraints."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from draisine.diagnostics.certify import certify
from draisine.diagnostics.diagnosis import diagnose
from draisine.dynamics.dae.index_reduction import reduce_index
from draisine.errors import DraisineError
from draisine.program.program import DaeResidual
from draisine.results.linear import LinearModel
from draisine.stability.modes import Modes, modes
from draisine.stability.steady import steady
from draisine.view.plots.labels import display_name, pretty_unit
from draisine.view.report.chapter import Content, NotApplicable, bullet_list, count_noun, escape, figure, number, paragraph, table
from draisine.view.report.subject import SPEEDS, Subject

_WIDER = (3.0, 10.0)  # factors of the default speeds, tried until a critical value is found
_SHOWN = 6  # values of the sweep that are printed
NEUTRAL = 1e-9  # growth this small, beside the largest eigenvalue or in 1/s, is rounding
_MOST = 24  # eigenvalues that are printed


class StabilityAnalysis:
    """Stability analysis of one model, also used to choose the sample run."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    @cached_property
    def swept(self) -> Modes | str:
        """Modes over the requested quantity or the speed; or the reason why there are none."""
        if self.subject.options.over:
            return self._modes(*next(iter(self.subject.options.over.items())))
        if isinstance(self.subject.equations.dynamics, DaeResidual):
            return ""
        known = {q.name: q for q in (*self.subject.equations.states, *self.subject.equations.outputs)}
        if "speed" not in known or known["speed"].unit != "m/s":
            return ""
        try:
            first = self._modes("speed", SPEEDS)
            if first.eigenvalues.shape[1] and not first.critical():
                wider = (self._modes("speed", factor * SPEEDS) for factor in _WIDER)
                return next((found for found in wider if found.critical()), first)
        except (DraisineError, np.linalg.LinAlgError) as problem:
            return str(problem)
        return first

    def _modes(self, name: str, values: np.ndarray) -> Modes:
        return modes(self.subject.model, {name: values}, states=self.subject.deviation_states)

    def stable_middle(self) -> float | None:
        """The center of the widest stable range of speeds."""
        found = self.swept
        if isinstance(found, str) or found.over != "speed" or not found.eigenvalues.shape[1]:
            return None
        spans = _spans(_sign(found) < 0)
        if not spans:
            return None
        first, last = max(spans, key=lambda span: span[1] - span[0])
        return float(found.values[(first + last) // 2])


def _sign(found: Modes) -> NDArray[np.int64]:
    """Stability at each value: −1 if all deviations decay, 0 if some is neutral, 1 if one grows."""
    values = found.eigenvalues
    size = np.maximum(np.nanmax(np.abs(values), axis=1), 1.0)
    worst = np.nanmax(values.real, axis=1) / size
    return np.where(worst < -NEUTRAL, -1, np.where(worst <= NEUTRAL, 0, 1))


def _spans(holds: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last index of each run of true values.

    >>> _spans(np.array([True, False, True, True]))
    [(0, 0), (2, 3)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], holds.astype(int), [0]])))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def stability(analysis: StabilityAnalysis) -> Content | NotApplicable:
    found = analysis.swept
    if not isinstance(found, str) and found.eigenvalues.shape[1]:
        return _over(found)
    why = found if isinstance(found, str) else f"The linear model about steady motion has no states for any {found.over}"
    reported = _at_rest(analysis.subject)
    lead = (paragraph(f"No analysis over the speed: {why.rstrip('.')}."),) if why else ()
    if isinstance(reported, NotApplicable):
        return NotApplicable(f"{f'{why}. ' if why else ''}{reported.reason}")
    return Content((*lead, *reported.lines), reported.facts)


def _over(found: Modes) -> Content:
    e = found.family.equations
    unit = next((q.unit for q in (*e.states, *e.outputs, *e.parameters, *e.inputs) if q.name == found.over), "")
    shown, name = pretty_unit(unit), display_name(found.over)
    ranges, neutral = ([f"{a:.4g} to {b:.4g} {shown}".rstrip() for a, b in _ranges(found, sign)] for sign in (-1, 0))
    verdict = f"All of them decay at {name} {' and '.join(ranges)}." if ranges else "At no value do all of them decay."
    verdict += f" They are neutral to first order at {name} {' and '.join(neutral)}." if neutral else ""
    swept = f"{name} from {found.values[0]:g} to {found.values[-1]:g} {shown}".rstrip()
    lines = [paragraph(f"Small deviations from steady motion, {swept}, in terms of {', '.join(found.states)}. {verdict}")]
    critical = [(c.kind, number(c.value, unit), _complex(c.eigenvalue)) for c in found.critical()]
    if critical:
        lines += table(("what happens", name, "eigenvalue [1/s]"), critical, "Critical values, solved exactly")
    caption = f"Eigenvalues against {name}: real parts solid, imaginary parts dashed; where gray, all motion decays."
    lines += figure(found.plot(), caption)
    some = np.unique(np.linspace(0, len(found.values) - 1, _SHOWN).round().astype(int))
    rows = [[number(found.values[i], unit), *(_complex(z) for z in found.eigenvalues[i])] for i in some]
    lines += table((name, *found.names), rows, "Eigenvalues [1/s]")
    facts = {f"Stable {name}": " and ".join(ranges) or f"nowhere up to {found.values[-1]:g} {shown}".rstrip()}
    facts |= {f"Neutral {name}": " and ".join(neutral)} if neutral else {}
    return Content(tuple(lines), facts)


def _ranges(found: Modes, sign: int) -> list[tuple[float, float]]:
    """Ranges of a stability sign, with exact critical values as ends."""
    ends = [c.value for c in found.critical()]
    step = float(np.diff(found.values).max(initial=0.0))
    low, high = float(found.values[0]), float(found.values[-1])
    ranges = []
    for first, last in _spans(_sign(found) == sign):
        a, b = float(found.values[first]), float(found.values[last])
        ranges.append((a if a == low else _nearest(ends, a, step), b if b == high else _nearest(ends, b, step)))
    return ranges


def _nearest(ends: list[float], value: float, reach: float) -> float:
    """The critical value next to a value of the sweep, or the value itself; zero for rounding."""
    found = min([x for x in ends if abs(x - value) <= reach], key=lambda x: abs(x - value), default=value)
    return 0.0 if abs(found) < 1e-9 * reach else found


def _at_rest(subject: Subject) -> Content | NotApplicable:
    """Linear model about the steady motion nearest to the default start."""
    model = subject.model
    try:
        if isinstance(subject.equations.dynamics, DaeResidual):
            model = reduce_index(subject.equations)
        found = steady(model).linearize(subject.deviation_states).essential()
    except (DraisineError, np.linalg.LinAlgError) as problem:
        return NotApplicable(f"No steady motion was found near the default start. {_with_period(problem)}")
    return _eigenvalues(found)


def _with_period(problem: Exception) -> str:
    text = str(problem)
    return text if text.endswith(".") else f"{text}."


def _eigenvalues(found: LinearModel) -> Content | NotApplicable:
    place = "the steady motion nearest to the default start"
    if not found.states:
        return NotApplicable(f"About {place}, the linear model has no states.")
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
        paragraph(f"Small deviations from {place}{where}, in terms of {', '.join(found.states)}: {verdict}."),
        *table(
            ("eigenvalue [1/s]", "frequency [Hz]", "damping ratio", "time to change by e [s]"),
            [_row(z, largest) for z in values if z.imag >= 0][:_MOST],
            "Eigenvalues; of each pair the one above the real axis",
        ),
    ]
    if found.left_out:
        lines.append(paragraph(f"Left out, since no other state depends on them: {', '.join(found.left_out)}.", "small"))
    return Content(tuple(lines), {"Steady motion": verdict})


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


# ---------------------------------------------------------------- certificate and constraints


def certificate(subject: Subject) -> Content:
    """Independent derivations compared at random admissible states."""
    found = certify(subject.model)
    derivations = count_noun(len(found.derivations), "derivation")
    lines = [
        paragraph(
            f"The equations were derived by {derivations} ({', '.join(found.derivations)}) and compared at "
            f"{count_noun(found.states, 'random admissible state')}. Each line gives the worst relative disagreement, divided by "
            "the condition of its state, and what is allowed."
        )
    ]
    rows = [(x.what, f"{x.worst:.1e}", f"{x.allowed:.0e}", "holds" if x.holds else "FAILS") for x in found.lines]
    lines += table(("compared", "worst", "allowed", "verdict"), rows)
    lines.append(paragraph(_sentence(found.verdict)))
    lines += (
        bullet_list(f"Kept away from: {a.what} (states rejected: {a.states})." for a in found.avoided[:4])
        if found.avoided
        else []
    )
    lines += bullet_list(f"Cannot be decided: {what}." for what in found.undecided) if found.undecided else []
    worst = max((x.worst for x in found.lines), default=0.0)
    fact = f"{'passed' if found.passed else 'FAILED'}: {derivations}, {found.states} states, worst {worst:.1e}"
    return Content(tuple(lines), {"Certificate": fact}, "" if found.passed else f"The certificate failed: {found.verdict}")


def diagnosis(subject: Subject) -> Content | NotApplicable:
    """Diagnosis of the constraints."""
    found = diagnose(subject.model)
    lines: list[str] = []
    for heading, sentences in found.sections.items():
        lines += [f"<h3>{escape(heading.capitalize())}</h3>", *(paragraph(_sentence(s, subject.names)) for s in sentences)]
    freedoms = f"{found.freedoms_of_position} of position, {found.freedoms_of_velocity} of velocity"
    facts = {"Freedoms": freedoms}
    if found.index is not None and getattr(found.index, "differential", None) is not None:
        facts["Differential index as posed"] = str(found.index.differential)
    return Content(tuple(lines), facts, "" if found.can_move else "The constraints leave no motion.")


def _sentence(text: str, names: Collection[str] = ()) -> str:
    """A sentence with capital and period; names of the model keep their case."""
    begins_by_name = text.split(" ", 1)[0].rstrip(",:;") in names
    reported = text if begins_by_name else text[:1].upper() + text[1:]
    return reported if reported.endswith((".", ":", "!")) else f"{reported}."
