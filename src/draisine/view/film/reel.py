"""Still pictures of a film: a figure of one instant, numbered .png files, .gif and .mp4. No screen is needed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ArgumentError, ToolError, require
from draisine.results.files import replacing
from draisine.view.film.footage import lift_notice
from draisine.view.film.painter import Camera, paint
from draisine.view.plots.canvas import new_figure, pixels
from draisine.view.plots.labels import display_name, with_unit
from draisine.view.plots.style import COLORS, FAINT, INK, PAGE, WARNING, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from draisine.view.film.animate import Animation


def write_gif(pictures: Iterable[NDArray[np.uint8]], target: Path, seconds: float, *, colors: int) -> None:
    """Write pictures (`pixels`) with a display time each as a GIF; complete or not at all."""
    Image = _pillow()
    frames = [Image.fromarray(picture).quantize(colors, dither=Image.Dither.NONE) for picture in pictures]
    each = max(20, round(100 * seconds) * 10)  # GIF counts in hundredths
    with replacing(target) as draft:
        frames[0].save(draft, format="GIF", save_all=True, append_images=frames[1:], duration=each, loop=0, optimize=True)


def _pillow() -> Any:
    return require("PIL.Image", "writing .gif files", "pillow")


RATES = {".gif": 20.0, ".mp4": 25.0, ".png": 25.0}  # pictures per second; GIF counts in hundredths
_DPI = 120
HIGH = 0.56  # of the width


def write(film: Animation, target: Path) -> None:
    """Write the film by its suffix; see `Animation.save`."""
    suffix = target.suffix.lower()
    if suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise ToolError(
            "writing .mp4 needs the program ffmpeg, which is not installed; install it, or save as .gif, .png or .html"
        )
    if suffix == ".gif":
        _pillow()  # before pictures are drawn for nothing
    {".gif": _gif, ".mp4": _mp4, ".png": _sequence}[suffix](film, target)


def picture(film: Animation, time: float, *, width: float = PAGE, near: float = 1.0) -> Figure:
    """One instant of the film as a figure with `save`, also as vector graphics; `near` scales the distance of the camera."""
    take = film.takes[0]
    low, high = sorted((float(take.times[0]), float(take.times[-1])))
    if not low <= time <= high:
        raise ArgumentError(f"the film of {film.title!r} covers {low:g} s to {high:g} s; {time:g} s is outside")
    return _figure(film, int(np.argmin(np.abs(take.times - time))), width, near)


def _figure(film: Animation, k: int, width: float, near: float = 1.0) -> Figure:
    take = film.takes[0]
    with style():
        height = HIGH * width
        drawing = new_figure(width, height, layout=None)
        share = 0.66 if take.charts else 1.0
        axes = drawing.add_axes((0.0, 0.0, share, 1.0))
        aspect = share * width / height
        axes.set(xlim=(-aspect, aspect), ylim=(-1.0, 1.0), xticks=[], yticks=[])
        axes.grid(False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        paint(axes, film.takes, k, Camera.beside(take, k, near), film.layers)
        axes.set(xlim=(-aspect, aspect), ylim=(-1.0, 1.0))
        axes.text(0.02, 0.97, f"{take.times[k]:.2f} s", transform=axes.transAxes, va="top", fontsize=9, color=INK)
        axes.text(0.02, 0.91, lift_notice(take, k), transform=axes.transAxes, va="top", fontsize=9, color=WARNING)
        _charts(drawing, film, k, share)
    return drawing


def _charts(drawing: Any, film: Animation, k: int, share: float) -> None:
    take = film.takes[0]
    count = len(take.charts)
    for i, quantity in enumerate(take.charts):
        unit, high = quantity.shown[1], 0.84 / count
        axes = drawing.add_axes((share + 0.085, 0.12 + (count - 1 - i) * high, 1 - share - 0.105, 0.74 * high))
        for rank, other in reversed(list(enumerate(film.takes))):
            color, width = (COLORS[0], 1.4) if rank == 0 else ("#CC79A7", 1.0)
            axes.plot(other.charts[i].times, other.charts[i].shown[0], color=color, linewidth=width)
        axes.axvline(float(take.times[k]), color=FAINT, linewidth=0.9)
        axes.plot([take.times[k]], [quantity.at(float(take.times[k]))], "o", color=COLORS[0], markersize=4)
        axes.set_title(with_unit(display_name(quantity.name), unit), fontsize=8, loc="left", pad=3)
        axes.tick_params(labelsize=7)
        axes.set_xlim(*sorted((float(take.times[0]), float(take.times[-1]))))
        if i < count - 1:
            axes.set_xticklabels([])
        else:
            axes.set_xlabel("time [s]", fontsize=8)


# ---------------------------------------------------------------- many of them


def _shown_frames(film: Animation, rate: float) -> list[int]:
    """Indices of the samples shown at a frame rate."""
    times = film.takes[0].times
    count = max(2, round(float(np.ptp(times)) * rate) + 1)
    return [int(k) for k in np.round(np.linspace(0, len(times) - 1, count))]


def _figures(film: Animation, rate: float) -> Iterator[Figure]:
    return (_figure(film, k, PAGE) for k in _shown_frames(film, rate))


def _gif(film: Animation, target: Path) -> None:
    pictures = (pixels(figure, _DPI) for figure in _figures(film, RATES[".gif"]))
    write_gif(pictures, target, 1 / RATES[".gif"], colors=128)


def _sequence(film: Animation, target: Path) -> None:
    """ride.png → ride-0000.png, ride-0001.png, …"""
    for number, figure in enumerate(_figures(film, RATES[".png"])):
        with replacing(target.with_name(f"{target.stem}-{number:04d}.png")) as draft:
            figure.savefig(draft, format="png", dpi=_DPI)


def _mp4(film: Animation, target: Path) -> None:
    pictures = (pixels(figure, _DPI) for figure in _figures(film, RATES[".mp4"]))
    first = next(pictures)
    height, width, _ = first.shape
    raw = ["-f", "rawvideo", "-pixel_format", "rgb24", "-video_size", f"{width}x{height}", "-framerate", f"{RATES['.mp4']:g}"]
    fit = "scale=trunc(iw/2)*2:trunc(ih/2)*2,format=yuv420p"  # H.264 needs even sizes, and players need 4:2:0
    with replacing(target) as draft, tempfile.TemporaryFile() as said:
        given = ["-loglevel", "error", "-y", *raw, "-i", "-", "-vf", fit, "-movflags", "+faststart", str(draft)]
        with subprocess.Popen(["ffmpeg", *given], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said) as coder:
            assert coder.stdin is not None
            with suppress(BrokenPipeError):  # it has ended, and says why
                for picture in chain([first], pictures):
                    coder.stdin.write(picture.data)
                coder.stdin.close()
        if coder.returncode:
            said.seek(0)
            reason = said.read().decode(errors="replace").strip()
            raise ToolError(f"ffmpeg could not write {target.name!r}: {reason[-400:]}")
