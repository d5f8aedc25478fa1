"""The reference of the public names: pages for autodoc, written from `draisine.__all__` before Sphinx reads them.

A public name that is a module is a namespace with a page of its own; the other names have one page together. Classes of results,
which are not exported, stand on the page of the function that returns them. Docstrings are Markdown in miniature (code between
single backticks, lists, examples): `as_rst` translates them.
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
from draisine.results.base import Result
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


def top() -> tuple[str, ...]:
    """Public names of the top that are no namespaces."""
    return tuple(sorted((n for n in _listed(draisine) if not isinstance(getattr(draisine, n), ModuleType)), key=str.lower))


@cache
def homes() -> dict[Any, str]:
    """Public thing → the full name of its entry: at the top if it is there, or in the first namespace that has it."""
    found: dict[Any, str] = {getattr(draisine, name): f"draisine.{name}" for name in _listed(draisine)}
    for owner, names in namespaces().items():
        for name in names:
            found.setdefault(getattr(getattr(draisine, owner), name), f"draisine.{owner}.{name}")
    return found


def own(namespace: str) -> tuple[str, ...]:
    """Names of a namespace that have their entry on its page."""
    module = getattr(draisine, namespace)
    return tuple(name for name in namespaces()[namespace] if homes()[getattr(module, name)] == f"draisine.{namespace}.{name}")


def results(owner: Any, names: Iterable[str]) -> tuple[str, ...]:
    """Full names of the package's classes that these functions and methods return and that no namespace lists."""
    found: dict[str, None] = {}
    for name in names:
        thing = getattr(owner, name)
        methods = vars(thing).items() if _is(thing, Result) or thing is draisine.Model else ()
        for function in (thing, *(m for n, m in methods if not n.startswith("_") and inspect.isfunction(m))):
            for word in re.findall(r"[A-Z]\w+", str(getattr(function, "__annotations__", {}).get("return", ""))):
                given = _named_in(function, word)
                if _is(given, object) and given.__module__.startswith("draisine.") and given not in homes() and given.__doc__:
                    found[f"{given.__module__}.{given.__qualname__}"] = None
    return tuple(found)


def _named_in(function: Any, word: str) -> Any:
    """What a word of an annotation means where a function is defined; imports for type checkers only are read from the source."""
    module = import_module(function.__module__)
    if word in vars(module):
        return vars(module)[word]
    imported = re.search(rf"^\s+from (draisine[\w.]*) import [^\n(]*\b{word}\b", inspect.getsource(module), flags=re.MULTILINE)
    return getattr(import_module(imported[1]), word, None) if imported else None


@cache
def returned() -> dict[str, tuple[str, ...]]:
    """Page of the reference → full names of the classes of results on it; each class has one entry."""
    found: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    for page, owner, names in (("draisine", draisine, top()), *((n, getattr(draisine, n), own(n)) for n in namespaces())):
        found[page] = tuple(name for name in results(owner, names) if name not in seen)
        seen.update(found[page])
    return found


@cache
def public() -> dict[str, tuple[str, ...]]:
    """Last name of everything in the reference → full names; two namespaces may have a name in common."""
    found: dict[str, list[str]] = {name: [f"draisine.{name}"] for name in _listed(draisine)}
    for owner in namespaces():
        for name in own(owner):
            found.setdefault(name, []).append(f"draisine.{owner}.{name}")
    for names in returned().values():
        for name in names:
            found.setdefault(name.rpartition(".")[2], []).append(name)
    return {name: tuple(full) for name, full in found.items()}


# ---------------------------------------------------------------- pages


def write(app: Sphinx) -> None:
    """`docs/api/index.rst`, a page for the top, and one for each namespace."""
    FOLDER.mkdir(exist_ok=True)
    for page in FOLDER.glob("*.rst"):
        page.unlink()
    index = ["Reference", "=========", "", "Every public name of ``import draisine as dr``, from its docstring.", ""]
    index += _page("Top level: dr", "draisine", "draisine", top())
    for name in namespaces():
        index += _page(f"dr.{name}", name, f"draisine.{name}", own(name))
    files = ("draisine", *namespaces())
    index += [".. toctree::", "   :hidden:", "", *(f"   {file}" for file in files), ""]
    (FOLDER / "index.rst").write_text("\n".join(index), encoding="utf-8")


def _page(title: str, file: str, owner: str, names: tuple[str, ...]) -> list[str]:
    """Write the page of some names of `owner`, and of the classes that they return; its part of the index."""
    module = draisine if owner == "draisine" else getattr(draisine, file)
    about = as_rst(_TOP if module is draisine else (module.__doc__ or "").split("\n\n")[0])
    others = [homes()[getattr(module, name)] for name in _listed(module) if name not in names] if module is not draisine else []
    elsewhere = [f":py:obj:`dr{name.removeprefix('draisine')} <{name}>`" for name in others]
    also = [f"Also here: {', '.join(elsewhere)}.", ""] if elsewhere else []
    page = [title, "=" * len(title), ""]
    if module is not draisine:
        page += [f".. py:module:: {owner}", "", ".. py:currentmodule:: None", ""]
    page += [*about, "", *_table(f"{owner}.{name}" for name in names), *also]
    for name in names:
        page += _entry(f"{owner}.{name}", getattr(module, name))
    if given := returned()[file]:
        page += ["Results", "-------", "", "Classes of what the functions above return.", "", *_table(given)]
        for name in given:
            page += _entry(name, getattr(import_module(name.rpartition(".")[0]), name.rpartition(".")[2]))
    (FOLDER / f"{file}.rst").write_text("\n".join(page), encoding="utf-8")
    link = f":doc:`{title} <{file}>`"
    return [link, "-" * len(link), "", *about, "", *_table(f"{owner}.{name}" for name in names), *also]


_TOP = "Models, simulation and analysis: the functions that most scripts call, and the types that they take first."


def _table(names: Iterable[str]) -> list[str]:
    rows = [f"   ~{name}" for name in names]
    return [".. autosummary::", "   :nosignatures:", "", *rows, ""] if rows else []


def _entry(name: str, thing: Any) -> list[str]:
    kind = "autoexception" if _is(thing, BaseException) else "autoclass" if isinstance(thing, type) else "autofunction"
    return [f".. {kind if callable(thing) else 'autodata'}:: {name}", ""]


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
    parts = found[2].split(".")
    if parts[0] not in draisine.__all__:
        # a name of a namespace, or a class of results, without its owner: if there is one of that name
        full = public().get(parts[0], ()) if re.search(r"[A-Z_]", parts[0]) and not found[1] else ()
        if len(full) != 1:
            return None
        return ".".join((full[0], *parts[1:])) if _reached(_thing(full[0]), parts[1:]) else None
    if not _reached(draisine, parts):
        return None
    if parts[1:] and parts[0] in namespaces() and parts[1] in namespaces()[parts[0]]:
        return ".".join((homes()[getattr(getattr(draisine, parts[0]), parts[1])], *parts[2:]))  # `dr.control.lqr` is `dr.lqr`
    return ".".join(("draisine", *parts))


def _reached(thing: Any, parts: Iterable[str]) -> bool:
    """Whether a thing has public parts of these names, one inside the other."""
    for part in parts:
        if part.startswith("_") or (thing is draisine and part not in draisine.__all__):
            return False
        thing = inspect.getattr_static(thing, part, None) if isinstance(thing, type) else getattr(thing, part, None)
        if thing is None:
            return False
    return True


def _thing(full: str) -> Any:
    """What a full name of the reference means."""
    owner, _, last = full.rpartition(".")
    inner = owner.removeprefix("draisine").lstrip(".")
    return getattr(draisine if not inner else getattr(draisine, inner) if inner in namespaces() else import_module(owner), last)


def docstring(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """A docstring as reStructuredText; the signature that a dataclass makes up for itself is none."""
    text, short = "\n".join(lines), name.removeprefix("draisine.")
    lines[:] = [] if text.startswith(f"{short}(") and what == "class" else as_rst(text)
    if found := uses().get(short):
        lines += [f"*In the gallery:* {', '.join(f':doc:`/gallery/{study}`' for study in found[:USES])}", ""]


@cache
def uses() -> dict[str, list[str]]:
    """Public name → studies whose files call it, `dr.NAME` or `dr.NAMESPACE.NAME`."""
    found: dict[str, list[str]] = {}
    for study in gallery.studies():
        text = Path(inspect.getfile(gallery.study(study))).read_text(encoding="utf-8")
        for name in sorted({name.removeprefix("dr.") for name in re.findall(r"\bdr(?:\.\w+)+", text)}):
            found.setdefault(name, []).append(study)
    return found


def by_last_name(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element) -> nodes.Element | None:
    """A type of a signature by the name under which it is public, wherever it is defined; or by that in another project."""
    if node.get("refdomain") != "py":
        return None
    target = str(node["reftarget"])
    last = target.rpartition(".")[2]
    full = public().get(last, ())
    here = f"draisine.{node['refdoc'].rpartition('/')[2]}."  # of two namespaces' classes of one name, that of the page
    known_as = full[0] if len(full) == 1 else next((name for name in full if name.startswith(here)), target)
    if known_as != target:
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
