"""Notebooks: a film whose time Python can read and set, parameter sliders that simulate again, and a progress bar.

Widgets need `anywidget`; their pages and scripts are part of the cell, so that nothing is loaded from a network.
"""

from __future__ import annotations

import base64
import html
import math
import sys
import time as clock
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from draisine.errors import ArgumentError, DraisineError, require
from draisine.model.model import Model
from draisine.model.system import System
from draisine.program.arguments import number_in, unknown_name
from draisine.program.equations import Equations
from draisine.results.channel import HasState
from draisine.results.status import Ending, Progress
from draisine.results.trajectory import Trajectory
from draisine.simulation.simulate import simulate
from draisine.view.film.animate import animate, in_notebook
from draisine.view.plots.figure_files import as_png
from draisine.view.plots.labels import display_name, pretty_unit
from draisine.view.plots.trajectories import channel_figure, main_channels

if TYPE_CHECKING:
    from draisine.results.base import Result

HEIGHT = 560  # pixels of a page in a cell
_STEPS = 200  # of a slider

# A page in a frame without rights of its own: it may run its scripts, and talks to the cell by messages alone.
_PAGE = """
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.title = model.get("title");
  frame.style.cssText = `width:100%;height:${model.get("height")}px;border:0`;
  frame.srcdoc = model.get("page");
  el.append(frame);
  let last = NaN;
  const told = ({ source, data }) => {
    if (source !== frame.contentWindow || data?.draisine !== "time" || !Number.isFinite(data.time) || data.time === last) return;
    last = data.time;
    model.set("time", data.time);
    clearTimeout(told.later);
    told.later = setTimeout(() => model.save_changes(), 100);
  };
  window.addEventListener("message", told);
  model.on("change:time", () => {
    const time = model.get("time");
    if (time !== last) frame.contentWindow.postMessage({ draisine: "time", time }, "*");
  });
  return () => window.removeEventListener("message", told);
}
export default { render };
"""

_SLIDERS = """
function render({ model, el }) {
  const rows = document.createElement("div"), picture = document.createElement("img"), words = document.createElement("p");
  const columns = "grid-template-columns:max-content minmax(8rem,22rem) max-content";
  rows.style.cssText = `display:grid;${columns};gap:.2rem .8rem;align-items:center`;
  picture.style.cssText = "max-width:100%;background:white";
  picture.alt = "the run with these values";
  words.setAttribute("role", "status");
  for (const { name, label, low, high, step, unit } of model.get("sliders")) {
    const [caption, slider, number] = ["label", "input", "output"].map((tag) => document.createElement(tag));
    const id = `${model.get("key")}-${name}`;
    Object.assign(slider, { type: "range", min: low, max: high, step, value: model.get("values")[name], id });
    caption.htmlFor = slider.id;
    caption.textContent = label;
    const show = () => { number.textContent = `${Number(Number(slider.value).toPrecision(4))} ${unit}`; };
    slider.addEventListener("input", () => {
      show();
      model.set("values", { ...model.get("values"), [name]: Number(slider.value) });
      model.save_changes();
    });
    model.on("change:values", () => { slider.value = model.get("values")[name]; show(); });
    show();
    rows.append(caption, slider, number);
  }
  const draw = () => {
    const png = model.get("picture");
    picture.hidden = !png;
    if (png) picture.src = `data:image/png;base64,${png}`;
    words.textContent = model.get("words");
  };
  model.on("change:picture", draw);
  model.on("change:words", draw);
  draw();
  el.append(rows, picture, words);
}
export default { render };
"""


# ---------------------------------------------------------------- widgets


@cache
def _widget_class(kind: str, script: str) -> Any:
    """A class of widgets; made when the first one is wanted, since `anywidget` is optional."""
    anywidget = require("anywidget", "interactive cells of notebooks", "anywidget")
    traits = require("traitlets", "interactive cells of notebooks", "anywidget")
    fields = {
        "PageCell": {
            "page": traits.Unicode(),
            "title": traits.Unicode(),
            "height": traits.Int(HEIGHT),
            "time": traits.Float(0.0),
        },
        "SliderCell": {
            "sliders": traits.List(),
            "values": traits.Dict(),
            "picture": traits.Unicode(),
            "words": traits.Unicode(),
            "key": traits.Unicode(),
        },
    }[kind]
    checks = {"PageCell": {"end": traits.Float(math.inf), "_checked_time": traits.validate("time")(_checked_time)}}.get(
        kind, {"_checked_values": traits.validate("values")(_checked_values)}
    )
    shared = {name: trait.tag(sync=True) for name, trait in fields.items()}
    return type(kind, (anywidget.AnyWidget,), {"_esm": script, **shared, **checks})


def _checked_time(cell: Any, proposal: Any) -> float:
    """The instant of a film, within the film."""
    time = float(proposal["value"])
    if not -1e-6 <= time <= cell.end + 1e-6:  # also NaN
        raise ArgumentError(f"time: the film lasts from 0 to {cell.end:g} s, got {time:g}")
    return min(max(time, 0.0), cell.end)


def _checked_values(cell: Any, proposal: Any) -> dict[str, float]:
    """All values of the sliders: those that are not given stay, those given lie between the ends."""
    rows, given = {row["name"]: row for row in cell.sliders}, proposal["value"]
    for name, value in given.items():
        if name not in rows:
            raise unknown_name("slider", name, list(rows))
        low, high = rows[name]["low"], rows[name]["high"]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not low - 1e-9 * (high - low) <= value <= high + 1e-9 * (high - low):
            raise ArgumentError(f"values: the slider of {name!r} goes from {low:g} to {high:g}, got {value!r}")
    return {**cell.values, **given}


def page_cell(page: str, title: str, height: int = HEIGHT, end: float = math.inf) -> Any:
    """A self-contained page as a widget; `time` is the instant that a film shows, and can be set, up to `end`."""
    return _widget_class("PageCell", _PAGE)(page=page, title=title, height=height, end=end)


def player(run: Trajectory, *, height: int = HEIGHT, **options: Any) -> Any:
    """A film of a run as a widget of a notebook; `widget.time` is the instant shown, in seconds, and can be set or observed.

    `height` is that of the widget, in pixels; `options` are those of `animate`: charts, ghosts, layers, …

        film = dr.view.player(run, charts=["lean", "steer"])
        film.time = 1.5
    """
    film = animate(run, **{**options, "show": False})
    return page_cell(film.html(), film.title, height, float(run.time[-1]))


def sliders(
    model: Model | System | Equations,
    until: float,
    over: Mapping[str, tuple[float, float]],
    *,
    show: Sequence[str] = (),
    start: Mapping[str, float] | HasState | None = None,
    parameters: Mapping[str, float] | None = None,
    draw: Callable[[Trajectory], Any] | None = None,
    **options: Any,
) -> Any:
    """Sliders for parameters, inputs and initial conditions: a widget that simulates again whenever one is moved.

    - `until`: duration of each run, in seconds.
    - `over`: names with the ends of their sliders, `{"trail": (0.0, 0.15), "speed": (3.0, 8.0)}`.
    - `show`: the quantities to draw, by default the main ones; or `draw`, a function from the run to a figure.
    - `start`, `parameters` and other `options`: as in `simulate`.

    `widget.values` are the values now; a run that fails leaves its message in `widget.words`.

        over = {"speed": (3.0, 8.0), "trail": (0.0, 0.15)}
        dr.view.sliders(dr.gallery.bicycle(), 5.0, over, start={"roll_rate": 0.5}, show=["lean", "steer"])
    """
    experiment = _Experiment(model, until, over, tuple(show), start, dict(parameters or {}), draw, options)
    widget = _widget_class("SliderCell", _SLIDERS)(
        sliders=experiment.rows(), values=experiment.middle(), key=f"draisine-{clock.monotonic_ns()}"
    )

    def update(_change: Any = None) -> None:
        widget.picture, widget.words = experiment.outcome(widget.values)

    widget.observe(update, "values")
    update()
    return widget


def _ends(name: str, given: Any, unit: str) -> tuple[float, float]:
    """The ends of a slider; texts have units."""
    pair = given if isinstance(given, tuple | list) and len(given) == 2 else (None, None)
    found = [None if isinstance(end, bool) else number_in(end, unit, f"sliders: ends of {name!r}") for end in pair]
    low, high = (math.nan if end is None else end for end in found)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ArgumentError(f"sliders: the ends of {name!r} must increase: give two numbers such as (0.3, 1.2), got {given!r}")
    return low, high


class _Experiment:
    """What is simulated when a slider moves."""

    def __init__(
        self,
        model: Model | System | Equations,
        until: float,
        over: Mapping[str, tuple[float, float]],
        show: tuple[str, ...],
        start: Any,
        parameters: dict[str, float],
        draw: Callable[[Trajectory], Any] | None,
        options: dict[str, Any],
    ) -> None:
        if not over:
            raise ArgumentError("sliders: over is empty; name the quantities to vary with their ends, over={'speed': (3, 8)}")
        self.model, self.until, self.show, self.draw, self.options = model, until, show, draw, options
        self.start, self.parameters = start, parameters
        # one run tells all names, and that the model runs
        first = simulate(model, min(until, 1e-3), start=start, parameters=parameters, **options)
        self.units = {c.name: c.unit for c in first.channels}
        given = model.freeze() if isinstance(model, Model) else model
        self.units |= {p.name: p.unit for p in given.parameters}
        self.named = {p.name for p in given.parameters}
        self.driven = {u.name for u in given.inputs}
        self.first = first
        for name in (*over, *show):
            if name not in self.units:
                raise unknown_name("parameter, input or quantity", name, list(self.units))
        self.over = {name: _ends(name, ends, self.units[name]) for name, ends in over.items()}

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "label": display_name(name),
                "low": low,
                "high": high,
                "step": (high - low) / _STEPS,
                "unit": pretty_unit(self.units[name]),
            }
            for name, (low, high) in self.over.items()
        ]

    def middle(self) -> dict[str, float]:
        """Where the sliders begin: at the model's own value if it lies between the ends, else in the middle."""
        own = {**self.first.parameters, **{n: float(self.first[n][0]) for n in self.over if n in self.first}}
        inside = {name: own.get(name, low) for name, (low, high) in self.over.items() if low <= own.get(name, low - 1) <= high}
        return {name: inside.get(name, (low + high) / 2) for name, (low, high) in self.over.items()}

    def run(self, values: Mapping[str, float]) -> Trajectory:
        parameters = {n: v for n, v in values.items() if n in self.named}
        inputs = {n: v for n, v in values.items() if n in self.driven}
        moving = {n: v for n, v in values.items() if n not in parameters and n not in inputs}
        options = {**self.options, "inputs": {**self.options.get("inputs", {}), **inputs}} if inputs else self.options
        start: Any = {**(self.start or {}), **moving} if moving else self.start
        return simulate(self.model, self.until, start=start, parameters={**self.parameters, **parameters}, **options)

    def outcome(self, values: Mapping[str, float]) -> tuple[str, str]:
        """The picture as base64 text, and what is to be said."""
        try:
            run = self.run(values)
        except DraisineError as problem:
            return "", str(problem)
        figure = self.draw(run) if self.draw is not None else channel_figure(run, *(self.show or main_channels(run)))
        return base64.b64encode(as_png(figure)).decode(), _words(run)


def _words(run: Trajectory) -> str:
    """How a run ended, unless it reached its final time, and its warnings."""
    status = run.status
    return "" if status.kind is Ending.FINISHED and not status.warnings else str(status)


# ---------------------------------------------------------------- progress


class ProgressBar:
    """A progress bar for any `progress=`: one line that is renewed, in a notebook by its own display, else in the terminal.

        dr.ensemble(model, 5.0, over={"trail": trails}, progress=dr.view.ProgressBar())

    >>> import io
    >>> bar = ProgressBar(stream=io.StringIO())
    >>> bar(Progress("simulating", 0.25))
    >>> bar.stream.getvalue().strip()
    'simulating: 25 %'
    """

    def __init__(self, stream: Any = None, *, least: float = 0.1) -> None:
        """`least`: seconds between two drawings; the last one is always made."""
        self.stream, self.least = stream, least
        self._shown, self._handle, self._width = -1.0, None, 0

    def __call__(self, progress: Progress) -> None:
        now, done = clock.monotonic(), progress.share is not None and progress.share >= 1.0
        if now - self._shown < self.least and self._shown >= 0 and not done:
            return
        self._shown = now
        if self.stream is None and in_notebook():
            self._display(self.html(progress))
        else:
            text = str(progress)
            print("\r" + text.ljust(self._width), end="\n" if done else "", file=self.stream or sys.stderr, flush=True)
            self._width = len(text)

    @staticmethod
    def html(progress: Progress) -> str:
        """The bar as HTML, in the colors of the notebook."""
        share = "" if progress.share is None else f' value="{min(max(progress.share, 0.0), 1.0):.4f}"'
        return f'<progress style="width:16em" max="1"{share}></progress> {html.escape(str(progress))}'

    def _display(self, text: str) -> None:
        shown = require("IPython.display", "a progress bar in a notebook", "ipython")
        if self._handle is None:
            self._handle = shown.display(shown.HTML(text), display_id=True)
        else:
            self._handle.update(shown.HTML(text))


# ---------------------------------------------------------------- pictures of results


def inline_figure(result: Result) -> str:
    """The figure of a result as an element of a page, or "" if it has none."""
    if isinstance(result, Trajectory):
        figure = channel_figure(result, *main_channels(result)) if len(result.time) > 1 and result.channels else None
    else:
        plot = getattr(result, "plot", None)
        figure = plot() if plot is not None else None
    if figure is None:
        return ""
    coded = base64.b64encode(as_png(figure)).decode()
    return f'<img alt="figure of the result" style="max-width:100%;background:white" src="data:image/png;base64,{coded}">'
