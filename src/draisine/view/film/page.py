"""Self-contained HTML page that plays an animation: no network, no other files.

Names come from descriptions and are untrusted: they enter as JSON with `<`, `>` and `&` escaped, and the page shows them as
text. A content-security policy forbids all requests.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.view.film.footage import Footage, Ground, force_scale
from draisine.view.plots.labels import display_name, pretty_unit, with_unit
from draisine.view.plots.style import COLORS
from draisine.view.scene.projection import round_length
from draisine.view.scene.scene import Array, Center, Cord, Hinge

_GHOSTS = ("#CC79A7", "#E69F00", "#009E73", "#56B4E9", "#D55E00")
_FAR = 3.0  # of the extent: beyond this distance the camera follows
_HORIZON = 25.0  # of the extent: ground around the run, whose edge the air hides
_LINES = 160  # of a grid, at most

ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def page(takes: Sequence[Footage], title: str, layers: Sequence[str] = ()) -> str:
    """The text of a page that plays the first take, with the others beside it as ghosts."""
    parts = {
        "title": html.escape(title),
        "theme": web_file("theme.css"),
        "style": web_file("style.css"),
        "data": as_script(film_data(takes, layers)),
        "license": web_file("three.LICENSE.txt"),
        "three": web_file("three.min.js"),
        "plot": web_file("plot.js"),
        "stage": web_file("stage.js"),
        "player": web_file("player.js"),
    }
    return filled(web_file("page.html"), parts)


def filled(template: str, parts: Mapping[str, str]) -> str:
    """The template with its @@names@@ replaced in one pass; replacements are not scanned again.

    >>> filled("<p>@@a@@</p>@@b@@", {"a": "@@b@@", "b": "!"})
    '<p>@@b@@</p>!'
    """
    return re.sub(r"@@(\w+)@@", lambda match: parts[match[1]], template)


def as_script(value: Any) -> str:
    """JSON that is safe inside a script element, for any text.

    >>> as_script({"name": "</script><b>"})
    '{"name":"\\\\u003c/script\\\\u003e\\\\u003cb\\\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return re.sub(r"[<>&\u2028\u2029]", lambda match: ESCAPES[match[0]], text)


def film_data(takes: Sequence[Footage], layers: Sequence[str] = ()) -> dict[str, Any]:
    """All data of the player."""
    main = takes[0]
    low, high = _bounds(takes)
    span = float(np.linalg.norm(high - low)) / 2
    traveled = float(np.ptp(main.center, axis=0).max())
    return {
        "size": main.extent,
        "span": span,
        "middle": ((low + high) / 2).tolist(),
        "travels": traveled > _FAR * main.extent,
        "layers": list(layers),
        "force_scale": force_scale(takes),
        "charts": [{"label": with_unit(display_name(q.name), q.shown[1]), "unit": pretty_unit(q.shown[1])} for q in main.charts],
        "ground": ground(main, low, high),
        "casts": [cast(take) for take in takes],
        "runs": [_run(take, rank) for rank, take in enumerate(takes)],
    }


def _run(take: Footage, rank: int) -> dict[str, Any]:
    bodies = _bodies(take)
    poses = np.concatenate([np.hstack([take.positions[b], take.quaternions[b]]) for b in bodies], axis=1)
    step = float(take.times[1] - take.times[0]) if len(take.times) > 1 else 1.0
    return {
        "label": take.label,
        "color": _GHOSTS[(rank - 1) % len(_GHOSTS)] if rank else COLORS[0],
        "cast": rank,
        "start": float(take.times[0]),
        "step": step,
        "count": len(take.times),
        "poses": floats(poses),
        "center": floats(take.center),
        "tracks": [
            {"name": name, "color": COLORS[k % 6], "points": floats(points)}
            for k, (name, points) in enumerate(take.tracks.items())
        ],
        "forces": [{"name": force.name, "at": floats(force.at), "vector": floats(force.vector)} for force in take.forces],
        "contacts": [{"name": c.name, "at": floats(c.at), "colors": list(c.colors)} for c in take.contacts],
        "charts": [{"times": floats(q.times), "values": floats(q.shown[0])} for q in take.charts],
        "lifts": [{"name": name.replace("_", " "), "force": floats(force)} for name, force in take.lifts.items()],
    }


def cast(take: Footage) -> dict[str, Any]:
    """Static data for `web/stage.js`: shapes in the axes of their bodies."""
    bodies = _bodies(take)
    shapes = take.scene.shapes
    reach = 0.35 * take.extent
    return {
        "bodies": bodies,
        "meshes": [
            {
                "body": bodies.index(mesh.body),
                "color": mesh.color,
                "vertices": floats(mesh.vertices),
                "triangles": _encoded(np.asarray(mesh.triangles, dtype="<u4")),
            }
            for mesh in take.meshes
        ],
        "centers": [{"body": bodies.index(s.body), "at": s.at.tolist()} for s in shapes if isinstance(s, Center)],
        "axes": [
            {"body": bodies.index(s.body), "ends": (s.at + np.outer([min(s.ends) - reach, max(s.ends) + reach], s.axis)).tolist()}
            for s in shapes
            if isinstance(s, Hinge)
        ],
        "cords": [
            {"spring": s.is_spring, "ends": [{"body": bodies.index(body), "at": at.tolist()} for body, at in s.ends]}
            for s in shapes
            if isinstance(s, Cord)
        ],
    }


def _bodies(take: Footage) -> list[str]:
    return [*take.scene.bodies, "ground"]


def _bounds(takes: Sequence[Footage]) -> tuple[Array, Array]:
    """Bounding box of all takes."""
    low = np.min([take.center.min(axis=0) - take.extent for take in takes], axis=0)
    high = np.max([take.center.max(axis=0) + take.extent for take in takes], axis=0)
    return low, high


def ground(take: Footage, low: Array, high: Array) -> dict[str, Any]:
    """The ground, or a floor slightly below mechanisms without contact, for `web/stage.js`."""
    around = _HORIZON * take.extent + 0.5 * float((high - low)[:2].max())
    step = round_length(0.5 * take.extent)
    while float((high - low)[:2].max() + 2 * around) / step > _LINES:
        step = round_length(2.5 * step)
    found = take.ground
    if found is None:
        x, y = (np.array([low[k] - around, high[k] + around]) for k in (0, 1))
        floor = min(
            float(take.scene.points(take.poses(k))[:, 2].min()) for k in range(0, len(take.times), max(1, len(take.times) // 60))
        )
        found = Ground(x, y, np.full((2, 2), floor - 0.05 * take.extent))
    elif found.heights.shape == (2, 2):  # extend the plane
        found = _extended(found, low[:2] - around, high[:2] + around)
    return {"x": found.x.tolist(), "y": found.y.tolist(), "heights": found.heights.ravel().tolist(), "step": step}


def _extended(plane: Ground, low: Array, high: Array) -> Ground:
    (x0, x1), (y0, y1), h = plane.x, plane.y, plane.heights
    along, across = (h[1, 0] - h[0, 0]) / (x1 - x0), (h[0, 1] - h[0, 0]) / (y1 - y0)
    x, y = np.array([low[0], high[0]]), np.array([low[1], high[1]])
    return Ground(x, y, h[0, 0] + along * (x - x0)[:, None] + across * (y - y0)[None, :])


def floats(values: Array) -> str:
    """Numbers as base64 text in single precision: a millimeter in ten kilometers."""
    return _encoded(np.asarray(values, dtype="<f4"))


def _encoded(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")


def web_file(name: str) -> str:
    """The text of a file in the folder `web`."""
    return (files("draisine.view.film") / "web" / name).read_text(encoding="utf-8")
