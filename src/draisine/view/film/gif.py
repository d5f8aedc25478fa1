"""Pictures one after the other in one file that repeats."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

from draisine.results.files import replacing


def write_gif(pictures: Iterable[bytes], target: Path, seconds: float, *, colors: int) -> None:
    """Write pictures (PNG), each shown for so long, as a GIF; complete or not at all."""
    from PIL import Image

    frames = [Image.open(io.BytesIO(png)).convert("RGB").quantize(colors, dither=Image.Dither.NONE) for png in pictures]
    each = max(20, round(100 * seconds) * 10)  # GIF counts in hundredths
    with replacing(target) as draft:
        frames[0].save(draft, format="GIF", save_all=True, append_images=frames[1:], duration=each, loop=0, optimize=True)
