"""LaTeX → PDF by whatever engine is installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from draisine.errors import ToolError
from draisine.symbolic.rendering.document import Document
from draisine.symbolic.rendering.latex import latex

# Each in the way that asks nothing, runs no other program, and stops at the first error.
ENGINES = {
    "pdflatex": ("-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"),
    "lualatex": ("-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"),
    "xelatex": ("-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"),
    "tectonic": ("--untrusted",),
}
SECONDS = 300


def typeset(doc: Document) -> bytes:
    """The document as PDF."""
    engine = next((name for name in ENGINES if shutil.which(name)), None)
    if engine is None:
        raise ToolError(
            f"a PDF needs LaTeX, and none of {', '.join(ENGINES)} is installed; install one (on Debian and Ubuntu: apt install "
            "texlive-latex-base), or take --format html: one file with the same contents, which any browser prints to PDF"
        )
    with tempfile.TemporaryDirectory(prefix="draisine") as folder:
        source = Path(folder) / "equations.tex"
        source.write_text(latex(doc), encoding="utf-8")
        if doc.picture is not None:
            (Path(folder) / f"{doc.picture.file}.pdf").write_bytes(doc.picture.pdf)
        # the widths of long tables are known from the second run on; tectonic repeats by itself
        for _ in range(1 if engine == "tectonic" else 2):
            _run(engine, source)
        return source.with_suffix(".pdf").read_bytes()


def _run(engine: str, source: Path) -> None:
    command = [engine, *ENGINES[engine], source.name]
    try:
        done = subprocess.run(command, cwd=source.parent, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise ToolError(f"{engine} took longer than {SECONDS} s; take --format latex and see what it does") from None
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace").splitlines()
        errors = [line for line in said if line.startswith(("!", "error", "l."))] or said[-5:]
        raise ToolError(f"{engine} failed: {' '.join(errors[:4])}; take --format latex to see the source")
