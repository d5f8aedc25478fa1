"""The notebooks of the tutorial and the how-to pages: they are valid, and run in a kernel as the pages say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from extensions import notebooks
from extensions.snippets import agrees

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")


def test_text_and_code_are_cells():
    text = "# A\n\n![a picture](x.png)\n\nSee [there](b.md#c) and [here](https://x.org).\n\n```sh\nls\n```\n\n"
    text += "```python\nx = 1\n```\n"
    first, second = notebooks.notebook(text)["cells"]
    assert first["source"] == "# A\n\n*a picture*\n\nSee there and [here](https://x.org).\n\n```sh\nls\n```"
    assert (second["cell_type"], second["source"]) == ("code", "x = 1")


def test_figures_are_shown_instead_of_kept_in_files():
    text = '```python\nfigure = run.plot("lean")\nfigure.savefig("a.png", dpi=110)\nmodes.plot().savefig("b.png")\n```\n'
    (cell,) = notebooks.notebook(text)["cells"]
    assert cell["source"] == 'figure = run.plot("lean")\ndisplay(figure)\ndisplay(modes.plot())'


def test_each_page_says_how_to_obtain_it_and_the_site_links_to_the_file(tmp_path):
    class App:
        outdir = str(tmp_path)

    for name in notebooks.names():
        text = (notebooks.DOCS / f"{name}.md").read_text(encoding="utf-8")
        assert notebooks._OFFER.search(text) and "downloaded as a notebook" not in str(notebooks.notebook(text)), name
        up = "../" * name.count("/")
        context = {
            "body": f'<h1>A</h1>\n<p>This page can be <a class="x" href="{up}notebooks.html">\n<span>downloaded</span></a>.</p>'
        }
        notebooks.offer(App(), name, "", context, None)
        file = f"notebooks/{name.replace('/', '-')}.ipynb"
        assert f'<a href="{up}{file}" download>' in context["body"] and (tmp_path / file).is_file()
        assert "This page" not in context["body"]


@pytest.mark.parametrize("name", notebooks.names())
def test_each_is_valid(name, tmp_path):
    found = nbformat.read(notebooks.write(name, tmp_path), as_version=4)
    nbformat.validate(found)
    assert sum(cell.cell_type == "code" for cell in found.cells) > 0


@pytest.mark.long
@pytest.mark.parametrize("name", notebooks.names())
def test_each_runs_as_a_notebook(name, tmp_path, monkeypatch):
    client = pytest.importorskip("nbclient")
    source = str(Path(notebooks.DOCS.parent / "src"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]))
    given = nbformat.read(notebooks.write(name, tmp_path), as_version=4)
    wanted = [cell.outputs[0].text if cell.outputs else None for cell in given.cells if cell.cell_type == "code"]
    run = client.NotebookClient(given, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    code = [cell for cell in run.cells if cell.cell_type == "code"]
    pictures = sum("image/png" in out.data for cell in code for out in cell.outputs if out.output_type == "display_data")
    assert pictures == sum(cell.source.count("display(") for cell in code)
    for cell, shown in zip(code, wanted, strict=True):
        printed = "".join(out.text for out in cell.outputs if out.output_type == "stream" and out.name == "stdout")
        assert shown is None or agrees(shown, printed), f"{cell.source}\nprints\n{printed}\nbut the page says\n{shown}"
