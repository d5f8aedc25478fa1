"""The house in numbers: files, lines, public names, imports inside functions, import cycles, and the files that a run enters.

    python tools/house.py            # counts, and the files entered by a run of the bicycle, cold and warm, and by its film
    python tools/house.py --no-run   # counts alone

A file is *entered* when code inside it runs between the call of `simulate` and its result: functions, and the bodies of classes,
which run when the file is loaded. Files of which only class bodies run are marked `(classes)`. Of the film those files are listed
that the warm run did not enter. `docs/design.md` follows this way and lists the imports inside functions and by name.
`tests/reference/house.json` holds the counts that a test compares; a change that raises one changes that file and says why.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "draisine"

RUN = """
import json, sys
import draisine as dr
root, film, entered, called = sys.argv[1], sys.argv[2], set(), set()
FUNCTION = 1  # the flag CO_OPTIMIZED, which functions have and class bodies have not
def notice(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(root):
        entered.add(code.co_filename)
        if code.co_flags & FUNCTION:
            called.add(code.co_filename)
sys.setprofile(notice)
run = dr.simulate(dr.gallery.bicycle(), 5.0, start={"speed": 4.6, "roll_rate": 0.5})
sys.setprofile(None)
files = {"run": {name: name in called for name in sorted(entered)}}
sys.setprofile(notice)
run.save(film, charts=["lean"])
sys.setprofile(None)
print(json.dumps(files | {"film": {name: name in called for name in sorted(entered.difference(files["run"]))}}))
"""


@dataclass(frozen=True)
class Import:
    """One import of a module of the package by another."""

    importer: str
    imported: str
    in_function: bool
    line: int


def modules(package: Path = PACKAGE) -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def parsed(path: Path) -> ast.Module:
    """A file's syntax tree; the tests of a process read the package once. Trees live to the end: while one is made, no garbage is
    looked for among the others."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text("utf-8"))
    finally:
        if collects:
            gc.enable()


@cache
def imports(package: Path = PACKAGE) -> tuple[Import, ...]:
    """Imports within the package, those inside functions included; those for type checkers alone are left out."""
    known = modules(package)
    return tuple(found for name, path in known.items() for found in _imports_of(name, parsed(path), known))


def _imports_of(importer: str, tree: ast.AST, known: dict[str, Path], in_function: bool = False) -> Iterator[Import]:
    for node in _contained(tree):
        if isinstance(node, ast.If) and any("TYPE_CHECKING" in _name(part) for part in ast.walk(node.test)):
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "draisine":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield Import(importer, whole if whole in known else node.module, in_function, node.lineno)
        elif isinstance(node, ast.Import):
            yield from (Import(importer, a.name, in_function, node.lineno) for a in node.names if a.name in known)
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from _imports_of(importer, node, known, in_function or function)


def imports_inside_functions(package: Path = PACKAGE) -> dict[tuple[str, str], int]:
    """Import statements inside functions: (importing file, imported file) → how many."""
    known = modules(package)
    file_of = {name: path.relative_to(package).as_posix() for name, path in known.items()}
    statements = {(f.importer, f.imported, f.line) for f in imports(package) if f.in_function}
    return dict(Counter((file_of[importer], file_of[imported]) for importer, imported, _ in statements))


def imports_by_name(package: Path = PACKAGE) -> list[str]:
    """Files that call `import_module` with a name that is computed: what they import, a reader of imports does not see."""
    found = []
    for path in modules(package).values():
        if "import_module" not in (text := path.read_text("utf-8")) and "__import__" not in text:
            continue
        for node in ast.walk(parsed(path)):
            if (
                isinstance(node, ast.Call)
                and _called(node) in ("import_module", "__import__")
                and not isinstance(node.args[0], ast.Constant)
            ):
                found.append(path.relative_to(package).as_posix())
    return sorted(set(found))


def _called(node: ast.Call) -> str:
    """The last part of the name of what is called, if it has one."""
    return _name(node.func)


def _name(node: ast.AST) -> str:
    """The last part of a name; nothing of other expressions."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def cycles(package: Path = PACKAGE) -> list[list[str]]:
    """Groups of modules that import each other in a circle (Tarjan's strongly connected components)."""
    graph = defaultdict(set)
    for found in imports(package):
        if found.imported not in (found.importer, "draisine"):
            graph[found.importer].add(found.imported)
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    components = []

    def visit(name: str) -> None:
        number[name] = lowest[name] = len(number)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in number:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], number[other])
        if lowest[name] == number[name]:
            component = [stack.pop()]
            while component[-1] != name:
                component.append(stack.pop())
            if len(component) > 1:
                components.append(sorted(component))

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        for name in modules(package):
            if name not in number:
                visit(name)
    finally:
        sys.setrecursionlimit(limit)
    return components


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Statements and what holds them, at any depth; no expressions, which contain none."""
    for node in _contained(tree):
        yield node
        yield from _statements(node)


def _contained(node: ast.AST) -> Iterator[ast.AST]:
    """The statements, cases and handlers that a node holds itself."""
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        yield from getattr(node, name, ())


def longest_function(package: Path = PACKAGE) -> tuple[str, int]:
    """The function with the most lines, and how many."""
    found = ("", 0)
    for name, path in modules(package).items():
        for node in _statements(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                found = max(found, (f"{name}.{node.name}", node.end_lineno - node.lineno + 1), key=lambda one: one[1])
    return found


def public_names() -> list[str]:
    """The names at the top of the package, from the stub that lists them."""
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8"))
    return sorted(alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names)


def counts() -> dict[str, int]:
    """What a test holds."""
    files = modules()
    return {
        "files": len(files),
        "lines": sum(len(path.read_text("utf-8").splitlines()) for path in files.values()),
        "public names": len(public_names()),
        "imports inside functions": len({(found.importer, found.line) for found in imports(PACKAGE) if found.in_function}),
        "files that import by name": len(imports_by_name()),
        "import cycles": len(cycles()),
        "lines of the longest function": longest_function()[1],
    }


def entered(cache: Path) -> dict[str, dict[str, bool]]:
    """Files entered by a run of the bicycle, and those that its film adds, in a new process with its cache in a folder.

    Each says whether one of its functions was called, or classes were defined only.
    """
    source = str(PACKAGE.parent)
    environment = {**os.environ, "DRAISINE_CACHE_DIR": str(cache), "PYTHONPATH": source}
    command = [sys.executable, "-c", RUN, str(PACKAGE), str(cache / "bicycle.html")]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return {
        part: {Path(path).relative_to(PACKAGE).as_posix(): called for path, called in files.items()}
        for part, files in json.loads(answer).items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--no-run", action="store_true", help="leave out the run of the bicycle")
    given = parser.parse_args()
    for what, count in counts().items():
        print(f"{count:>8,}  {what}")
    print(f"          longest function: {longest_function()[0]}")
    for cycle in cycles():
        print("          cycle:", " ".join(name.removeprefix("draisine.") for name in cycle))
    if given.no_run:
        return
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = entered(Path(folder)), entered(Path(folder))
    for what, files in {
        "files entered by a cold run of the bicycle": cold["run"],
        "files entered by a warm run of the bicycle": warm["run"],
        "files that a film of the warm run enters besides": warm["film"],
    }.items():
        print(f"\n{len(files):>8}  {what}, {sum(files.values())} of them to call a function:\n")
        for name, called in files.items():
            print(f"          {name}{'' if called else ' (classes)'}")


if __name__ == "__main__":
    main()
