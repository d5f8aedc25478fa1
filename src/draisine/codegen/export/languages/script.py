"""JavaScript as a classic script, which pages opened from the file system may run: browsers refuse them modules.

The function is registered as `Draisine.programs.<name>`. It writes its results into arrays that its caller keeps, one per result
after the arguments, so that stepping allocates nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from draisine.codegen.export.language import Argument, Body, Source, joined
from draisine.codegen.export.languages.javascript import JavaScript


class Script(JavaScript):
    """With `plain`, no text of the model is in the file: nothing to read, and nothing that could end a script element."""

    key, title, suffix = "script", "a classic script of JavaScript", ".js"
    reserved = f"{JavaScript.reserved} Draisine"

    def __init__(self, plain: bool = False) -> None:
        self.plain = plain

    def comment(self, text: str) -> str:
        return "" if self.plain else super().comment(text)

    def header(self, lines: Sequence[str]) -> list[str]:
        return [] if self.plain else super().header(lines)

    def store(self, argument: Argument, k: int, expression: str) -> str:
        return f"{self.entry(argument.name, k)} = {expression};"

    def defaults(self, name: str, numbers: Sequence[str]) -> list[str]:
        return self.table(name, numbers)

    def main_function(self, name: str, inputs: Sequence[Argument], outputs: Sequence[Argument], body: Body) -> list[str]:
        given = ", ".join(a.name for a in (*inputs, *outputs))
        return [f"function {name}({given}) {{", *self.indented(body.lines), "}"]

    def file(self, source: Source) -> str:
        home = "const home = globalThis.Draisine = globalThis.Draisine || {};"
        shelf = "const programs = home.programs = home.programs || {};"
        registered = [home, shelf, f"programs.{source.name} = {source.name};"]
        registered += [f"{source.name}.{a.name}_default = {source.name}_{a.name}_default;" for a, _ in source.defaults]
        parts = [
            self.default_tables(source),
            source.tables,
            self.needed_helpers(source),
            source.functions,
            source.main,
            registered,
        ]
        inside = joined(parts).rstrip("\n").split("\n")
        return joined([self.header(source.header), ["(function () {", '  "use strict";', *self.indented(inside), "})();"]])
