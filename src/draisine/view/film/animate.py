"""The verb that films a run: here runs, descriptions, kinematics and pictures meet."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from draisine.codegen.jit.kernel import Kernel
from draisine.codegen.jit.kernel import compile as compile_program
from draisine.dynamics.kinematics.twists import body_poses
from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import evaluate_number
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.equations import Equations
from draisine.results.trajectory import Trajectory
from draisine.view.film.animate import Animation
from draisine.view.film.footage import Footage, Ground, instants, shoot
from draisine.view.scene.from_model import reading, scene_of
from draisine.view.scene.scene import Array
from draisine.view.scene.solids import Solid

RATE = 60.0  # instants per second that a film keeps, at most
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
    """A run as a moving picture, which notebooks and browsers play and `save` keeps as .html, .gif, .mp4 or .png.

    - `charts`: names of channels drawn beside it, in step with it.
    - `ghosts`: other runs shown beside it, by label if they have any; of the same model or another.
    - `model`: the description, for runs that were read from a file and know it no longer.
    - `shapes`: solids instead of those made up, by name of the body: `{"frame": dr.read_mesh("frame.stl", "frame")}`.
    - `layers`: what is on from the start besides tracks: forces, masses, axes.
    - `rate`: instants per second that are kept.
    - `show`: open it in a browser; by default where no notebook shows it.

    >>> import draisine as dr
    >>> run = dr.simulate(dr.gallery.bicycle(), 1.0, start={"speed": 4.6, "roll_rate": 0.5})
    >>> run.animate(charts=["lean", "steer"], show=False)
    <Animation of bicycle: 0 s to 1 s>
    """
    unknown = [name for name in layers if name not in LAYERS]
    if unknown:
        raise ArgumentError(f"there is no layer {unknown[0]!r} to show; choose from {', '.join(LAYERS)}")
    if not rate > 0:
        raise ArgumentError(f"rate is the number of instants kept for each second, got {rate}")
    others = ghosts if isinstance(ghosts, Mapping) else {_label(other, k): other for k, other in enumerate(ghosts)}
    takes = [footage(run, model, charts, shapes, rate)]
    for label, other in others.items():
        own = other.source if other.source is not None else model or run.source
        takes.append(footage(other, own, charts, shapes, rate, label))
    made = Animation(tuple(takes), title if title is not None else run.model, tuple(layers))
    if show or (show is None and not _in_notebook()):
        made.show()
    return made


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
    """A run ready to be filmed: poses of its bodies by the compiled kinematics of its description."""
    system = _description(run, model)
    for name in charts:
        run.channel(name)  # an unknown name is told with the nearest ones, before the work
    times = instants(run, min(rate, MOST_INSTANTS / max(float(np.ptp(run.time)), 1e-9)))
    scene = scene_of(system, run.parameters)
    matrices = _poses(run, system, times)
    own = {body: [s] if not isinstance(s, Sequence) else list(s) for body, s in (shapes or {}).items()}
    _check_bodies(own)
    own = {body: solids for body, solids in own.items() if body in scene.bodies or not label}  # a ghost may lack a body
    return shoot(run, scene, times, matrices, charts=charts, shapes=own, ground=_ground(run, system, matrices), label=label)


def _check_bodies(shapes: Mapping[str, Sequence[Solid]]) -> None:
    for body, solids in shapes.items():
        strange = [solid.body for solid in solids if solid.body != body]
        if strange:
            raise ArgumentError(
                f"shapes: a solid of body {strange[0]!r} is given for {body!r}; it is drawn in the axes of its own body"
            )


def _description(run: Trajectory, model: Model | System | None) -> System:
    found = model if model is not None else run.source
    if isinstance(found, Model):
        return found.freeze()
    if isinstance(found, System):
        return found
    if isinstance(found, Equations):
        raise ModelError(
            f"{run.model!r} was typed as formulas and has no bodies to film; describe it as a Model with bodies and joints, "
            "or draw its channels: run.plot(…)"
        )
    raise ArgumentError(f"this run of {run.model!r} does not know its description, as runs from files do not; give it: model=…")


@lru_cache(maxsize=32)
def _places(system: System) -> Kernel:
    return compile_program(body_poses(system))


def _poses(run: Trajectory, system: System, times: Array) -> dict[str, Array]:
    """[R | r] of every body at some instants, (n, 3, 4)."""
    kernel = _places(system)
    values = run.at(times)
    wanted = {slot.name: slot for slot in kernel.inputs}
    missing = [name for name in wanted["q"].labels if name not in values]
    if missing:
        raise ArgumentError(
            f"the run of {run.model!r} has no coordinate {missing[0]!r}, which says where the bodies of {system.name!r} are; "
            "it was made of another description, or with coordinates of its own"
        )
    q = _normalized(system, {name: values[name] for name in wanted["q"].labels})
    defaults = {p.name: p.default for p in system.parameters}
    p = np.array([run.parameters.get(name, defaults[name]) for name in wanted["p"].labels])
    found = kernel.map(times[:, None], np.column_stack(list(q.values())), p)
    return {slot.name: matrix for slot, matrix in zip(kernel.outputs, found, strict=True)}


def _normalized(system: System, values: dict[str, Array]) -> dict[str, Array]:
    """Straight lines between samples shorten quaternions; they are made unit again."""
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
    """The ground that wheels and blades touch, as it is at the start; curved ground around the tracks only."""
    if not (system.wheels or system.edges):
        return None
    values = {p.name: p.default for p in system.parameters} | dict(run.parameters)
    tan_x, tan_y = (np.tan(evaluate_number(angle, values)) for angle in (system.ground.slope, system.ground.bank))
    middle = np.concatenate([m[:, :2, 3] for m in matrices.values()])
    low, high = middle.min(axis=0) - 1.5, middle.max(axis=0) + 1.5
    if not system.ground.curved:
        x, y = (np.array([low[k], high[k]]) for k in (0, 1))
        return Ground(x, y, tan_x * x[:, None] + tan_y * y[None, :])
    longest = float((high - low).max())
    x, y = (np.linspace(low[k], high[k], max(3, round(_CELLS * (high - low)[k] / longest) + 1)) for k in (0, 1))
    tables = {table.name: reading(table) for table in system.tables}
    start = float(run.time[0])
    heights = [
        [evaluate_number(system.ground.height, values | {"x": float(a), "y": float(b), "t": start}, tables) for b in y] for a in x
    ]
    return Ground(x, y, tan_x * x[:, None] + tan_y * y[None, :] + np.array(heights))


def _in_notebook() -> bool:
    """Whether a notebook's kernel runs this, which shows what a cell ends with."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
