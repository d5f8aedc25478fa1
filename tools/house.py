"""The house in numbers: files, lines, public names, imports inside functions, import cycles, and the files that a run enters.

    python tools/house.py            # counts, and the files entered by a run of the bicycle, cold and warm
    python tools/house.py --no-run   # counts alone

A file is *entered* when one of its functions runs between the call of `simulate` and its result. `tests/reference/house.json`
holds the counts that a test compares; a change that raises one changes that file and says why.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "draisine"

RUN = """
import json, sys
import draisine as dr
root, entered = sys.argv[1], set()
def notice(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(root):
        entered.add(code.co_filename)
sys.setprofile(notice)
dr.simulate(dr.gallery.bicycle(), 5.0, start={"speed": 4.6, "roll_rate": 0.5})
sys.setprofile(None)
print(json.dumps(sorted(entered)))
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
def imports(package: Path = PACKAGE) -> tuple[Import, ...]:
    """Imports within the package, those inside functions included; those for type checkers alone are left out."""
    known = modules(package)
    return tuple(found for name, path in known.items() for found in _imports_of(name, ast.parse(path.read_text("utf-8")), known))


def _imports_of(importer: str, tree: ast.AST, known: dict[str, Path], in_function: bool = False) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):  # imports are statements, and expressions contain none
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "draisine":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield Import(importer, whole if whole in known else node.module, in_function, node.lineno)
        elif isinstance(node, ast.Import):
            yield from (Import(importer, a.name, in_function, node.lineno) for a in node.names if a.name in known)
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from _imports_of(importer, node, known, in_function or function)


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


def longest_function(package: Path = PACKAGE) -> tuple[str, int]:
    """The function with the most lines, and how many."""
    found = ("", 0)
    for name, path in modules(package).items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
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
        "imports inside functions": len({(found.importer, found.line) for found in imports() if found.in_function}),
        "import cycles": len(cycles()),
        "lines of the longest function": longest_function()[1],
    }


def entered(cache: Path) -> list[str]:
    """The files entered by a run of the bicycle in a new process whose compiled code is kept in a folder."""
    source = str(PACKAGE.parent)
    environment = {**os.environ, "DRAISINE_CACHE_DIR": str(cache), "PYTHONPATH": source}
    command = [sys.executable, "-c", RUN, str(PACKAGE)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return [str(Path(path).relative_to(PACKAGE)) for path in json.loads(answer)]


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
        for kind in ("cold", "warm"):
            files = entered(Path(folder))
            print(f"\n{len(files):>8}  files entered by a {kind} run of the bicycle:\n")
            for name in files:
                print(f"          {name}")


if __name__ == "__main__":
    main()
