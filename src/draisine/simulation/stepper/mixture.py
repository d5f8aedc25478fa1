"""Forces, outputs and events while a run slides: the law is mixed from both sides so that it gives the sliding motion.

A mixed program (`program.mixed_branches`) takes branches between those of both sides. Where the fields are affine in the law, as
with dry friction or a relay, these are the shares of `sliding`; otherwise, as with a friction force that changes its own normal
force, they are solved for, from ż = 0 on every surface. If the mixed law then does not give the field of the sliding motion,
values are the means of both sides with the shares of the motion: those of infinitely fast switching. Restricted Python.
"""

from __future__ import annotations

import math

from draisine.codegen.restricted.types import Vector, call_kernel
from draisine.simulation.stepper.dense_matrices import lu_decompose, lu_solve
from draisine.simulation.stepper.force_split import NOISE, find_laws, split_forces
from draisine.simulation.stepper.layout import MEANS, MIXED, ONE_SIDED, Stepper
from draisine.simulation.stepper.sliding import combine_fields, solve_shares

ITERATIONS = 12
ROUNDING = 1e-14  # of the rate of a switching function, relative to its jump, at which the iteration ends
DIFFERENCE = 1e-7  # change of a branch for derivatives
AGREEMENT = 1e-8  # of the field of a mixed law with that of the sliding motion, relative to the jump of the field
NEGLIGIBLE = 1e-12  # rounding errors of a field, relative to itself and to its largest jump


def mix_branches(s: Stepper) -> None:
    """The mixed branches at (time, point) in `mixed_parameters`; `mixture_kind` says whether they give the sliding motion."""
    before = s.evaluations
    solve_shares(s)
    combine_fields(s, s.sliding_motion)
    for l in range(len(s.parameters)):
        s.mixed_parameters[l] = s.sliding_parameters[0, l]
    set_branches(s)
    if s.sliding_row == 0:
        solve_branches(s)
    s.mixture_kind = MIXED
    given = gives_motion(s, NEGLIGIBLE)
    if given:
        split_equally(s)
    elif s.resting == 0:
        solve_shares(s)
        set_branches(s)
        s.mixture_kind = MEANS
    s.evaluations = before  # those of the motion are counted


def split_equally(s: Stepper) -> None:
    """Split forces between laws that share a surface (`force_split`), if the motion remains the same."""
    listed = find_laws(s)
    if listed == 0:
        return
    for b in range(len(s.branch)):
        s.split_before[b] = s.mixed_parameters[s.first_branch + b]
    shared = split_forces(s, listed)
    done, going = False, shared
    for _ in range(ITERATIONS):
        if going and not done:
            done = gives_motion(s, NOISE)
            going = done or split_forces(s, listed)
    if not done:
        if shared:
            s.split_failures += 1
        for b in range(len(s.branch)):
            s.mixed_parameters[s.first_branch + b] = s.split_before[b]


def branch_entry(s: Stepper, i: int) -> int:
    """The entry of the parameters that is the branch of surface i."""
    return s.first_branch + int(s.margin_branch[int(s.sliding_margin[i])])


def set_branches(s: Stepper) -> None:
    """Branches from the shares of the sliding motion."""
    for i in range(s.sliding):
        entry = branch_entry(s, i)
        present = s.sliding_parameters[0, entry]
        share = min(max(s.share[i], 0.0), 1.0)
        s.mixed_parameters[entry] = present + share * (s.sliding_parameters[i + 1, entry] - present)


def rates_are_zero(s: Stepper) -> bool:
    """Evaluate the rates of the switching functions with the mixed law; whether they are zero on the surfaces."""
    call_kernel(s.mixed_rates, (s.time, s.point, s.u, s.mixed_parameters), (s.mixed_rate,))
    for i in range(s.sliding):
        switch = int(s.margin_branch[int(s.sliding_margin[i])])
        jump = 0.0
        for k in range(s.sliding):
            jump = max(jump, abs(s.sliding_rate[k + 1, switch] - s.sliding_rate[0, switch]))
        if abs(s.mixed_rate[switch]) > ROUNDING * jump:
            return False
    return True


def solve_branches(s: Stepper) -> None:
    """Newton's method for the branches with which the motion stays on all surfaces."""
    for _ in range(ITERATIONS):
        if rates_are_zero(s):
            return
        for i in range(s.sliding):
            s.share[i] = -s.mixed_rate[int(s.margin_branch[int(s.sliding_margin[i])])]
        for k in range(s.sliding):
            entry = branch_entry(s, k)
            present = s.mixed_parameters[entry]
            s.mixed_parameters[entry] = present + DIFFERENCE
            call_kernel(s.mixed_rates, (s.time, s.point, s.u, s.mixed_parameters), (s.mixed_rate,))
            s.mixed_parameters[entry] = present
            for i in range(s.sliding):
                rate = s.mixed_rate[int(s.margin_branch[int(s.sliding_margin[i])])]
                s.sliding_matrix[i, k] = (rate + s.share[i]) / DIFFERENCE
        if lu_decompose(s.sliding_matrix, s.sliding_pivot, s.sliding) >= 0:
            return
        lu_solve(s.sliding_matrix, s.sliding_pivot, s.sliding, s.share)
        largest = 0.0
        for i in range(s.sliding):
            s.mixed_parameters[branch_entry(s, i)] += s.share[i]
            largest = max(largest, abs(s.share[i]))
        if not largest > ROUNDING:
            return


def gives_motion(s: Stepper, negligible: float) -> bool:
    """Whether the field of the mixed law is that of the sliding motion, in `sliding_motion`, up to negligible parts."""
    call_kernel(s.mixed_dynamics, (s.time, s.point, s.u, s.mixed_parameters), (s.mixed_field,))
    largest = 0.0
    for l in range(s.plain_states):
        largest = max(largest, jump_of(s, l))
    for l in range(s.plain_states):
        room = AGREEMENT * jump_of(s, l) + negligible * (abs(s.sliding_motion[l]) + largest)
        if not abs(s.mixed_field[l] - s.sliding_motion[l]) <= room:
            return False
    return True


def jump_of(s: Stepper, l: int) -> float:
    """The largest jump of a component of the field at the surfaces."""
    jump = 0.0
    for i in range(s.sliding):
        jump = max(jump, abs(s.sliding_field[i + 1, l] - s.sliding_field[0, l]))
    return jump


def mixed_values(s: Stepper, kernel: int, target: Vector, count: int) -> None:
    """The values of a mixed program at (time, point)."""
    mix_branches(s)
    if s.mixture_kind == MIXED:
        call_kernel(kernel, (s.time, s.point, s.u, s.mixed_parameters), (target,))
        return
    first, other = s.mixed_value[0], s.mixed_value[1]
    call_kernel(kernel, (s.time, s.point, s.u, s.sliding_parameters[0]), (first,))
    for e in range(count):
        target[e] = first[e]
    for i in range(s.sliding):
        call_kernel(kernel, (s.time, s.point, s.u, s.sliding_parameters[i + 1]), (other,))
        for e in range(count):
            target[e] += s.share[i] * (other[e] - first[e])


def record_mixture(s: Stepper, time: float, x: Vector, row: Vector) -> None:
    """Record how the law is mixed at (time, x): the kind, then all branches.

    Where a run ends because the motion on its surfaces is not determined, the law is that of the surfaces before the last one.
    """
    row[0] = ONE_SIDED
    if s.sliding > 0 and s.mixed_dynamics != 0:
        for l in range(s.states):
            s.point[l] = x[l]
        s.time[0] = time
        surfaces = s.sliding
        mix_branches(s)
        while s.sliding > 0 and not is_determined(s):
            s.sliding -= 1
            mix_branches(s)
        if s.sliding > 0:
            row[0] = s.mixture_kind
            for b in range(len(s.branch)):
                row[b + 1] = s.mixed_parameters[s.first_branch + b]
            if s.mixture_kind == MEANS:
                s.means += 1
                if s.means == 1:
                    s.means_time = time
        s.sliding = surfaces


def is_determined(s: Stepper) -> bool:
    """Whether all mixed branches are numbers."""
    unknown = 0
    for i in range(s.sliding):
        if not math.isfinite(s.mixed_parameters[branch_entry(s, i)]):
            unknown += 1
    return unknown == 0
