"""The reference of the public names: pages for autodoc, written from `draisine.__all__` before Sphinx reads them.

A public name that is a module is a namespace with a page of its own; the other names are grouped by the folder of the package
that defines them. Docstrings are Markdown in miniature (code between single backticks, lists, examples): `as_rst` translates
them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import draisine
from draisine import gallery
from extensions import DOCS

FOLDER = DOCS / "api"
USES = 6  # studies named at a function


def namespaces() -> dict[str, tuple[str, ...]]:
    """Public modules by name, with the names that each holds."""
    found = {name: getattr(draisine, name) for name in _listed(draisine)}
    return {name: _listed(thing) for name, thing in found.items() if isinstance(thing, ModuleType)}


def _listed(module: ModuleType) -> tuple[str, ...]:
    """What a namespace lists, or the functions and classes that it defines itself."""
    own = [
        name for name, thing in vars(module).items() if getattr(thing, "__module__", None) == module.__name__ and callable(thing)
    ]
    return tuple(sorted(name for name in getattr(module, "__all__", own) if not name.startswith("_")))


def groups() -> dict[str, tuple[str, ...]]:
    """Folder of the package, as a module's name → public names of the top that are defined in it."""
    found: dict[str, list[str]] = {}
    for name in _listed(draisine):
        thing = getattr(draisine, name)
        if not isinstance(thing, ModuleType):
            folder = ".".join(str(getattr(thing, "__module__", "draisine")).split(".")[:2])
            found.setdefault(folder, []).append(name)
    return {folder: tuple(sorted(names, key=str.lower)) for folder, names in sorted(found.items())}


@cache
def public() -> dict[str, str]:
    """Public names, those of namespaces too, with their full names; the top goes first where both have one."""
    inner = {name: f"draisine.{owner}.{name}" for owner, names in namespaces().items() for name in names}
    return {**inner, **{name: f"draisine.{name}" for name in _listed(draisine)}}


# ---------------------------------------------------------------- pages


def write(app: Sphinx) -> None:
    """`docs/api/index.rst`, and a page for each group and each namespace."""
    FOLDER.mkdir(exist_ok=True)
    for page in FOLDER.glob("*.rst"):
        page.unlink()
    index = ["Reference", "=========", "", "Every public name of ``import draisine as dr``, from its docstring.", ""]
    files: list[str] = []
    for folder, names in groups().items():
        title = folder.rpartition(".")[2].replace("_", " ").capitalize()
        index += _page(title, folder.rpartition(".")[2], "draisine", folder, names, files)
    for name, names in namespaces().items():
        index += _page(f"dr.{name}", f"draisine.{name}", f"draisine.{name}", f"draisine.{name}", names, files)
    index += [".. toctree::", "   :hidden:", "", *(f"   {file}" for file in files), ""]
    (FOLDER / "index.rst").write_text("\n".join(index), encoding="utf-8")


def _page(title: str, file: str, owner: str, module: str, names: tuple[str, ...], files: list[str]) -> list[str]:
    """Write the page of some names of `owner`, described by the head of `module`; its part of the index."""
    files.append(file)
    about = as_rst((import_module(module).__doc__ or "").split("\n\n")[0])
    table = [".. autosummary::", "   :nosignatures:", "", *(f"   ~{owner}.{name}" for name in names), ""] if names else []
    page = [title, "=" * len(title), "", *about, "", *table]
    for name in names:
        thing = getattr(import_module(owner), name)
        kind = "autoexception" if _is(thing, BaseException) else "autoclass" if isinstance(thing, type) else "autofunction"
        page += [f".. {kind if callable(thing) else 'autodata'}:: {owner}.{name}", ""]
    (FOLDER / f"{file}.rst").write_text("\n".join(page), encoding="utf-8")
    link = f":doc:`{title} <{file}>`"
    return [link, "-" * len(link), "", *about, "", *table]


def _is(thing: Any, base: type) -> bool:
    return isinstance(thing, type) and issubclass(thing, base)


# ---------------------------------------------------------------- docstrings

_CODE = re.compile(r"(``.+?``|`[^`]+`)", flags=re.DOTALL)
_MARKS = re.compile(r"(?<![\w*])(\*{1,2})(?=\S)[^*]+?(?<=\S)\1(?![\w*])|[\\*|]|(?<=\w)_\b")  # emphasis, or a mark to escape


def as_rst(text: str) -> list[str]:
    """Lines of reStructuredText from a docstring.

    >>> as_rst("Least |x|, as in `simulate()`:\\n- `x_`: one\\n\\n    x = 1\\n")[:3]
    ['Least \\\\|x\\\\|, as in :py:obj:`simulate() <draisine.simulate>`:', '', '- ``x_``: one']
    """
    return [line for paragraph in re.split(r"\n\s*\n", text.strip("\n")) for line in (*_paragraph(paragraph.split("\n")), "")]


def _paragraph(lines: list[str]) -> Iterable[str]:
    if lines[0].lstrip().startswith(">>> "):
        return lines
    if all(line.startswith("    ") for line in lines):
        return (".. code-block:: python", "   :force:", "", *lines)
    return _prose(lines)


def _prose(lines: list[str]) -> Iterator[str]:
    """A paragraph or a list; a list, or an example, that follows a line of text without a blank line gets one."""
    text = "\n".join(lines)
    if found := re.search(r"^\s*>>> ", text, flags=re.MULTILINE):
        yield from _prose(text[: found.start()].rstrip("\n").split("\n"))
        yield from ("", *text[found.start() :].split("\n"))
        return
    inside = False
    for line in _inline(text).split("\n"):
        begins = re.match(r"\s*[-*] |\s*\d+\. ", line) is not None
        if begins and not inside:
            yield ""
        inside = inside or begins
        yield line


def _inline(text: str) -> str:
    """Code spans become literals, or links where they are public names; marks that only reStructuredText knows are escaped."""
    parts = _CODE.split(text)
    parts[::2] = [_plain(part) for part in parts[::2]]
    for k in range(1, len(parts), 2):
        code = " ".join(parts[k].strip("`").split())
        link = address(code)
        parts[k] = f":py:obj:`{code.replace('<', chr(92) + '<')} <{link}>`" if link else f"``{code}``"
        if parts[k + 1][:1].isalnum():
            parts[k] += "\\ "
        if parts[k - 1][-1:].isalnum():
            parts[k] = "\\ " + parts[k]
    return re.sub(r"\bdocs/(\w+)\.md", r":doc:`\1 </\1>`", "".join(parts))


def _plain(text: str) -> str:
    """Emphasis stays; other asterisks, bars and trailing underscores are text."""
    return _MARKS.sub(lambda found: found[0] if found[1] else f"\\{found[0]}", text)


def address(code: str) -> str | None:
    """The full name of a public thing that a code span means: `dr.lqr(…)`, `Model.wheel`, `consistent_start`.

    A bare word counts only if it can be no ordinary one: with a capital, an underscore, or called.
    """
    found = re.fullmatch(r"(dr\.)?([A-Za-z]\w*(?:\.[A-Za-z]\w*)*)(\(.*)?", code, flags=re.DOTALL)
    if found is None or not (found[1] or found[3] or re.search(r"[A-Z_]", found[2])):
        return None
    thing: Any = draisine
    for part in (parts := found[2].split(".")):
        if part.startswith("_") or (thing is draisine and part not in draisine.__all__):
            return None
        thing = inspect.getattr_static(thing, part, None) if isinstance(thing, type) else getattr(thing, part, None)
        if thing is None:
            return None
    return ".".join(("draisine", *parts))


def docstring(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """A docstring as reStructuredText; the signature that a dataclass makes up for itself is none."""
    text, short = "\n".join(lines), name.removeprefix("draisine.")
    lines[:] = [] if text.startswith(f"{short}(") and what == "class" else as_rst(text)
    if found := uses().get(short):
        lines += [f"*In the gallery:* {', '.join(f':doc:`/gallery/{study}`' for study in found[:USES])}", ""]


@cache
def uses() -> dict[str, list[str]]:
    """Public name → studies whose files call it, `dr.NAME`."""
    found: dict[str, list[str]] = {}
    for study in gallery.studies():
        text = Path(inspect.getfile(gallery.study(study))).read_text(encoding="utf-8")
        for name in sorted(set(re.findall(r"\bdr\.(\w+)", text))):
            found.setdefault(name, []).append(study)
    return found


def by_last_name(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element) -> nodes.Element | None:
    """A type of a signature by the name under which it is public, wherever it is defined; or by that in another project."""
    if node.get("refdomain") != "py":
        return None
    target = str(node["reftarget"])
    last = target.rpartition(".")[2]
    if (known_as := public().get(last, target)) != target:
        domain = env.domains.python_domain
        return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", known_as, node, content)
    known = getattr(env, "intersphinx_inventory", {})
    for kind in ("py:class", "py:data", "py:function"):
        for name, item in known.get(kind, {}).items():
            if name.rpartition(".")[2] == last and target == last:
                return nodes.reference("", "", content, internal=False, refuri=item.uri, reftitle=f"{item.project_name}: {name}")
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write)
    app.connect("autodoc-process-docstring", docstring)
    app.connect("missing-reference", by_last_name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
