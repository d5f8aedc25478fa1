"""Critical values: where a mode gains or loses stability, and where two real modes become an oscillation or the reverse.

`crossings` brackets them; then each is solved on the exact linear model (`bracket_solver`), those close together mode by mode
(`shaped_crossings`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import SolverError
from draisine.numerics.spectrum import EPS
from draisine.stability.bracket_solver import Event, Solver
from draisine.stability.critical_gradient import CriticalCondition, several_modes
from draisine.stability.crossings import LEAST, Change, Matrices, changes
from draisine.stability.mode_names import AT_ZERO, INFINITE, ZERO, ModeNames
from draisine.stability.shaped_crossings import Group, crossings_of, grouped_brackets
from draisine.stability.steady_family import Family
from draisine.stability.value_condition import known
from draisine.stability.zones import Zones

Array = NDArray[np.float64]

_ZERO = 16.0 * EPS  # value that is zero, relative to the largest of the sweep
_NOISE = 1e-13  # share of a parameter in the change of a value that is rounding error
POLE = 100.0  # a matrix this many times larger next to a value than beside it is infinite there
NARROW = 1e-2  # a bracket, of the sampling, that can tell
HALVINGS = 45


@dataclass(frozen=True)
class Critical:
    """A critical value of `over`: its kind, and the eigenvalue (of a pair the one with positive imaginary part).

    `change`: how many more eigenvalues grow above the value than below it: 1 or −1 for a real mode, 2 or −2 for a pair, also one
    whose frequency vanishes there, 0 where an oscillation begins or ends, or a mode stops decaying. `zeros`: number of modes that
    are zero at every value. `uncertainty`: within this of the value the real part is below its rounding error, as at a zero of
    higher order, or rounding of the linear model moves the value, as that of a nearly defective mode; zero where the value is
    known to rounding itself.
    """

    kind: str
    over: str
    value: float
    eigenvalue: complex
    family: Family = field(repr=False, compare=False)
    change: int = 0
    zeros: int = 0
    unit: str = ""
    uncertainty: float = 0.0

    def gradient(self) -> dict[str, float]:
        """Exact ∂value/∂parameter for every parameter of the model, with all other fixed quantities constant.

        The steady motion follows the parameter; the derivative by the swept quantity itself is zero. Where several modes are
        critical together there is no derivative (`draisine.errors.SolverError`). `gradient_units` has the units.
        """
        a, over, gradients = self.family.derivatives(np.array([self.value]))
        condition = None if several_modes(a, self.eigenvalue, self.zeros) else CriticalCondition(a, self.eigenvalue, self.zeros)
        against = 0.0 if condition is None else condition.change(over[0])
        if condition is None or against == 0.0:
            why = "several modes are critical together" if condition is None else "the mode only touches the axis"
            raise SolverError(
                f"{self.family.equations.name}: at {self.over} = {self.value:.6g} {why}; the value has no derivative by a "
                f"parameter that "
                "changes one of them alone"
            )
        found = {name: -condition.change(slope) / against if name != self.over else 0.0 for name, slope in gradients.items()}
        sizes = {p.name: abs(p.default) or 1.0 for p in self.family.equations.parameters}
        most = max((abs(value) * sizes[name] for name, value in found.items()), default=0.0)
        return {name: value if abs(value) * sizes[name] > _NOISE * most else 0.0 for name, value in found.items()}

    @property
    def gradient_units(self) -> dict[str, str]:
        """Units of the gradient: that of the swept quantity over that of each parameter."""
        return {p.name: _ratio(self.unit, p.unit) for p in self.family.equations.parameters}

    def as_data(self) -> dict[str, Any]:
        z = self.eigenvalue
        own = {"uncertainty": self.uncertainty} if self.uncertainty else {}
        return {
            "kind": self.kind,
            self.over: self.value,
            "re": z.real,
            "im": z.imag,
            "change": self.change,
            "unit": self.unit,
            **own,
        }


def _ratio(above: str, below: str) -> str:
    if above == below:
        return ""
    if not below:
        return above
    return f"{above or '1'}/({below})" if any(sign in below for sign in "*/ ") else f"{above or '1'}/{below}"


def critical_values(family: Family, over: str, values: Array, names: ModeNames, unit: str = "") -> list[Critical]:
    """All critical values in the range of a sweep, one for each mode, in order."""

    found = changes(lambda at: family.matrices(at[:, None]).A, values)
    matrices = found.matrices
    zones = Zones(matrices, (float(np.min(values)), float(np.max(values))))
    solver = Solver(matrices, found.zeros, names, zones, matrices)
    events: list[Event] = []
    groups = grouped_brackets(found, float(np.ptp(values)) / LEAST)
    resolved: list[tuple[Group, list[Event]]] = []
    unresolved: list[Group] = []
    edges = [float(np.min(values)), *(group.high for group in groups)], [*(group.low for group in groups), float(np.max(values))]
    for group, low, high in zip(groups, edges[0][:-1], edges[1][1:], strict=True):
        shaped = crossings_of(matrices, group, (low, high))
        nested = solver.nested(group, (low, high)) if shaped is None else []
        if shaped is not None or nested:
            resolved.append((group, nested if shaped is None else solver.named(shaped, group)))
        else:
            unresolved.append(group)
    joined = list(zones.joined([change for group in unresolved for change in group.brackets]))
    others = [(group.low, group.high) for group in groups] + [(change.low, change.high) for change in joined]
    intervals = [interval for group in groups for interval in group.equal]
    joined = [solver.widened(change, _room(change, others, zones.limits), intervals) for change in joined]
    for group, some in resolved:
        if not any(change.low <= group.low and group.high <= change.high for change in joined):  # of which it is a part
            events += some
    for change in joined:
        pole = _pole(matrices, change, (float(np.min(values)), float(np.max(values))))
        if pole is None:
            events += solver.events(change)
        else:
            events.append(Event(INFINITE, pole, complex(np.inf), int((change.after - change.before)[:2].sum())))
    equal = [solver.between(low, high, group.width) for group in unresolved for low, high in group.equal]
    equal = [change for change in equal if not solver.explained(change, joined)]
    events += [event for change in equal for event in solver.alike(change)]
    events = known(matrices, events, found.zeros, float(np.ptp(values)) / LEAST, zones.limits)
    least = _ZERO * float(np.abs(values).max(initial=0.0))  # what rounding makes of zero
    events = [replace(e, value=0.0) if abs(e.value) <= least else e for e in events]
    events = [replace(e, kind=AT_ZERO) if e.kind == ZERO and abs(e.change) == 2 else e for e in events]
    return [
        Critical(e.kind, over, e.value, e.eigenvalue, family, e.change, found.zeros, unit, e.uncertainty)
        for e in sorted(events, key=lambda e: (e.value, not e.change))
    ]


def _room(change: Change, others: list[tuple[float, float]], range_: tuple[float, float]) -> tuple[float, float]:
    """The interval about a bracket in which nothing else of a sweep changes."""
    below = [high for _, high in others if high <= change.low]
    above = [low for low, _ in others if low >= change.high]
    return max(below, default=range_[0]), min(above, default=range_[1])


def _pole(matrices: Matrices, change: Change, range_: tuple[float, float]) -> float | None:
    """Where the matrix is infinite within a bracket: modes change their signs there without being zero; None if nowhere.

    Next to a pole the matrix is larger than beside it by the ratio of the distances; regular matrices hardly differ.
    """

    def size(at: Array) -> Array:
        found: Array = np.abs(matrices(at)).reshape(len(at), -1).max(axis=1)
        return np.where(np.isfinite(found), found, np.inf)

    low, high = change.low, change.high
    beside = [s for s in (low - change.width, high + change.width) if range_[0] <= s <= range_[1]]
    if (
        not beside
        or high - low > NARROW * change.width
        or size(np.array([low, high])).min() < POLE * size(np.array(beside)).max()
    ):
        return None
    for _ in range(HALVINGS):
        points = np.linspace(low, high, 5)
        k = int(np.argmax(size(points)))
        low, high = float(points[max(k - 1, 0)]), float(points[min(k + 1, 4)])
    return 0.5 * (low + high)
