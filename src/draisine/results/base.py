"""Base class of results: summary, tables for pandas and notebooks, files, and access to the figures of `draisine.view`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ArgumentError, DraisineError, require
from draisine.results.files import replacing
from draisine.results.status import Status

if TYPE_CHECKING:
    import pandas

FIGURES = (".png", ".svg", ".pdf")
TABLES = (".csv", ".parquet", ".json")
SHOWN = 12  # rows of a table in a notebook


def figure(drawing: str, /, *what: Any, **options: Any) -> Any:
    """Call a function of `draisine.view`, such as "periodic.cycle_figure".

    Results import `draisine.view` only here, when a figure is requested, so that computations do not load Matplotlib.
    """
    module, _, function = drawing.rpartition(".")
    return getattr(import_module(f"draisine.view.{module}"), function)(*what, **options)


class Uncached:
    """Pickles without cached properties, which may be large, compiled code or CasADi symbols; they are recomputed."""

    def __getstate__(self) -> dict[str, Any]:
        kind = type(self)
        return {name: value for name, value in vars(self).items() if not isinstance(getattr(kind, name, None), cached_property)}


class Result(Uncached):
    """The result of an analysis. Subclasses define `_table`, and `plot` if there is a figure."""

    def _table(self) -> Mapping[str, Any]:
        """Columns by name, all of one length."""
        raise NotImplementedError(f"{type(self).__name__} has no table")

    def summary(self) -> str:
        """The result as text."""
        return str(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The table of the result as a DataFrame; known units by column in `.attrs["units"]`."""
        table: pandas.DataFrame = require("pandas", "to_pandas()").DataFrame(dict(self._table()))
        units = getattr(self, "units", {})
        table.attrs["units"] = {name: units[name] for name in table.columns if isinstance(units, dict) and name in units}
        return table

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result, by suffix: the table as .csv, .parquet or .json, the figure as .png, .svg or .pdf."""
        suffix = os.path.splitext(path)[1].lower()
        plot = getattr(self, "plot", None)
        if suffix in FIGURES and plot is not None:
            plot().save(path)
        elif suffix in TABLES:
            with replacing(Path(path)) as draft:
                _write(self._table(), draft, suffix)
        else:
            known = ", ".join((*TABLES, *FIGURES) if plot is not None else TABLES)
            raise ArgumentError(
                f"{type(self).__name__} cannot be saved as {os.fspath(path)!r}: the suffix must be one of {known}"
            )

    def _overview(self) -> Mapping[str, Any]:
        """The table shown in notebooks; by default `_table`."""
        return self._table()

    def _repr_html_(self) -> str:
        """For notebooks: the table with status and warnings, and below it the figure, if there is one and Matplotlib is
        installed."""
        text = repr(self)
        caption = text[1:-1] if text[0] == "<" else self.summary().partition("\n")[0]
        table = html_table(caption, self._overview(), getattr(self, "units", None))
        status = getattr(self, "status", None)
        table += status._repr_html_() if isinstance(status, Status) else ""
        try:
            return table + figure("notebook.inline_figure", self)
        except DraisineError:  # nothing to draw
            return table


def html_text(text: object) -> str:
    """Text of several lines as an element of a page.

    >>> html_text("a < b")
    '<pre>a &lt; b</pre>'
    """
    from html import escape

    return f"<pre>{escape(str(text))}</pre>"


def html_table(caption: str, columns: Mapping[str, Any], units: Any = None, shown: int = SHOWN) -> str:
    """The first rows of columns as an HTML table, with those of `units` that are known, by column.

    >>> html_table("two rows", {"name": ["a", "b"], "value": [1.0, 2.5]}, {"value": "m"})
    '<table><caption>two rows</caption><thead><tr><th>name</th><th>value [m]</th></tr></thead>...
    """
    from html import escape

    rows = list(zip(*columns.values(), strict=True))
    known = units if isinstance(units, Mapping) else {}
    labels = [f"{name} [{known[name]}]" if known.get(name) else str(name) for name in columns]
    head = "".join(f"<th>{escape(label)}</th>" for label in labels)
    body = "".join("<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row) + "</tr>" for row in rows[:shown])
    if len(rows) > shown:
        body += f'<tr><td colspan="{len(columns)}">… {len(rows) - shown} more</td></tr>'
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if isinstance(value, bool | np.bool_ | str) or value is None:
        return str(value) if value is not None else ""
    if isinstance(value, complex | np.complexfloating):
        return f"{value.real:.6g}{value.imag:+.6g}i" if value.imag else f"{value.real:.6g}"
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def _write(table: Mapping[str, Any], path: str | os.PathLike[str], suffix: str) -> None:
    import csv
    import json

    columns = _real_columns(table)
    if suffix == ".parquet":
        arrow, parquet = require("pyarrow", "writing .parquet"), require("pyarrow.parquet", "writing .parquet")
        parquet.write_table(arrow.table({name: arrow.array(values) for name, values in columns.items()}), path)
        return
    rows = list(zip(*columns.values(), strict=True))
    with open(path, "w", encoding="utf-8", newline="") as file:
        if suffix == ".json":
            json.dump([{n: None if v != v else v for n, v in zip(columns, row, strict=True)} for row in rows], file, default=str)
        else:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(["" if value is None or value != value else value for value in row] for row in rows)


def _real_columns(table: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Columns of Python numbers and texts; complex ones as two, since the formats have no complex numbers."""
    found: dict[str, list[Any]] = {}
    for name, given in table.items():
        values = (
            given.tolist() if isinstance(given, np.ndarray) else [v.item() if isinstance(v, np.generic) else v for v in given]
        )
        if any(isinstance(value, complex) for value in values):
            found[f"{name}.re"] = [complex(value).real for value in values]
            found[f"{name}.im"] = [complex(value).imag for value in values]
        else:
            found[name] = values
    return found
