"""Pictures compared with stored ones, tolerantly: fonts, drivers and edges may differ a little, what is seen may not.

Both are reduced to the means over a coarse grid. `DRAISINE_NEW_PICTURES=1 pytest …` stores new references, to be looked at.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

GRID = (60, 90)  # rows, columns


@dataclass(frozen=True)
class Difference:
    """Of two pictures, in shares of the whole range: on average, and in the cell that differs most."""

    mean: float
    worst: float

    def small(self) -> bool:
        return self.mean < 0.01 and self.worst < 0.2


def reduced(picture: np.ndarray) -> np.ndarray:
    """Means over the cells of the grid, (rows, columns, 3)."""
    rows, columns = (np.array_split(np.arange(n), cells) for n, cells in zip(picture.shape[:2], GRID, strict=True))
    strips = np.stack([picture[part].mean(axis=0) for part in rows])
    return np.stack([strips[:, part].mean(axis=1) for part in columns], axis=1)


def compared(picture: np.ndarray, reference: Path) -> Difference:
    """A picture with the stored one, which it becomes if new ones are wanted."""
    from PIL import Image

    if os.environ.get("DRAISINE_NEW_PICTURES"):
        reference.parent.mkdir(exist_ok=True)
        Image.fromarray(reduced(picture).round().astype(np.uint8)).save(reference, optimize=True)
    return difference(picture, reference)


def difference(picture: np.ndarray, reference: Path) -> Difference:
    """Of a picture, (height, width, 3) from 0 to 255, and a stored one."""
    from PIL import Image

    seen = reduced(picture)
    stored = np.asarray(Image.open(reference).convert("RGB")).astype(float)
    gap = np.abs(seen - stored).mean(axis=2) / 255
    return Difference(float(gap.mean()), float(gap.max()))
