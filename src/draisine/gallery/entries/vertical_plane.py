"""Bodies that move in the vertical plane y = 0: along x and z, perhaps with a turn about y."""

from __future__ import annotations

from draisine.expr.expression import Name, Number
from draisine.model.items import Body, Coordinate, Rotate, Translate
from draisine.model.joints import angle, length
from draisine.model.model import Model


def in_vertical_plane(m: Model, body: Body, x: str = "x", z: str = "z", turn: str | None = None, height: float = 0.0) -> None:
    """Let a body move in the plane; `height` is the default of z, a turn about y is positive where a wheel rolls along x."""
    chain: list[Translate | Rotate] = [Translate((Name(x), Number(0.0), Name(z)))]
    moved: list[Coordinate] = [length(x, span=(-1.0, 1.0)), length(z, default=height, span=(height, height + 1.0))]
    if turn is not None:
        chain.append(Rotate("y", Name(turn)))
        moved.append(angle(turn))
    m.joint(f"{body.name}_motion", "ground", body, chain, moved)
