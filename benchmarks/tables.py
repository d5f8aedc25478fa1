"""The scoreboard for the terminal, Markdown and browsers: first where draisine loses, then everything, part by part."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from board import Board, Part
from figure import Figure

PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
HEADINGS = ("figure", "ours", "beside", "theirs", "ratio", "target", "met")
ABOUT_PEERS = ("peer", "asked here for", "cannot, or leaves to its user")
WORDS = ("part", "figure", "beside", *ABOUT_PEERS)  # columns of words; the others are numbers
NOTE = (
    "Peer and draisine take turns in one run, times are medians (or, for both sides alike, the least of some turns), and answers "
    "are compared before they are timed. The ratio says "
    "how many times the peer's figure is larger than ours: below 1 draisine loses. A peer that was stopped at a time limit "
    "stands with “>”. An empty field: there is no such peer, or it could not be run here."
)
PEERS = (  # name, what it is asked to do here, what it cannot model or leaves to its user
    ("SymPy, PyDy", "Kane's method, C by Cython, odeint", "position constraints drift; starts are made consistent by hand"),
    ("SymBRiM", "the bicycle from its own parts, on SymPy and PyDy", "bicycles and riders alone; positions drift as with SymPy"),
    ("CasADi", "models written out by hand; its interpreter, its C, IDAS, IPOPT", "knows no mechanics: bodies, joints, wheels"),
    ("opty", "collocation of equations in SymPy", "backward Euler and midpoint only; equations are the user's"),
    ("scipy_dae", "Radau for 0 = F(t, y, ẏ)", "a solver: equations, Jacobians and consistent starts are the user's"),
    ("Exudyn", "its own bodies, joints and chains", "parameters are numbers: no equations, no exact derivatives by parameters"),
    (
        "Pinocchio",
        "chains of hinged rods",
        "wheels that roll and knife edges as exact constraints; symbolic parameters (but by its build with CasADi)",
    ),
    (
        "MuJoCo",
        "chains of hinged rods, contact switched off",
        "exact constraints: its own are soft, rolling is friction that holds; knife edges; symbolic parameters",
    ),
)
STYLE = """
:root { --ink: #1d2126; --faint: #5c6670; --paper: #fff; --line: #d9dde1; --head: #f2f4f6;
  --good: #00694f; --bad: #a83a08; --lost: #fff1ea }
@media (prefers-color-scheme: dark) { :root { --ink: #dfe3e7; --faint: #9aa4ae; --paper: #14171a; --line: #31373d;
  --head: #1e2327; --good: #4dc9a6; --bad: #f59a68; --lost: #33211a } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem; color: var(--ink);
  background: var(--paper); color-scheme: light dark }
h2 { margin: 2.2rem 0 0.3rem } p { max-width: 60rem; margin: 0.3rem 0 0.8rem } .faint { color: var(--faint); font-size: 0.9em }
nav a { margin-right: 1em } a { color: inherit }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th { background: var(--head); font-weight: 600 } th, td { padding: 0.25rem 0.6rem; text-align: right; vertical-align: top }
.words { text-align: left } td.number { white-space: nowrap } tr { border-bottom: 1px solid var(--line) }
tr.lost { background: var(--lost) } .yes { color: var(--good) } .no, .loses { color: var(--bad); font-weight: 600 }
"""


def cells(figure: Figure) -> tuple[str, ...]:
    """What, ours, beside whom, theirs, ratio, target, met."""
    limit, target = getattr(figure.target, "limit", None), str(figure.target or "")
    more = "> " if figure.peer_at_least else ""
    return (
        figure.what,
        quantity(figure.ours, figure.unit),
        figure.beside,
        "" if figure.peer is None else more + quantity(figure.peer, figure.unit),
        "" if figure.ratio is None else more + _ratio(figure),
        target if limit is None else f"{target[0]} {quantity(limit, figure.unit)}",
        {True: "yes", False: "no", None: "undecided" if figure.target else ""}[figure.met],
    )


def _ratio(figure: Figure) -> str:
    ratio = figure.ratio or 0.0
    if ratio < 1:
        return f"{ratio:.2g} ×" + (" loses" if figure.loses else "")
    return f"{ratio:,.{0 if ratio >= 10 else 1}f} ×"


def quantity(value: float, unit: str) -> str:
    """Times with a prefix; other figures as they are."""
    if unit != "s":
        number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
        return f"{number} {unit}".strip()
    scale, prefix = next((s for s in PREFIXES if value >= s[0]), PREFIXES[-1])
    return f"{value / scale:.3g} {prefix}s"


def summary(board: Board) -> list[str]:
    """In a few sentences: how many comparisons, won and lost, targets met and not, what is missing."""
    compared = [figure for _, figure in board.figures() if figure.ratio is not None]
    aimed = [figure for _, figure in board.figures() if figure.target is not None]
    reported = [
        f"{len(compared)} figures stand beside a peer's; draisine loses {len(board.losses)} of them.",
        f"{len(aimed)} figures have a target: {sum(f.met is True for f in aimed)} are met, {len(board.unmet)} are not"
        + (f", {missing} are undecided for want of a peer." if (missing := sum(f.met is None for f in aimed)) else "."),
    ]
    if len(board.sources) > 1:
        reported.append("Parts were measured with different states of the source: each says with which.")
    if board.disturbed:
        titles = ", ".join(part.title for part in board.disturbed)
        reported.append(f"The machine was busy with other work, ratios may be off and times are: {titles}.")
    return reported + [f"{board.parts[name].title} is not complete: {why}." for name, why in board.failures.items()]


def described(board: Board) -> str:
    return ", ".join(f"{k} {v}" for k, v in board.machine.items())


def measured(part: Part) -> str:
    load = f"load {part.load:.1f} when it began and {part.load_after:.1f} when it ended, {part.others:.2f} cores used by others"
    return f"measured {part.when} in {part.seconds:.0f} s, source {part.source}, {load}"


def _title(board: Board) -> str:
    return f"draisine {board.machine.get('draisine', '')} beside its peers"


def _sections(board: Board) -> Iterable[tuple[str, str, Sequence[tuple[Part, Figure]]]]:
    yield "Where draisine loses", "Rows in which the peer's figure is the smaller one, the worst first.", board.losses
    yield "Targets that are not met", "", board.unmet


# ------------------------------------------------------------------------------------------------ Markdown


def markdown(board: Board) -> str:
    lines = [
        f"# {_title(board)}",
        "",
        NOTE,
        "",
        *(f"- {text}" for text in summary(board)),
        "",
        f"Measured on: {described(board)}.",
    ]
    for title, about, found in _sections(board):
        lines += ["", f"## {title}", "", *([about, ""] if about else [])]
        lines += _listed(("part", *HEADINGS), [(part.title, *cells(figure)) for part, figure in found]) if found else ["None."]
    for part in board.parts.values():
        lines += ["", f"## {part.title}", "", f"{part.about} ({measured(part)})", ""]
        lines += _listed(HEADINGS, [cells(figure) for figure in part.figures])
        lines += ["", f"**Not complete:** {part.failure}"] if part.failure else []
    lines += ["", "## The peers, and what they cannot model", "", *_listed(ABOUT_PEERS, PEERS)]
    return "\n".join(lines)


def _listed(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    sides = ["---" if heading in WORDS else "---:" for heading in headings]
    bars = "\\|"  # a bar would end the cell
    return [f"| {' | '.join(text.replace('|', bars) for text in row)} |" for row in (headings, sides, *rows)]


# ------------------------------------------------------------------------------------------------ browsers


def page(board: Board) -> str:
    said = html.escape
    body = [f"<h1>{said(_title(board))}</h1><p>{said(NOTE)}</p>"]
    body.append(f"<ul>{''.join(f'<li>{said(text)}</li>' for text in summary(board))}</ul>")
    body.append(f'<p class="faint">Measured on: {said(described(board))}.</p>')
    links = "".join(f'<a href="#{said(name)}">{said(part.title)}</a>' for name, part in board.parts.items())
    body.append(f'<nav aria-label="Parts">{links}<a href="#peers">The peers</a></nav>')
    for title, about, found in _sections(board):
        body.append(f"<h2>{title}</h2><p>{about}</p>")
        rows = "".join(_row(figure, (part.title,)) for part, figure in found)
        body.append(_drawn(("part", *HEADINGS), rows) if found else "<p>None.</p>")
    for name, part in board.parts.items():
        body.append(f'<h2 id="{said(name)}">{said(part.title)}</h2><p>{said(part.about)}</p>')
        body.append(_drawn(HEADINGS, "".join(_row(figure) for figure in part.figures)))
        body += [f'<p class="no">Not complete: {said(part.failure)}</p>'] if part.failure else []
        body.append(f'<p class="faint">{said(measured(part))}</p>')
    rows = "".join(f"<tr>{''.join(_cell(text, 'words') for text in row)}</tr>" for row in PEERS)
    body.append('<h2 id="peers">The peers, and what they cannot model</h2>')
    body.append(_drawn(ABOUT_PEERS, rows))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
    head += f"<title>{said(_title(board))}</title>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def _drawn(headings: Sequence[str], rows: str) -> str:
    head = "".join(f'<th scope="col" class="{"words" if h in WORDS else "number"}">{h}</th>' for h in headings)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _row(figure: Figure, before: Sequence[str] = ()) -> str:
    what, ours, beside, theirs, ratio, target, met = cells(figure)
    found = [_cell(text, "words") for text in (*before, what)]
    found += [_cell(ours, "number"), _cell(beside, "words"), _cell(theirs, "number")]
    found += [
        _cell(ratio, "number loses" if figure.loses else "number"),
        _cell(target, "number"),
        _cell(met, f"number {met}".strip()),
    ]
    return f'<tr class="{"lost" if figure.loses else ""}">{"".join(found)}</tr>'


def _cell(text: str, kind: str) -> str:
    return f'<td class="{kind}">{html.escape(text)}</td>'


# ------------------------------------------------------------------------------------------------ terminal


def terminal(board: Board) -> RenderableType:
    return Group(*(_table(part) for part in board.parts.values()), *summary(board), described(board))


def _table(part: Part) -> Table:
    table = Table(title=part.title, caption=measured(part))
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in WORDS else "right")
    colors = {"yes": "[green]yes[/green]", "no": "[red]no[/red]"}
    for figure in part.figures:
        *texts, met = cells(figure)
        table.add_row(*texts, colors.get(met, met), style="yellow" if figure.loses else None)
    return table
