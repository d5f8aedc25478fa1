"""Animations of runs: poses of the bodies by compiled kinematics, shown in a notebook or browser or saved as a file."""

from __future__ import annotations

import html
import sys
import tempfile
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from draisine.codegen.jit.kernel import Kernel
from draisine.codegen.jit.kernel import compile as compile_program
from draisine.dynamics.kinematics.twists import body_poses
from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import evaluate_number
from draisine.model.ground_heights import ground_heights
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.equations import Equations
from draisine.results.files import check_target, replacing
from draisine.results.trajectory import Trajectory
from draisine.view.film.footage import Footage, Ground, footage_from_poses, sample_times
from draisine.view.film.page import page
from draisine.view.film.reel import picture, write
from draisine.view.scene.from_model import scene_of
from draisine.view.scene.scene import Array
from draisine.view.scene.solids import Solid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGES = (".html", ".htm")


@dataclass(frozen=True, eq=False, repr=False)
class Animation:
    """An animation of a run; the first take is the run, others are ghosts for comparison."""

    takes: tuple[Footage, ...]
    title: str
    layers: tuple[str, ...] = ()

    def html(self) -> str:
        """The page as one self-contained text."""
        return page(self.takes, self.title, self.layers)

    def save(self, path: str | Path) -> None:
        """Write .html (plays in any browser), .gif, .mp4, or .png (a sequence of numbered pictures); complete or not at all."""
        target = Path(path)
        check_target(target, film=True)
        if target.suffix.lower() in PAGES:
            with replacing(target) as draft:
                draft.write_text(self.html(), encoding="utf-8")
        else:
            write(self, target)

    def picture(self, time: float, *, near: float = 1.0) -> Figure:
        """One instant as a figure with `save`, also as vector graphics; `near` scales the distance of the camera."""
        return picture(self, time, near=near)

    def show(self) -> Path:
        """Open it in a browser; returns the file."""
        folder = Path(tempfile.mkdtemp(prefix="draisine-"))
        path = folder / "film.html"
        self.save(path)
        if not webbrowser.open(path.as_uri()):
            print(f"no browser could be opened; open the file {path}")
        return path

    def _repr_html_(self) -> str:
        """For notebooks: the page in a sandboxed frame."""
        text = html.escape(self.html(), quote=True)
        return (
            f'<iframe sandbox="allow-scripts" style="width:100%;height:560px;border:0" title="{html.escape(self.title)}" '
            f'srcdoc="{text}"></iframe>'
        )

    def __repr__(self) -> str:
        first = self.takes[0]
        ghosts = f", {len(self.takes) - 1} ghosts" if len(self.takes) > 1 else ""
        return f"<Animation of {self.title}: {first.times[0]:g} s to {first.times[-1]:g} s{ghosts}>"


RATE = 60.0  # samples per second, at most
MOST_INSTANTS = 12_000
LAYERS = ("tracks", "forces", "masses", "axes", "ghosts")

Shapes = Mapping[str, Solid | Sequence[Solid]]


def animate(
    run: Trajectory,
    *,
    charts: Sequence[str] = (),
    ghosts: Sequence[Trajectory] | Mapping[str, Trajectory] = (),
    model: Model | System | None = None,
    shapes: Shapes | None = None,
    layers: Sequence[str] = (),
    title: str | None = None,
    rate: float = RATE,
    show: bool | None = None,
) -> Animation:
    """An animation of a run for notebooks and browsers; `save` writes .html, .gif, .mp4 or .png.

    - `charts`: names of channels plotted beside it.
    - `ghosts`: other runs for comparison, optionally by label; of the same model or another.
    - `model`: the description, for runs read from a file, which do not contain it.
    - `shapes`: solids in place of the generated ones, by name of the body: `{"frame": dr.view.read_mesh("frame.stl", "frame")}`.
    - `layers`: layers shown initially besides tracks: forces, masses, axes.
    - `title`: of the page; `rate`: samples per second.
    - `show`: open it in a browser; by default outside notebooks.

    >>> import draisine as dr
    >>> run = dr.simulate(dr.gallery.bicycle(), 1.0, start={"speed": 4.6, "roll_rate": 0.5})
    >>> run.animate(charts=["lean", "steer"], show=False)
    <Animation of bicycle: 0 s to 1 s>
    """
    unknown = [name for name in layers if name not in LAYERS]
    if unknown:
        raise ArgumentError(f"unknown layer {unknown[0]!r}; choose from {', '.join(LAYERS)}")
    if not rate > 0:
        raise ArgumentError(f"rate is the number of samples per second and must be positive, got {rate}")
    others = ghosts if isinstance(ghosts, Mapping) else {_label(other, k): other for k, other in enumerate(ghosts)}
    takes = [footage(run, model, charts, shapes, rate)]
    for label, other in others.items():
        own = other.source if other.source is not None else model or run.source
        takes.append(footage(other, own, charts, shapes, rate, label))
    animation = Animation(tuple(takes), title if title is not None else run.model, tuple(layers))
    if show or (show is None and not in_notebook()):
        animation.show()
    return animation


def _label(run: Trajectory, k: int) -> str:
    return f"{run.model} ({k + 2})"


def footage(
    run: Trajectory,
    model: Model | System | None = None,
    charts: Sequence[str] = (),
    shapes: Shapes | None = None,
    rate: float = RATE,
    label: str = "",
) -> Footage:
    """Footage of a run: poses of its bodies by the compiled kinematics of its description."""
    system = _description(run, model)
    for name in charts:
        run.channel(name)  # raises for an unknown name before the work
    times = sample_times(run, min(rate, MOST_INSTANTS / max(float(np.ptp(run.time)), 1e-9)))
    scene = scene_of(system, run.parameters)
    matrices = _poses(run, system, times)
    own = {body: [s] if not isinstance(s, Sequence) else list(s) for body, s in (shapes or {}).items()}
    _check_bodies(own)
    own = {body: solids for body, solids in own.items() if body in scene.bodies or not label}  # a ghost may lack a body
    return footage_from_poses(
        run, scene, times, matrices, charts=charts, shapes=own, ground=_ground(run, system, matrices), label=label
    )


def _check_bodies(shapes: Mapping[str, Sequence[Solid]]) -> None:
    for body, solids in shapes.items():
        misplaced = [solid.body for solid in solids if solid.body != body]
        if misplaced:
            raise ArgumentError(
                f"shapes: a solid of body {misplaced[0]!r} is given for {body!r}; its coordinates are in the axes of its own body"
            )


def _description(run: Trajectory, model: Model | System | None) -> System:
    found = model if model is not None else run.source
    if isinstance(found, Model):
        return found.freeze()
    if isinstance(found, System):
        return found
    if isinstance(found, Equations):
        raise ModelError(
            f"{run.model!r} is given as formulas and has no bodies to animate; describe it as a Model with bodies and joints, "
            "or plot its channels: run.plot(…)"
        )
    raise ArgumentError(f"this run of {run.model!r} has no description, as runs from files; pass it: model=…")


@lru_cache(maxsize=32)
def _pose_kernel(system: System) -> Kernel:
    return compile_program(body_poses(system))


def _poses(run: Trajectory, system: System, times: Array) -> dict[str, Array]:
    """Poses [R | r] of every body at the given times, (n, 3, 4)."""
    kernel = _pose_kernel(system)
    values = run.interpolated(times)
    inputs = {slot.name: slot for slot in kernel.inputs}
    missing = [name for name in inputs["q"].labels if name not in values]
    if missing:
        raise ArgumentError(
            f"the run of {run.model!r} has no coordinate {missing[0]!r}, which says where the bodies of {system.name!r} are; "
            "it was made of another description, or with coordinates of its own"
        )
    q = _normalized(system, {name: values[name] for name in inputs["q"].labels})
    defaults = {p.name: p.default for p in system.arguments}
    p = np.array([run.parameters.get(name, defaults[name]) for name in inputs["p"].labels])
    found = kernel.map(times[:, None], np.column_stack(list(q.values())), p)
    return {slot.name: matrix for slot, matrix in zip(kernel.outputs, found, strict=True)}


def _normalized(system: System, values: dict[str, Array]) -> dict[str, Array]:
    """Linear interpolation shortens quaternions; they are normalized."""
    for joint in system.joints:
        for step in joint.chain:
            names = getattr(step, "quaternion", None)
            if names:
                size = np.sqrt(sum(values[name] ** 2 for name in names))
                values = values | {name: values[name] / size for name in names}
    return values


# ---------------------------------------------------------------- ground

_CELLS = 96  # of a curved ground, along its longer side


def _ground(run: Trajectory, system: System, matrices: Mapping[str, Array]) -> Ground | None:
    """The ground under wheels, blades and points in contact at the initial time; curved ground around the tracks only."""
    if not system.has_ground:
        return None
    values = system.parameter_values(run.parameters)
    tan_x, tan_y = (np.tan(evaluate_number(angle, values)) for angle in (system.ground.slope, system.ground.bank))
    middle = np.concatenate([m[:, :2, 3] for m in matrices.values()])
    low, high = middle.min(axis=0) - 1.5, middle.max(axis=0) + 1.5
    if system.ground.profile:
        return profile_ground(system, values, low, high)
    if not system.ground.curved:
        x, y = (np.array([low[k], high[k]]) for k in (0, 1))
        return Ground(x, y, tan_x * x[:, None] + tan_y * y[None, :])
    longest = float((high - low).max())
    x, y = (np.linspace(low[k], high[k], max(3, round(_CELLS * (high - low)[k] / longest) + 1)) for k in (0, 1))
    return Ground(x, y, tan_x * x[:, None] + tan_y * y[None, :] + whole_ground(system, values, x, y, float(run.time[0])))


def whole_ground(system: System, values: Mapping[str, float], x: Array, y: Array, time: float) -> Array:
    """The height of curved ground over a grid. Where it has no value, as outside a bowl, the ground goes on from its edge."""
    found = ground_heights(system, values, x[:, None], y[None, :], time)
    while np.isfinite(found).any() and not np.isfinite(found).all():
        wide = np.pad(found, 1, constant_values=np.nan)
        around = np.stack([wide[:-2, 1:-1], wide[2:, 1:-1], wide[1:-1, :-2], wide[1:-1, 2:]])
        known = np.isfinite(around)
        beside = np.where(known, around, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        found = np.where(np.isfinite(found) | ~known.any(axis=0), found, beside)
    return np.nan_to_num(found)


_FACE = 1e-4  # m, over which a vertical face of a profile is drawn


def profile_ground(system: System, values: Mapping[str, float], low: Array, high: Array) -> Ground:
    """The ground of a profile between two corners in x and y."""
    x = np.unique(np.concatenate([np.linspace(low[0], high[0], _CELLS + 1), _corners(system, values, low[0], high[0])]))
    y = np.linspace(low[1], high[1], 13)
    return Ground(x, y, np.repeat(_heights(system, values, x)[:, None], len(y), axis=1))


def _corners(system: System, values: Mapping[str, float], low: float, high: float) -> Array:
    """Positions of the vertices of a ground profile, on both sides of vertical faces."""
    at = np.array([evaluate_number(x, values) for x, _ in system.ground.profile])
    both = np.concatenate([at - _FACE / 2, at, at + _FACE / 2])
    return both[(both > low) & (both < high)]


def _heights(system: System, values: Mapping[str, float], x: Array) -> Array:
    """Heights of a ground profile; its first and last plane go on."""
    at, height = np.array([[evaluate_number(part, values) for part in vertex] for vertex in system.ground.profile]).T
    first, last = (height[1] - height[0]) / (at[1] - at[0]), (height[-1] - height[-2]) / (at[-1] - at[-2])
    vertical = np.diff(at, prepend=at[0] - 1.0) == 0.0
    inside = np.interp(x, at + np.where(vertical, _FACE / 2, 0.0) - np.where(np.roll(vertical, -1), _FACE / 2, 0.0), height)
    return np.where(x < at[0], height[0] + first * (x - at[0]), np.where(x > at[-1], height[-1] + last * (x - at[-1]), inside))


def in_notebook() -> bool:
    """Whether this runs in a notebook, which displays the result of a cell."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
