"""Chapters as one self-contained page: no network, no other files, a style sheet for paper; printed to PDF by Chromium."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from draisine.errors import ToolError
from draisine.symbolic.rendering.html import MATH_PROBE, MATH_STYLE
from draisine.view.report.chapter import Chapter, escape, paragraph, with_own_names

# an embedded film inherits this policy: its own script and style, no requests
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"

# a film is loaded when it is unfolded, since its size is unknown before
UNFOLD = """for (const film of document.querySelectorAll("details.film")) film.addEventListener("toggle", () => {
  const frame = film.querySelector("iframe");
  if (film.open && !frame.srcdoc) frame.srcdoc = frame.dataset.page;
});"""

STYLE = """
:root { --ink: #1c1c1c; --soft: #5c5c5c; --rule: #d7d7d7; --accent: #0072b2; --bad: #a33a00;
  --paper: #fff; --card: #f6f7f8; --row: #ececec; color-scheme: light dark; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #ececea; --soft: #a2a6aa; --rule: #3a3f45; --accent: #56b4e9; --bad: #ff8a3d;
    --paper: #17191c; --card: #202327; --row: #2a2e33; }
  figure svg { filter: invert(0.91) hue-rotate(180deg); mix-blend-mode: lighten; }
}
* { box-sizing: border-box; }
body { font: 16px/1.55 Georgia, "Times New Roman", "DejaVu Serif", serif; color: var(--ink); background: var(--paper);
  max-width: 52rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; counter-reset: chapter figure table; }
h1, h2, h3, th, caption, figcaption, nav, .facts, .by, summary {
  font-family: system-ui, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 0.25rem; letter-spacing: -0.01em; }
.by { color: var(--soft); font-size: 0.85rem; margin: 0 0 1.5rem; }
h2 { font-size: 1.3rem; margin: 2.75rem 0 0.75rem; padding-top: 0.75rem; border-top: 1px solid var(--rule); }
section { counter-increment: chapter; }
section > h2::before { content: counter(chapter) "\\2002"; color: var(--accent); }
section.appendix { counter-increment: appendix; }
section.appendix > h2::before { content: "Appendix " counter(appendix, upper-alpha) "\\2002"; }
h3 { font-size: 1rem; margin: 1.5rem 0 0.4rem; }
p { margin: 0.5rem 0 0.75rem; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
.facts { display: grid; grid-template-columns: minmax(9rem, max-content) 1fr; gap: 0.3rem 1.25rem; font-size: 0.86rem;
  margin: 1.25rem 0; padding: 0.9rem 1.1rem; background: var(--card); border-left: 3px solid var(--accent); }
.facts dt { color: var(--soft); } .facts dd { margin: 0; }
.form { font-size: 1.05rem; } .form math { margin-right: 1.6em; }
nav ol { columns: 2; column-gap: 2rem; padding-left: 1.2rem; margin: 0.5rem 0; font-size: 0.88rem; }
nav li::marker { color: var(--accent); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.82rem; line-height: 1.35; margin: 0.75rem 0 1.25rem;
  border-top: 1.5px solid var(--ink); border-bottom: 1.5px solid var(--ink); font-variant-numeric: tabular-nums; }
caption { text-align: left; font-size: 0.8rem; color: var(--soft); padding: 0 0 0.35rem; }
caption::before { counter-increment: table; content: "Table " counter(table) ". "; font-weight: 600; color: var(--ink); }
th { font-weight: 600; font-size: 0.76rem; border-bottom: 1px solid var(--ink); vertical-align: bottom; }
th, td { text-align: left; padding: 0.22rem 0.9rem 0.22rem 0; vertical-align: top; }
td + td, th + th { padding-left: 0.1rem; }
tbody tr + tr td { border-top: 1px solid var(--row); }
.number { text-align: right; white-space: nowrap; }
td:first-child { white-space: nowrap; }
thead:has(th:empty:first-child) { display: none; }
figure { margin: 1.25rem 0; break-inside: avoid; }
figure svg { width: 100%; height: auto; display: block; }
figcaption { font-size: 0.82rem; color: var(--soft); margin-top: 0.3rem; }
figcaption::before { counter-increment: figure; content: "Figure " counter(figure) ". "; font-weight: 600; color: var(--ink); }
math { font-size: 1rem; }
.listing { border: 0; font-size: 0.8rem; } .listing td { padding: 0.18rem 0.9rem 0.18rem 0; border: 0; white-space: normal; }
.listing .meaning { color: var(--soft); min-width: 13rem; max-width: 16rem; }
pre { background: var(--card); padding: 0.75rem 1rem; overflow-x: auto; font-size: 0.78rem; line-height: 1.4; }
.failed { color: var(--bad); border-left: 3px solid var(--bad); padding-left: 0.75rem; font-weight: 600; }
.absent { color: var(--soft); font-style: italic; }
.remarks, .small { color: var(--soft); font-size: 0.85rem; }
details.film { margin: 1.25rem 0; border: 1px solid var(--rule); }
details.film summary { cursor: pointer; padding: 0.6rem 0.9rem; font-size: 0.9rem; color: var(--accent); }
details.film iframe { display: block; width: 100%; height: 34rem; border: 0; border-top: 1px solid var(--rule); }
@page { size: A4; margin: 20mm 18mm; }
@media screen and (max-width: 600px) { .facts { grid-template-columns: 7.5rem 1fr; gap: 0.3rem 0.8rem; padding: 0.9rem 0.8rem; } }
@media print {
  :root { font-size: 12px; }
  body { font-size: 10pt; max-width: none; margin: 0; padding: 0; }
  details.film { display: none; }
  .scroll { overflow: visible; } pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 7pt; }
  h2, h3, caption, thead { break-after: avoid; } tr { break-inside: avoid; } section.appendix { break-before: page; }
  table { font-size: 7.6pt; } th { font-size: 7.4pt; } td:first-child { white-space: normal; }
  td, th { padding-right: 0.5rem; overflow-wrap: anywhere; } .number { overflow-wrap: normal; }
  .listing math { font-size: 7.6pt; } .listing .meaning { min-width: 8rem; } a { color: inherit; }
}
"""


def page(name: str, description: str, made_by: str, chapters: Sequence[Chapter], appendices: Sequence[Chapter]) -> str:
    """The text of the page."""
    title = f"Report on {name}"
    facts = {key: value for chapter in (*chapters, *appendices) for key, value in chapter.facts.items()}
    wrong = [c for c in (*chapters, *appendices) if c.failed or c.trouble]
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}{MATH_STYLE}</style></head><body>",
        f"<header><h1>{escape(name.replace('_', ' '))}</h1>",
        f'<p class="by">{escape(made_by)}, {datetime.date.today().isoformat()}</p>',
        *([paragraph(description)] if description else []),
        '<dl class="facts">',
        *(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in facts.items()),
        *(f'<dt>Attention</dt><dd><a href="#{c.anchor}">{escape(c.failed or c.trouble)}</a></dd>' for c in wrong),
        "</dl>",
        '<nav aria-label="contents"><ol>',
        *(f'<li><a href="#{c.anchor}">{escape(c.title)}</a></li>' for c in (*chapters, *appendices)),
        "</ol></nav></header>",
    ]
    for kind, group in (("chapter", chapters), ("appendix", appendices)):
        for chapter in group:
            lines += [
                f'<section class="{kind}" id="{chapter.anchor}"><h2>{escape(chapter.title)}</h2>',
                *chapter.lines,
                "</section>",
            ]
    lines += (
        [f"<script>{MATH_PROBE}</script>"] if any("<math" in line for c in (*chapters, *appendices) for line in c.lines) else []
    )
    lines += [f"<script>{UNFOLD}</script>"] if any(line.startswith("<details") for c in chapters for line in c.lines) else []
    return with_own_names("\n".join([*lines, "</body></html>", ""]))


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_TIMEOUT = 180  # seconds


def browser() -> str | None:
    """The first headless browser on the path."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def as_pdf(page: str) -> bytes:
    """The page printed to PDF by a browser."""
    program = browser()
    if program is None:
        raise ToolError(
            "printing a PDF needs Chromium (or Chrome), which was not found on the path; install it (apt-get install chromium, "
            "brew install chromium, winget install chromium), or open the HTML page in any browser and print it to a file"
        )
    with tempfile.TemporaryDirectory(prefix="draisine-") as folder:
        source, target = Path(folder) / "page.html", Path(folder) / "page.pdf"
        source.write_text(page, encoding="utf-8")
        command = [program, "--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"]
        command += [f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--no-sandbox")  # Chromium refuses to run as root otherwise; the page is our own
        done = subprocess.run([*command, source.as_uri()], capture_output=True, text=True, check=False, timeout=_TIMEOUT)
        if not target.exists():
            raise ToolError(f"{Path(program).name} printed nothing: {done.stderr.strip()[-400:] or f'status {done.returncode}'}")
        return target.read_bytes()
