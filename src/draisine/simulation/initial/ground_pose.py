"""References turned and shifted with the targets: a mechanism on the ground is put where the targets want it, as a whole.

The distance from the defaults would be smaller for a bicycle that leans than for one that is turned by half a turn. Headings
and positions therefore move the references of a whole assembly first, so that turning or shifting all targets turns or shifts
the start and changes nothing else. Restricted Python, like `newton`.
"""

from __future__ import annotations

import math

from draisine.simulation.initial.memory import System
from draisine.simulation.initial.residual_system import copy, evaluate_rows

MAX_MOVES = 8
NOTICEABLE = 1e-6  # part of its terms below which a derivative is a rounding error
REACHED = 1e-15


def align_references(s: System) -> None:
    """Turn and shift the references of each assembly towards the targets of headings and positions."""
    for a in range(s.assemblies):
        follow_prescribed(s, a)
        if can_turn(s, a):
            turn_to_targets(s, a)
        shift_to_targets(s, a)


def evaluate_references(s: System) -> None:
    """Residuals and their Jacobian at the references, in `trial`."""
    copy(s.reference, s.trial.y)
    evaluate_rows(s, s.trial)


def follow_prescribed(s: System, a: int) -> None:
    """Shift and turn an assembly with the first of its positions and headings that are prescribed."""
    for axis in range(2):
        shift, found = 0.0, False
        for k in range(len(s.point_x)):
            j = s.point_x[k] if axis == 0 else s.point_y[k]
            if s.point_assembly[k] == a and j >= 0 and s.prescribed[j] == 1 and not found:
                shift = s.reference[j] - s.default[j]
                found = True
        for k in range(len(s.point_x)):
            j = s.point_x[k] if axis == 0 else s.point_y[k]
            if s.point_assembly[k] == a and j >= 0 and s.prescribed[j] == 0:
                s.reference[j] += shift
    for k in range(len(s.turn)):
        j = s.turn[k]
        if s.turn_assembly[k] == a and s.turn_kind[k] == 1 and s.prescribed[j] == 1:
            turn_assembly(s, a, s.reference[j] - s.default[j])
            return


# ---------------------------------------------------------------------------------------------------------- headings


def can_turn(s: System, a: int) -> bool:
    """Whether an assembly has headings, none of them prescribed."""
    found = False
    for k in range(len(s.turn)):
        if s.turn_assembly[k] == a:
            found = True
            if is_prescribed(s, k):
                return False
    return found


def is_prescribed(s: System, k: int) -> bool:
    """Whether a component of a heading is prescribed."""
    count = 0
    for j in range(s.turn[k], s.turn[k] + s.turn_kind[k]):
        count += s.prescribed[j]
    return count > 0


def turn_to_targets(s: System, a: int) -> None:
    """Turn an assembly so that the first target that is a heading has its value."""
    evaluate_references(s)
    row = -1
    for i in range(s.rows):
        if row < 0 and s.targeted[i] == 1 and not depends_on_position(s, a, i) and depends_on_heading(s, a, i):
            row = i
    if row < 0:
        return
    for _ in range(MAX_MOVES):
        left = s.trial.residual[row]
        slope = turn_derivative(s, a, row)
        if not abs(left) > REACHED or not abs(slope) > 0.0:
            return
        copy(s.reference, s.last_reference)
        turn_assembly(s, a, -left / slope)
        evaluate_references(s)
        if not abs(s.trial.residual[row]) < abs(left):
            copy(s.last_reference, s.reference)
            return


def depends_on_position(s: System, a: int, i: int) -> bool:
    """Whether a row changes when an assembly is shifted."""
    return shift_derivative(s, a, i, 0) != 0.0 or shift_derivative(s, a, i, 1) != 0.0


def depends_on_heading(s: System, a: int, i: int) -> bool:
    """Whether a row changes when an assembly is turned, by more than rounding errors."""
    size = 0.0
    for k in range(len(s.turn)):
        if s.turn_assembly[k] == a:
            for j in range(s.turn[k], s.turn[k] + s.turn_kind[k]):
                size += abs(s.trial.jacobian[i, j])
    return abs(turn_derivative(s, a, i)) > NOTICEABLE * size


def turn_derivative(s: System, a: int, i: int) -> float:
    """The derivative of a row by the angle of an assembly about the vertical through its pivot."""
    y = s.reference
    total = 0.0
    for k in range(len(s.turn)):
        if s.turn_assembly[k] == a:
            j = s.turn[k]
            if s.turn_kind[k] == 1:
                total += s.trial.jacobian[i, j]
            else:  # half of the unit vector along z times the quaternion
                total -= 0.5 * (y[j + 3] * s.trial.jacobian[i, j] + y[j + 2] * s.trial.jacobian[i, j + 1])
                total += 0.5 * (y[j + 1] * s.trial.jacobian[i, j + 2] + y[j] * s.trial.jacobian[i, j + 3])
    first = pivot(s, a)
    for k in range(len(s.point_x)):
        if s.point_assembly[k] == a and k != first:
            if s.point_x[k] >= 0:
                total -= (coordinate(s, s.point_y[k]) - coordinate(s, s.point_y[first])) * s.trial.jacobian[i, s.point_x[k]]
            if s.point_y[k] >= 0:
                total += (coordinate(s, s.point_x[k]) - coordinate(s, s.point_x[first])) * s.trial.jacobian[i, s.point_y[k]]
    return total


def turn_assembly(s: System, a: int, angle: float) -> None:
    """Turn the references of an assembly about the vertical through its pivot."""
    y = s.reference
    c, n = math.cos(0.5 * angle), math.sin(0.5 * angle)
    for k in range(len(s.turn)):
        if s.turn_assembly[k] == a and not is_prescribed(s, k):
            j = s.turn[k]
            if s.turn_kind[k] == 1:
                y[j] += angle
            else:
                w, x, v, z = y[j], y[j + 1], y[j + 2], y[j + 3]
                y[j] = c * w - n * z
                y[j + 1] = c * x - n * v
                y[j + 2] = c * v + n * x
                y[j + 3] = c * z + n * w
    first = pivot(s, a)
    c, n = math.cos(angle), math.sin(angle)
    for k in range(len(s.point_x)):
        if s.point_assembly[k] == a and k != first:
            ahead = coordinate(s, s.point_x[k]) - coordinate(s, s.point_x[first])
            aside = coordinate(s, s.point_y[k]) - coordinate(s, s.point_y[first])
            if s.point_x[k] >= 0 and s.prescribed[s.point_x[k]] == 0:
                y[s.point_x[k]] += (c - 1.0) * ahead - n * aside
            if s.point_y[k] >= 0 and s.prescribed[s.point_y[k]] == 0:
                y[s.point_y[k]] += (c - 1.0) * aside + n * ahead


def pivot(s: System, a: int) -> int:
    """The point about which an assembly turns: the first that is prescribed, else the first; each assembly has one."""
    first = -1
    for k in range(len(s.point_x)):
        if s.point_assembly[k] == a:
            if first < 0:
                first = k
            x, y = s.point_x[k], s.point_y[k]
            if x >= 0 and y >= 0 and s.prescribed[x] == 1 and s.prescribed[y] == 1:
                return k
    return first


def coordinate(s: System, j: int) -> float:
    """The reference of a coordinate; zero where a tree has none."""
    return s.reference[j] if j >= 0 else 0.0


# --------------------------------------------------------------------------------------------------------- positions


def shift_to_targets(s: System, a: int) -> None:
    """Shift an assembly along x and y so that the first two independent targets of positions have their values."""
    for _ in range(MAX_MOVES):
        evaluate_references(s)
        first, second = -1, -1
        ax, ay, bx, by = 0.0, 0.0, 0.0, 0.0
        for i in range(s.rows):
            if s.targeted[i] == 1 and second < 0:
                x, y = shift_derivative(s, a, i, 0), shift_derivative(s, a, i, 1)
                if first < 0 and (x != 0.0 or y != 0.0):
                    first = i
                    ax, ay = x, y
                elif first >= 0 and abs(ax * y - ay * x) > NOTICEABLE * math.sqrt((ax * ax + ay * ay) * (x * x + y * y)):
                    second = i
                    bx, by = x, y
        if first < 0:
            return
        left = s.trial.residual[first]
        other = s.trial.residual[second] if second >= 0 else 0.0
        if not (abs(left) > REACHED or abs(other) > REACHED):
            return
        if second >= 0:
            area = ax * by - ay * bx
            along_x, along_y = (ay * other - by * left) / area, (bx * left - ax * other) / area
        else:
            along_x, along_y = -ax * left / (ax * ax + ay * ay), -ay * left / (ax * ax + ay * ay)
        copy(s.reference, s.last_reference)
        for k in range(len(s.point_x)):
            if s.point_assembly[k] == a:
                if s.point_x[k] >= 0:
                    s.reference[s.point_x[k]] += along_x
                if s.point_y[k] >= 0:
                    s.reference[s.point_y[k]] += along_y
        evaluate_references(s)
        now = abs(s.trial.residual[first]) + (abs(s.trial.residual[second]) if second >= 0 else 0.0)
        if not now < abs(left) + abs(other):
            copy(s.last_reference, s.reference)
            return


def shift_derivative(s: System, a: int, i: int, axis: int) -> float:
    """The derivative of a row by a shift of an assembly along x (0) or y (1); zero where a coordinate is prescribed."""
    total = 0.0
    for k in range(len(s.point_x)):
        if s.point_assembly[k] == a:
            j = s.point_x[k] if axis == 0 else s.point_y[k]
            if j >= 0:
                if s.prescribed[j] == 1:
                    return 0.0
                total += s.trial.jacobian[i, j]
    return total
