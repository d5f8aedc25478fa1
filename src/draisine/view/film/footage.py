"""Footage of a run: solids, poses of bodies at equidistant times, tracks, forces, and channels for charts.

`footage_from_poses` makes it from a run and the poses of its bodies, independent of solvers and output formats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from draisine.results.jumps import thinned, values_at
from draisine.results.trajectory import Trajectory
from draisine.view.plots.contact_modes import MODE_COLORS
from draisine.view.scene.appearance import body_solids, slider_ranges
from draisine.view.scene.scene import Array, Blade, Cord, LoopClosure, Pose, Scene, Wheel
from draisine.view.scene.solids import Mesh, Solid, joined

_FORCE = 0.8  # of the extent: arrow length of a typical force


@dataclass(frozen=True, eq=False)
class Force:
    """A contact or constraint force: point of application and vector in the world frame, over time."""

    name: str
    at: Array  # (n, 3)
    vector: Array  # (n, 3), N


@dataclass(frozen=True, eq=False)
class ContactMark:
    """A contact that sticks, slips and opens: its point, and the color of its mode, over time; "" where it is open."""

    name: str
    at: Array  # (n, 3)
    colors: tuple[str, ...]  # (n)


@dataclass(frozen=True, eq=False)
class Quantity:
    """A channel for a chart: its values over times of its own, two of them at one time where it jumps."""

    name: str
    unit: str
    times: Array  # (m,)
    values: Array  # (m,)

    @property
    def shown(self) -> tuple[Array, str]:
        """Values and unit as charts show them: angles in degrees."""
        return (np.degrees(self.values), "°") if self.unit == "rad" else (self.values, self.unit)

    def at(self, time: float) -> float:
        """The value at a time as charts show it; at a jump the one behind it."""
        return float(values_at((self.times, self.shown[0]), np.array([time]))[0])


@dataclass(frozen=True, eq=False)
class Ground:
    """A surface given by heights over a grid: `heights[i, j]` at `x[i]`, `y[j]`; a plane has two by two."""

    x: Array
    y: Array
    heights: Array


@dataclass(frozen=True, eq=False)
class Footage:
    """One run as animation data."""

    label: str
    scene: Scene
    solids: tuple[Solid, ...]
    times: Array  # (n,), evenly spaced
    positions: Mapping[str, Array]  # by body and "ground": (n, 3)
    rotations: Mapping[str, Array]  # (n, 3, 3)
    tracks: Mapping[str, Array]  # where wheels and blades touch: (n, 3)
    forces: tuple[Force, ...]
    charts: tuple[Quantity, ...]
    ground: Ground | None
    lifts: Mapping[str, Array] = field(default_factory=dict)  # normal forces of contacts at which the ground would have to pull
    contacts: tuple[ContactMark, ...] = ()

    @cached_property
    def meshes(self) -> list[Mesh]:
        return joined([solid.mesh() for solid in self.solids])

    def poses(self, k: int) -> dict[str, Pose]:
        """Poses of the bodies at the k-th time."""
        return {body: Pose(self.positions[body][k], self.rotations[body][k]) for body in self.positions}

    @cached_property
    def center(self) -> Array:
        """The center of the mechanism over time, (n, 3)."""
        return np.asarray(np.mean([self.positions[body] for body in self.scene.bodies], axis=0))

    @cached_property
    def extent(self) -> float:
        """Largest distance of the mechanism's points from its center, over the run."""
        some = np.unique(np.linspace(0, len(self.times) - 1, 12).astype(int))
        far = [self.scene.points(self.poses(k)) - self.center[k] for k in some]
        return max(max(float(np.linalg.norm(points, axis=1).max()) for points in far if len(points)), 1e-3)

    @cached_property
    def quaternions(self) -> Mapping[str, Array]:
        """Rotations as continuous unit quaternions, scalar first; (n, 4)."""
        return {body: continuous(quaternions_of(r)) for body, r in self.rotations.items()}


def footage_from_poses(
    run: Trajectory,
    scene: Scene,
    times: Array,
    matrices: Mapping[str, Array],
    *,
    charts: Sequence[str] = (),
    shapes: Mapping[str, Sequence[Solid]] | None = None,
    ground: Ground | None = None,
    label: str = "",
) -> Footage:
    """The footage of a run at given times; `matrices` are poses [R | r] by body, (n, 3, 4)."""
    count = len(times)
    positions = {body: m[:, :, 3] for body, m in matrices.items()} | {"ground": np.zeros((count, 3))}
    rotations = {body: m[:, :, :3] for body, m in matrices.items()} | {"ground": np.tile(np.eye(3), (count, 1, 1))}
    values = run.interpolated(times)
    start = {body: Pose(positions[body][0], rotations[body][0]) for body in positions}
    fitted = scene.fitted(start)
    return Footage(
        label or run.model,
        fitted,
        tuple(body_solids(fitted, start, slider_ranges(scene, positions, rotations), shapes)),
        np.asarray(times, dtype=float),
        positions,
        rotations,
        _tracks(scene, values, positions, rotations),
        _forces(scene, values, positions, rotations),
        tuple(Quantity(name, run.channel(name).unit, *thinned(run.curve(name), times)) for name in charts),
        ground,
        _lifts(values),
        _contacts(run, values, times),
    )


def sample_times(run: Trajectory, rate: float) -> Array:
    """Equidistant times of a run, about `rate` per second, with both ends."""
    start, end = float(run.time[0]), float(run.time[-1])
    count = max(2, round(abs(end - start) * rate) + 1)
    low, high = min(start, end), max(start, end)
    return np.clip(np.linspace(start, end, count), low, high)


# ---------------------------------------------------------------- contact


def _contacts(run: Trajectory, values: Mapping[str, Array], times: Array) -> tuple[ContactMark, ...]:
    """Contacts with the colors of their modes."""
    known = [name for name in _stems(values, "contact") if name in run.modes.contacts]
    if not known:
        return ()
    begins = np.array([change.time for change in run.modes])
    rows = np.maximum(np.searchsorted(begins, times, side="right") - 1, 0)
    shown = {"open": "", **{mode: MODE_COLORS[mode] for mode in ("slip", "stick")}}
    return tuple(
        ContactMark(name, _vector(values, f"{name}_contact"), tuple(shown[run.modes[int(k)].modes[name]] for k in rows))
        for name in known
    )


def _lifts(values: Mapping[str, Array]) -> dict[str, Array]:
    """Normal forces by contact, of those contacts at which the ground would have to pull at some time."""
    end = "_normal_force"
    return {name.removesuffix(end): force for name, force in values.items() if name.endswith(end) and np.any(force < 0.0)}


def lift_notice(take: Footage, k: int) -> str:
    """What the ground would have to do at the k-th time, or ""."""
    names = [name.replace("_", " ") for name, force in take.lifts.items() if force[k] < 0.0]
    return f"the ground would have to pull on {' and '.join(names)}" if names else ""


# ---------------------------------------------------------------- tracks and forces


def _stems(values: Mapping[str, Array], what: str) -> list[str]:
    """Names of contacts for which the run has all three components of a vector."""
    suffix = f"_{what}_x"
    stems = [name.removesuffix(suffix) for name in values if name.endswith(suffix)]
    return [stem for stem in stems if all(f"{stem}_{what}_{axis}" in values for axis in "xyz")]


def _vector(values: Mapping[str, Array], stem: str) -> Array:
    return np.column_stack([values[f"{stem}_{axis}"] for axis in "xyz"])


def _tracks(
    scene: Scene, values: Mapping[str, Array], positions: Mapping[str, Array], rotations: Mapping[str, Array]
) -> dict[str, Array]:
    found = {stem: _vector(values, f"{stem}_contact") for stem in _stems(values, "contact")}
    for shape in scene.shapes:
        if isinstance(shape, Blade):
            found[shape.name] = np.einsum("nij,j->ni", rotations[shape.body], shape.at) + positions[shape.body]
        elif isinstance(shape, Wheel) and shape.name not in found and scene.normal is not None:
            poses = (Pose(p, r) for p, r in zip(positions[shape.body], rotations[shape.body], strict=True))
            found[shape.name] = np.array([shape.contact(pose, scene.normal) for pose in poses])
    return found


def _forces(
    scene: Scene, values: Mapping[str, Array], positions: Mapping[str, Array], rotations: Mapping[str, Array]
) -> tuple[Force, ...]:
    """Contact forces on wheels and surfaces from outputs of the run; on blades from their multipliers."""
    contacts = _stems(values, "contact")
    found = [
        Force(stem, _vector(values, f"{stem}_contact"), _vector(values, f"{stem}_force"))
        for stem in _stems(values, "force")
        if stem in contacts
    ]
    for blade in (s for s in scene.shapes if isinstance(s, Blade)):
        if f"{blade.name}_force_across" not in values or scene.normal is None:
            continue
        at = np.einsum("nij,j->ni", rotations[blade.body], blade.at) + positions[blade.body]
        along = np.einsum("nij,j->ni", rotations[blade.body], blade.along)
        across = np.cross(scene.normal, along)  # to the left, in the ground
        across /= np.linalg.norm(across, axis=1)[:, None]
        vector = values[f"{blade.name}_force_across"][:, None] * across
        if f"{blade.name}_normal_force" in values:
            vector = vector + values[f"{blade.name}_normal_force"][:, None] * scene.normal
        found.append(Force(blade.name, at, vector))
    return (*found, *_constraint_forces(scene, values, positions, rotations))


def _constraint_forces(
    scene: Scene, values: Mapping[str, Array], positions: Mapping[str, Array], rotations: Mapping[str, Array]
) -> list[Force]:
    """Constraint forces: of loop closures on the closed point; of rods and cables on both ends, except on the ground."""

    def world(body: str, at: Array) -> Array:
        return np.asarray(np.einsum("nij,j->ni", rotations[body], at) + positions[body])

    found = []
    for shape in scene.shapes:
        if isinstance(shape, LoopClosure) and all(f"{row}_multiplier" in values for row in shape.rows):
            size = np.column_stack([values[f"{row}_multiplier"] for row in shape.rows])
            vector = np.einsum("nij,nj->ni", rotations[shape.holder], size @ shape.axes.T)
            found.append(Force(shape.name, world(shape.body, shape.at), vector))
        elif isinstance(shape, Cord) and shape.factor and f"{shape.row}_multiplier" in values:
            first, second = (world(*place) for place in shape.ends)
            apart = second - first
            apart = apart / np.maximum(np.linalg.norm(apart, axis=1), 1e-12)[:, None]
            thrust = shape.factor * values[f"{shape.row}_multiplier"][:, None] * apart
            ends = ((shape.ends[0][0], first, -thrust), (shape.ends[1][0], second, thrust))
            found += [Force(shape.name, at, vector) for body, at, vector in ends if body != "ground"]
    return found


def force_scale(takes: Sequence[Footage]) -> float:
    """Arrow length in meters per newton, so that typical forces are about as long as the mechanism."""
    sizes = [np.linalg.norm(force.vector, axis=1) for take in takes for force in take.forces]
    finite = np.concatenate(sizes)[np.isfinite(np.concatenate(sizes))] if sizes else np.zeros(0)
    usual = float(np.quantile(finite, 0.9)) if finite.size else 0.0
    return _FORCE * takes[0].extent / usual if usual > 0 else 0.0


# ---------------------------------------------------------------- rotations


def quaternions_of(rotations: Array) -> Array:
    """Unit quaternions (scalar first) of rotation matrices, (n, 3, 3) → (n, 4), by the largest of four candidates (Shepperd
    1978).

        >>> import numpy as np
        >>> quaternions_of(np.array([[[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]])).round(6).tolist()
        [[0.707107, 0.0, 0.0, 0.707107]]
    """
    r = np.asarray(rotations, dtype=float)
    trace = np.trace(r, axis1=1, axis2=2)
    # row k of `four` is q_k times the whole quaternion, times four
    skew = np.stack([r[:, 2, 1] - r[:, 1, 2], r[:, 0, 2] - r[:, 2, 0], r[:, 1, 0] - r[:, 0, 1]], axis=1)
    four = np.empty((len(r), 4, 4))
    four[:, 0, 0] = 1 + trace
    four[:, 0, 1:] = four[:, 1:, 0] = skew
    four[:, 1:, 1:] = r + np.swapaxes(r, 1, 2)
    for k in range(3):
        four[:, k + 1, k + 1] = 1 - trace + 2 * r[:, k, k]
    best = np.argmax(np.einsum("nkk->nk", four), axis=1)
    row = four[np.arange(len(r)), best]
    return np.asarray(row / np.linalg.norm(row, axis=1)[:, None])


def continuous(quaternions: Array) -> Array:
    """The same rotations with signs chosen for continuity."""
    turns = np.sum(quaternions[1:] * quaternions[:-1], axis=1) < 0
    signs = np.cumprod(np.where(np.concatenate([[False], turns]), -1.0, 1.0))
    return quaternions * signs[:, None]
