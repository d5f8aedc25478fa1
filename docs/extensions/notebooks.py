"""Sphinx extension: the tutorial and the how-to pages as notebooks to download, with the outputs that the pages show.

A page's text becomes cells of text, its Python cells of code. Pictures and links between pages, which a file on its own does not
have, become their words; figures that the page keeps in files are shown below their cells.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from extensions import DOCS, pages
from extensions.snippets import FENCE

FOLDER = "notebooks"  # of the site
_PICTURE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_OFFER = re.compile(r"^This page can be \[downloaded as a notebook\].*$", re.MULTILINE)
_OFFERED = re.compile(r"<p>This page can be <a [^>]*>.*?</p>", re.DOTALL)
_KEPT = re.compile(r"^(\S.*)\.savefig\(\"[^\"]*\"(?:, dpi=\d+)?\)$", re.MULTILINE)  # a figure that goes into a file
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:)[^)]*\)")


def names() -> list[str]:
    """The pages that become notebooks."""
    found = [str(page.relative_to(DOCS).with_suffix("")) for page in pages()]
    return [name for name in found if name == "tutorial" or name.startswith("howto/")]


def notebook(text: str) -> dict[str, Any]:
    """A page as a notebook, in version 4 of the format.

    >>> made = notebook("# Title\\n\\n```python\\nprint(1)\\n```\\n\\n```output\\n1\\n```\\n")
    >>> [(cell["cell_type"], cell["source"]) for cell in made["cells"]], made["cells"][1]["outputs"][0]["text"]
    ([('markdown', '# Title'), ('code', 'print(1)')], '1\\n')
    """
    cells: list[dict[str, Any]] = []
    end = 0
    for fence in FENCE.finditer(text):
        if fence[1] not in ("python", "output"):
            continue  # part of the text
        _add_text(cells, text[end : fence.start()])
        end = fence.end()
        if fence[1] == "output":
            cells[-1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": fence[3]}]
        elif "notest" in fence[2]:
            _add_text(cells, fence[0].replace("```python notest", "```python"))
        else:
            source = _KEPT.sub(r"display(\1)", fence[3].rstrip("\n"))
            cells.append(
                {"cell_type": "code", "id": _id(cells), "metadata": {}, "execution_count": None, "outputs": [], "source": source}
            )
    _add_text(cells, text[end:])
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


def _add_text(cells: list[dict[str, Any]], text: str) -> None:
    text = _OFFER.sub("", text)  # it is the notebook already
    plain = _LINK.sub(r"\1", _PICTURE.sub(lambda found: f"*{found[1]}*" if found[1] else "", text)).strip()
    if plain:
        cells.append({"cell_type": "markdown", "id": _id(cells), "metadata": {}, "source": plain})


def _id(cells: list[dict[str, Any]]) -> str:
    return f"cell-{len(cells) + 1}"


def write(name: str, folder: Path) -> Path:
    """Write a page's notebook below a folder; returns the file."""
    path = folder / f"{name.replace('/', '-')}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    made = notebook((DOCS / f"{name}.md").read_text(encoding="utf-8"))
    path.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


def offer(app: Sphinx, name: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """The sentence of a page that it can be downloaded becomes the link to the file."""
    if name in names() and "body" in context:
        made = write(name, Path(app.outdir) / FOLDER)
        up = "../" * name.count("/")
        link = f'<p><a href="{up}{FOLDER}/{made.name}" download>Download this page as a notebook</a></p>'
        context["body"], count = _OFFERED.subn(link, context["body"], count=1)
        if not count:
            raise ExtensionError(f"{name}.md does not say below its title that it can be downloaded as a notebook")


def main() -> None:
    """Write all notebooks into the folder that the command line names."""
    for name in names():
        print(write(name, Path(sys.argv[1] if len(sys.argv) > 1 else ".")))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", offer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    main()
