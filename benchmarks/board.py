"""The scoreboard: figures by part, with the machine and the versions they belong to, for the terminal, Markdown and browsers."""

from __future__ import annotations

import html
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table

from figure import Figure

PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
HEADINGS = ("figure", "ours", "peer", "ratio", "target", "met")
PEERS = ("sympy", "pydy", "symbrim", "casadi", "opty", "exudyn", "scipy_dae", "pin", "mujoco")
NOTE = (
    "Peer and draisine take turns in one run, times are medians, and answers are compared before they are timed. The ratio says "
    "how many times the peer's figure is larger: below 1, draisine loses. A dash stands where a peer could not be run here."
)
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222; background: #fff }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0 2rem } th, td { padding: 0.3rem 0.6rem; text-align: right }
th:first-child, td:first-child { text-align: left } tr + tr { border-top: 1px solid #ddd }
.yes { color: #00735a } .no, .lost { color: #b4460f }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #16191d } tr + tr { border-color: #333 } .yes { color: #4dc9a6 } .no, .lost { color: #f0935f } }
"""


@dataclass
class Board:
    """Parts as they are measured; what is measured is on disk at once."""

    machine: Mapping[str, str]
    parts: dict[str, list[Figure]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def as_data(self) -> dict[str, object]:
        parts = {name: [figure.as_json() for figure in figures] for name, figures in self.parts.items()}
        return {"machine": dict(self.machine), "parts": parts, "failures": self.failures}

    def write(self, stem: Path) -> None:
        """`stem`.json, .md and .html."""
        stem.parent.mkdir(parents=True, exist_ok=True)
        texts = {
            ".json": json.dumps(self.as_data(), indent=1, ensure_ascii=False) + "\n",
            ".md": self.markdown() + "\n",
            ".html": self.page(),
        }
        for suffix, text in texts.items():
            unfinished = stem.with_name(stem.name + suffix + ".unfinished")
            unfinished.write_text(text, encoding="utf-8")
            os.replace(unfinished, stem.with_name(stem.name + suffix))

    def markdown(self) -> str:
        lines = ["# draisine beside its peers", "", NOTE, "", self._told(), ""]
        for name, figures in self.parts.items():
            rows = [HEADINGS, ("---", *["---:"] * (len(HEADINGS) - 1)), *map(cells, figures)]
            lines += [f"## {name}", "", *(f"| {' | '.join(row)} |" for row in rows), ""]
        lines += [f"{name} could not be measured: {why}" for name, why in self.failures.items()]
        return "\n".join(lines).rstrip()

    def page(self) -> str:
        body = [f"<h1>draisine beside its peers</h1><p>{html.escape(NOTE)}</p><p>{html.escape(self._told())}</p>"]
        for name, figures in self.parts.items():
            head = "".join(f"<th>{heading}</th>" for heading in HEADINGS)
            body.append(f"<h2>{html.escape(name)}</h2><table><tr>{head}</tr>{''.join(map(_row, figures))}</table>")
        body += [f"<p>{html.escape(f'{name} could not be measured: {why}')}</p>" for name, why in self.failures.items()]
        head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
        head += "<title>draisine: figures</title>"
        return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'

    def tables(self) -> RenderableType:
        """For the terminal."""
        return Group(*(_table(name, figures) for name, figures in self.parts.items()), self._told())

    def _told(self) -> str:
        return ", ".join(f"{k} {v}" for k, v in self.machine.items())


def machine(draisine: str, peers: bool) -> dict[str, str]:
    """What the figures were measured on, and with."""
    facts = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "draisine": draisine,
    }
    for name in PEERS if peers else ():
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            facts[name] = "absent"
    return facts


def _processor() -> str:
    """The model's name where the system tells it."""
    listed = Path("/proc/cpuinfo")
    names = (
        [line.partition(":")[2].strip() for line in listed.read_text().splitlines() if "model name" in line]
        if listed.exists()
        else []
    )
    return names[0] if names else platform.processor() or platform.machine()


def cells(figure: Figure) -> tuple[str, ...]:
    limit = getattr(figure.target, "limit", None)
    target = str(figure.target) if limit is None else f"{str(figure.target)[0]} {quantity(limit, figure.unit)}"
    return (
        figure.name,
        quantity(figure.ours, figure.unit),
        "" if figure.peer is None else quantity(figure.peer, figure.unit),
        "" if figure.ratio is None else _ratio(figure.ratio),
        target if figure.target else "",
        {True: "yes", False: "no", None: "–" if figure.target else ""}[figure.met],
    )


def _ratio(ratio: float) -> str:
    if ratio < 1:
        return f"{ratio:.2g} × (slower)"
    return f"{ratio:.{0 if ratio >= 10 else 1}f} ×"


def quantity(value: float, unit: str) -> str:
    """Times with a prefix; other figures as they are."""
    if unit != "s":
        number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
        return f"{number} {unit}".strip()
    scale, prefix = next((s for s in PREFIXES if value >= s[0]), PREFIXES[-1])
    return f"{value / scale:.3g} {prefix}s"


def _row(figure: Figure) -> str:
    name, *others, met = cells(figure)
    kind = ' class="lost"' if figure.ratio is not None and figure.ratio < 1 else ""
    entries = "".join(f"<td{kind if k == 2 else ''}>{html.escape(text)}</td>" for k, text in enumerate(others))
    return f'<tr><td>{html.escape(name)}</td>{entries}<td class="{met}">{met}</td></tr>'


def _table(name: str, figures: Sequence[Figure]) -> Table:
    table = Table(title=name)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "figure" else "right")
    colours = {"yes": "[green]yes[/green]", "no": "[red]no[/red]"}
    for figure in figures:
        *texts, met = cells(figure)
        table.add_row(*texts, colours.get(met, met))
    return table
