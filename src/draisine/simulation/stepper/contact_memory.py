"""The driver's side of unilateral contacts: their kernels, their record for the loop, and its growth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.jit.kernel import HoistedKernel, Kernel
from draisine.program.equations import Equations, Unilateral
from draisine.results.contact_modes import ContactHistory, RecordedChanges
from draisine.simulation.stepper.contact_field import BLOCK_COLUMNS
from draisine.simulation.stepper.contact_layout import (
    ENERGETIC,
    MODE_ENTRIES,
    MONITORED,
    NEWTON,
    OPEN,
    POISSON,
    SLIP,
    SLIPPING,
    STICK,
    ContactModes,
)
from draisine.simulation.stepper.layout import Stepper

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

LAWS = {"energetic": ENERGETIC, "poisson": POISSON, "newton": NEWTON}
CHANGES = ("change_time", "change_mode", "change_entries", "change_impulse", "change_lost", "change_sample", "change_step")
CHANGE_COLUMNS = ("time", "mode", "impulse", "lost")  # that are reported
PRELOAD = 6  # first entry of preloads behind the modes
FIRST_ROOM = 64  # changes of modes
LARGER = 10.0  # compliance where modes change, which few iterations remove, relative to that of the equations


class UsualKernels(NamedTuple):
    """Kernels of the usual modes of contacts."""

    dynamics: HoistedKernel
    margins: Kernel
    project: Kernel | None
    worst: float  # condition of the independent velocities


@dataclass(frozen=True)
class UnilateralKernels:
    """Unilateral contacts of equations, addresses of the kernels of their margins and terms, and sizes."""

    contacts: tuple[Unilateral, ...]
    margins: int
    terms: int
    velocities: int
    rows: int
    first_velocity: int
    length: float
    system: int = 0
    usual: UsualKernels | None = None
    driven: bool = True  # whether rows have velocities of their own, as those of moving ground

    @cached_property
    def empty_record(self) -> ContactModes:
        """The contacts without modes, to be cloned for every run."""
        return _contact_record(self)


def _contact_record(kernels: UnilateralKernels) -> ContactModes:
    contacts, n, m = kernels.contacts, kernels.velocities, kernels.rows
    made, count = ContactModes(), len(kernels.contacts)
    own = {row for c in contacts for row in c.rows}
    permanent = [row for row in range(m) if row not in own]
    made.contacts, made.velocities, made.rows, made.first_velocity = count, n, m, kernels.first_velocity
    made.terms, made.margin_kernel, made.length = kernels.terms, kernels.margins, kernels.length
    made.change_room = FIRST_ROOM
    size = n + m
    made.allocate(
        {
            **{
                name: (count,)
                for name in ("normal", "tangential", "ways", "law", "gap", "choice", "best", "active", "group", "stands")
            },
            **{name: (count,) for name in ("host", "pressing", "column")},
            **{
                name: (count,)
                for name in (
                    "excluded",
                    "settled",
                    "before_stop",
                    "begun",
                    "touch",
                    "angle",
                    "angle_contact",
                    "angle_pivot",
                    "angle_side",
                )
            },
            "angle_matrix": (count, count),
            "turning": (3, 3),
            "slip_then": (count,),
            **{name: (count, n) for name in ("turn_column", "turn_effect")},
            "rates": (kernels.first_velocity + 1,),
            "lower": (n * n,),
            "columns": (m * n,),
            "effect": (m + BLOCK_COLUMNS, n),
            "weighted": (m + 1, n),
            "field_matrix": (m + 1, m + BLOCK_COLUMNS),
            **{name: (n,) for name in ("inverse", "load", "pull", "scaled")},
            **{name: (m,) for name in ("row_side", "row_speed", "drift", "rubbing", "compliance", "multiplier")},
            **{name: (m,) for name in ("field_row", "field_pivot", "field_side", "field_force", "field_new", "field_step")},
            **{name: (count,) for name in ("gaps", "forward", "static_friction")},
            "permanent": (len(permanent),),
            "margins": (2 * count + 1,),
            "stage_margin": (MONITORED, 2 * count),
            "mass": (n * n,),
            **{name: (n,) for name in ("force", "free")},
            "row": (m * n,),
            **{
                name: (m,)
                for name in ("bias", "speed", "offset", "target", "reaction", "result", "impulse", "total", "unknown", "share")
            },
            **{name: (m,) for name in ("best_reaction", "best_result", "small_side", "small_row", "small_pivot")},
            "coefficient": (3 * count,),
            "landing": (4 * count,),
            **{name: (count,) for name in ("below", "bounded")},
            "system": (size, size),
            **{name: (size,) for name in ("system_pivot", "side")},
            "response": (m, n),
            **{name: (m, m) for name in ("delassus", "small", "small_copy", "shared_effect", "shared_force")},
            **{name: (m,) for name in ("small_place", "shared_column")},
            **{
                name: (m + 1,)
                for name in ("shared", "shared_before", "shared_step", "shared_pivot", "cone_rate", "barrier_slope")
            },
            "barrier_matrix": (m + 1, m + 1),
            "cone_slope": (3, m + 1),
            "cone_force": (2,),
            **{name: (count, 2) for name in ("direction", "trial", "best_direction")},
            **{name: (7,) for name in ("path", "path_new", "path_point")},
            "path_rate": (4, 7),
            "path_force": (2,),
            **{name: (FIRST_ROOM,) for name in ("change_time", "change_lost", "change_sample", "change_step")},
            "change_mode": (FIRST_ROOM, count),
            "change_entries": (FIRST_ROOM, (MODE_ENTRIES - 2) * count),
            "change_impulse": (FIRST_ROOM, m),
        }
    )
    made.normal[:], made.tangential[:] = [c.normal for c in contacts], [c.tangential for c in contacts]
    made.ways[:], made.law[:] = [c.count for c in contacts], [LAWS[c.impact] for c in contacts]
    made.host[:] = [c.host for c in contacts]
    made.pressing[:] = [c.normal if c.host < 0 else contacts[c.host].normal for c in contacts]
    made.permanent[:] = permanent
    made.bounded[:] = [c.bounded for c in contacts]
    made.without_collision = int(any(c.without_collision for c in contacts))
    made.driven = int(kernels.driven)
    made.sequential = int(any(c.sequential for c in contacts))
    made.stands[:] = [c.stands for c in contacts]
    for c in contacts:  # forces that are not determined are those of the equations: what changes modes is what runs have
        made.share[list(c.rows)] = LARGER * np.array(c.compliance) if c.compliance else 0.0
    made.dependent = int(made.share.any())
    made.shares = made.dependent
    return made


def use_usual_modes(modes: ContactModes, kernels: UnilateralKernels, stepper: Stepper, project: int) -> None:
    """Give the record the kernels of the usual modes and, beside them, those of all modes."""
    modes.margin_kernel, modes.terms, modes.system_kernel = kernels.margins, kernels.terms, kernels.system
    modes.all_dynamics, modes.all_project, modes.all_margins = stepper.dynamics, project, kernels.margins
    if kernels.usual is None:
        return
    usual = kernels.usual
    addresses = usual.dynamics.address, 0 if usual.project is None else usual.project.address, usual.margins.address
    modes.usual_dynamics, modes.usual_project, modes.usual_margins = addresses
    modes.worst = usual.worst
    if modes.usual:  # the same modes by other code
        stepper.dynamics, stepper.project, modes.margin_kernel = addresses


def mode_parameters(modes: ContactModes, change: int, parameters: Reals) -> Reals:
    """The parameters with the modes after a change."""
    found = parameters.copy()
    entries = found[len(found) - MODE_ENTRIES * modes.contacts :].reshape(-1, MODE_ENTRIES)
    mode = modes.change_mode[change]
    entries[:, 0], entries[:, 1] = mode != OPEN, mode == STICK
    entries[:, 2:] = modes.change_entries[change].reshape(-1, MODE_ENTRIES - 2)
    # its direction is that of the slip alone wherever it is not zero; that of the record is the first one
    planar = (mode == SLIP) & (modes.ways > 1)
    entries[planar, 6], entries[planar, 7] = 0.0, np.maximum(entries[planar, 7], SLIPPING)
    return found


def contact_history(modes: ContactModes, equations: Equations, end: float) -> ContactHistory:
    """The changes of modes of a run."""
    names, rows, scaled = impulse_rows(equations)
    kept = _changes_of_modes(modes)
    time, mode, impulse, lost = (getattr(modes, f"change_{name}")[: modes.change_count][kept] for name in CHANGE_COLUMNS)
    scale = np.where(scaled, modes.landing[2::4, None], 1.0) if scaled.any() else np.ones((1, 1))
    return ContactHistory(names, RecordedChanges(names, time, mode, impulse, rows, scale, lost), end)


def _changes_of_modes(modes: ContactModes) -> Bools:
    """Which records change modes, slips or velocities: others have only forces that are not determined."""
    mode, impulse = modes.change_mode[: modes.change_count], modes.change_impulse[: modes.change_count]
    entries = modes.change_entries[: modes.change_count].reshape(len(mode), modes.contacts, MODE_ENTRIES - 2)
    if len(mode) == 0 or not entries[:, :, PRELOAD:].any():
        return np.ones(len(mode), dtype=bool)
    slips = entries[:, :, :PRELOAD].reshape(len(mode), -1)
    changed = (np.diff(mode, axis=0) != 0).any(axis=1) | (np.diff(slips, axis=0) != 0.0).any(axis=1) | impulse[1:].any(axis=1)
    return np.concatenate([[True], changed])


@lru_cache(maxsize=64)
def impulse_rows(equations: Equations) -> tuple[tuple[str, ...], Integers, Bools]:
    """Names of the contacts that open; the rows of their impulses, normal, along and across, −1 where there is none; and which
    of them are recorded in a scale: moments of resistances, and what anisotropic friction has across."""
    contacts, names = equations.unilateral, {quantity.name for quantity in equations.multipliers}
    rows, scaled = np.full((len(contacts), 3), -1), np.zeros((len(contacts), 3), dtype=bool)
    for j, c in enumerate(contacts):
        rows[j, 0] = c.normal
        ways = [place for place, way in ((1, "along"), (2, "across")) if f"{c.name}_{way}_multiplier" in names]
        rows[j, ways] = range(c.tangential, c.tangential + len(ways))
        scaled[j, 1:] = c.host >= 0, True
    return tuple(c.name for c in contacts), rows, scaled & (rows >= 0)


def grow_changes(modes: ContactModes) -> None:
    """Double the room for changes of modes."""
    for name in CHANGES:
        old = getattr(modes, name)
        new = np.zeros((2 * modes.change_room, *old.shape[1:]), dtype=old.dtype)
        new[: modes.change_count] = old[: modes.change_count]
        setattr(modes, name, new)
    modes.change_room *= 2


__all__ = ["CHANGES", "MODE_ENTRIES", "UnilateralKernels", "contact_history", "grow_changes", "mode_parameters"]
