"""Which velocities a start sets to rest, and in which order: what is not given is zero as far as the rest allows.

A bicycle with a turned handlebar must turn. Least squares of its turning and sway together would let it roll a little, to turn a
little less; a person expects that it does not roll. The rate about the forward axis is therefore a group of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from draisine.program.equations import NO_STRUCTURE, Equations, Quantity
from draisine.simulation.initial.evaluation import Bools, Indices, Reals


class Group(IntEnum):
    """Groups in the order in which they are set to rest."""

    SLIP = 1  # longitudinal slip of wheels whose spin is not given
    DRIVEN = 2  # rates of joints that carry an input, a force or a spring
    ROLL = 3  # rate of the body whose speed is given, else of the root body, about its forward axis
    BODY = 4  # its turning and sway
    OTHERS = 5  # all other velocities
    SPINS = 6  # spins whose angle enters neither the dynamics nor the constraints


@dataclass(frozen=True, eq=False)
class RestRows:
    """Rows that are zero at rest: velocities themselves, or values that are linear in them."""

    group: Indices
    unknown: Indices  # the velocity; −1 for a value
    value: Indices  # the value; −1 for a velocity
    in_meters: Indices  # 1 for values in m/s
    body: str = ""  # whose turning and sway are among them

    def within(self, free: Bools) -> RestRows:
        """The rows without those of velocities that are not free."""
        kept = (self.unknown < 0) | free[self.unknown]
        return RestRows(self.group[kept], self.unknown[kept], self.value[kept], self.in_meters[kept], self.body)


_NONE = np.zeros(0, dtype=np.intp)
NO_REST = RestRows(_NONE, _NONE, _NONE, _NONE)


@dataclass(frozen=True, eq=False)
class RestTable:
    """All rows that can be set to rest, as plain numbers; the page has the same table."""

    slips: tuple[tuple[str, int, int], ...]  # output, its value, the velocity of the wheel's spin or −1
    speeds: tuple[tuple[str, int], ...]  # names that give the speed of a body, and the body
    bodies: tuple[str, ...]
    first: int  # value of the first twist; six for each body
    velocities: tuple[int, ...]  # the group of each

    @staticmethod
    def of(e: Equations, velocities: Sequence[Quantity], output_rows: Mapping[str, int], first: int) -> RestTable:
        """The table of equations with these velocities; without twists `first` is −1."""
        parts = e.structure
        # the spin of a wheel that may slip follows from its slip, also where a brake or a drive acts on it
        spins = {spin for _, spin in parts.slips}
        driven, ignorable = set(parts.driven) - spins, {*parts.ignorable, *spins}
        bodies = parts.bodies if first >= 0 else ()
        units = {v.name: v.unit for v in velocities}
        names = list(units)

        def others(unit: str) -> Group:
            """Of typed equations, which name no bodies, rates of angles rest before velocities of points."""
            return Group.BODY if parts == NO_STRUCTURE and unit == "rad/s" else Group.OTHERS

        return RestTable(
            tuple((n, output_rows[n], names.index(spin) if spin in names else -1) for n, spin in parts.slips if n in output_rows),
            tuple((name, bodies.index(body)) for name, body in parts.speeds if body in bodies),
            bodies,
            first,
            tuple(Group.DRIVEN if n in driven else Group.SPINS if n in ignorable else others(v) for n, v in units.items()),
        )

    def rows(self, given: Collection[str], used: Collection[int]) -> RestRows:
        """The rows for given names; `used` are the velocities on which the given values depend."""
        rows = [(Group.SLIP, -1, row, 1) for name, row, spin in self.slips if name not in given and spin not in used]
        measured = [body for name, body in self.speeds if name in given]
        body = measured[0] if measured else 0
        if self.bodies:
            first = self.first + 6 * body
            rows += [(Group.ROLL, -1, first + 3, 0), (Group.BODY, -1, first + 4, 0), (Group.BODY, -1, first + 5, 0)]
            # what is given of the velocity does not change
            rows += [(Group.BODY, -1, first + k, 1) for k in (range(3) if measured else (1, 2))]
        rows += [(Group(group), i, -1, 0) for i, group in enumerate(self.velocities)]
        table = np.array(sorted(rows, key=lambda row: row[0]), dtype=np.intp).reshape(-1, 4)
        group, unknown, value, in_meters = table.T
        return RestRows(group, unknown, value, in_meters, self.bodies[body] if self.bodies else "")


NEGLIGIBLE = 1e-9  # part of the largest velocity


def driven_rates(rows: RestRows, names: Sequence[str], v: Reals) -> dict[str, float]:
    """Rates of joints with a force that are not zero; `rows` are those of free velocities."""
    small = NEGLIGIBLE * float(np.abs(v).max(initial=0.0))
    own = [i for group, i in zip(rows.group.tolist(), rows.unknown.tolist(), strict=True) if group == Group.DRIVEN]
    return {names[i]: float(v[i]) for i in own if abs(v[i]) > small}


def rest_in_words(
    rows: RestRows, names: Sequence[str], labels: Sequence[str], v: Reals, values: Reals, instead: Mapping[str, str] = {}
) -> tuple[str, ...]:
    """What rests at a start, in sentences; `rows` are those of free velocities, `labels` the names of the values. `instead` says
    what would have to be given for a joint to rest."""
    small = NEGLIGIBLE * float(np.abs(v).max(initial=0.0))
    found = [
        (group, names[i] if i >= 0 else labels[k], float(v[i] if i >= 0 else values[k]))
        for group, i, k in zip(rows.group.tolist(), rows.unknown.tolist(), rows.value.tolist(), strict=True)
    ]
    if small == 0.0:
        return ("everything is at rest",)
    lines = list[str]()
    slips = [(name, x) for group, name, x in found if group == Group.SLIP]
    lines += [f"wheels do not slip along their track: {', '.join(f'{name} = 0' for name, x in slips if abs(x) <= small)}"] * any(
        abs(x) <= small for _, x in slips
    )
    lines += [f"{name} = {x:.6g} m/s, the least that is possible" for name, x in slips if abs(x) > small]
    driven = [(name, x) for group, name, x in found if group == Group.DRIVEN]
    still = [name for name, x in driven if abs(x) <= small]
    if still:
        lines.append(f"at rest: {', '.join(still)} ({'a joint with a force' if len(still) == 1 else 'joints with forces'})")
    lines += [
        f"{name} = {x:.6g}, the least that is possible (a joint with a force){instead.get(name, '')}"
        for name, x in driven
        if abs(x) > small
    ]
    if rows.body:
        own = {
            name.removeprefix(f"{rows.body}_"): abs(x) <= small for group, name, x in found if group in (Group.ROLL, Group.BODY)
        }
        if all(own[part] for part in ("wx", "wy", "wz", "vy", "vz")):
            lines.append(f"{rows.body} does not turn or sway")
        elif own["wx"]:
            lines.append(f"{rows.body} keeps its lean; it turns and sways as little as possible")
        else:
            lines.append(f"{rows.body} leans over, turns and sways as little as possible")
    return tuple(lines)
