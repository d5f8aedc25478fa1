"""The reference of the public names, from their signatures and docstrings, grouped by subject."""

from __future__ import annotations

import enum
import html
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any

import draisine

# subject → (file, about, names); the test asks that every public name stands in exactly one of them
GROUPS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "Models": (
        "models",
        "Describe a mechanism by names; read and write model files.",
        (
            *("Model", "System", "Event", "read_model", "write_model", "parse", "gallery", "errors"),
            *("Rolling", "Creep", "LinearTyre", "Coulomb", "ShenHedrickElkins"),
            *("read_bicycle", "MeasuredBicycle"),
        ),
    ),
    "Equations": (
        "equations",
        "From a description, or from formulas, to equations; their certificate, index, and what the constraints do.",
        (
            *(
                "derive",
                "derive_by_energies",
                "Equations",
                "Reduced",
                "Augmented",
                "Recursive",
                "Solver",
                "certify",
                "diagnose",
                "Diagnosis",
            ),
            *("lagrangian", "first_order", "semi_explicit", "implicit", "from_sympy", "posed"),
            *("index_of", "IndexReport", "reduce_index"),
            *("symbolic", "listing", "to_sympy", "write_equations"),
        ),
    ),
    "Programs and export": (
        "programs",
        "Straight-line programs, machine code, source code of other languages.",
        ("Program", "compile", "export", "as_casadi", "as_jax"),
    ),
    "Motion": (
        "motion",
        "Simulate: consistent starts, methods, control of drift, inputs; trajectories and their files.",
        (
            *("simulate", "Trajectory", "load", "consistent_start", "Near"),
            *("Auto", "DOP853", "RK4", "Heun", "PredictorCorrector", "Radau", "Gauss", "ESDIRK23", "CVODE", "IDA"),
            *("Sampled", "EveryStage", "reactions", "ConjugateGradients"),
            *(
                "Projection",
                "VelocityProjection",
                "Baumgarte",
                "GGL",
                "Minimal",
                "Rattle",
                "Symplectic",
                "InvariantStabilisation",
            ),
            *("NoControl", "compare_drift"),
        ),
    ),
    "Many runs": (
        "ensembles",
        "Thousands and millions of runs on all cores.",
        ("ensemble", "Ensemble", "Uniform", "Normal", "Final", "Snapshots", "Extremes", "Happenings"),
    ),
    "Stability": (
        "stability",
        "Linear models, steady motions and their branches, modes, critical values, periodic motions.",
        (
            *("linearize", "LinearModel", "descriptor", "Descriptor", "canonical", "closed_form", "modes", "uncertainty"),
            *("mode_shapes", "root_locus", "animate_mode", "stability_map", "StabilityMap"),
            *("steady", "continuation", "Steps", "Branch", "hands_free_turns", "turning_atlas", "Atlas"),
            *("limit_cycle", "Cycle", "follow_cycle", "CycleBranch", "transition"),
        ),
    ),
    "Feedback": (
        "control",
        "Laws on linear models and their way back into the nonlinear run; prescribed paths.",
        (
            *(
                "lqr",
                "place",
                "schedule",
                "kalman",
                "observed",
                "Feedback",
                "Observer",
                "feedback_linearisation",
                "computed_torque",
            ),
            *("follow", "on_path", "OnPath", "Bounded", "Forward"),
        ),
    ),
    "Optimal control": (
        "optimal",
        "Manoeuvres at their best: statement, methods, solutions, what is done with them.",
        (
            *(
                "manoeuvre",
                "Manoeuvre",
                "Solution",
                "Collocation",
                "Shooting",
                "Ipopt",
                "Refinement",
                "Straight",
                "Held",
                "Shaken",
            ),
            *("Adjoint", "Descent", "gradient", "Gradient", "multistart", "Starts", "Searches"),
            *("Feedforward", "tracking", "Tracking", "predictive", "Predictive"),
        ),
    ),
    "Data": (
        "data",
        "Parameters and states from measurements; which experiment tells most.",
        (
            *("estimate", "Fit", "Experiment", "Smooth", "MultiStart", "SingleShooting", "MultipleShooting"),
            *("Huber", "SoftL1", "Cauchy", "identifiability", "coverage"),
            *("filter", "Filtered", "Extended", "Unscented"),
            *("design_experiment", "Design", "Variance", "Determinant", "WorstCombination", "Instants"),
        ),
    ),
    "Pictures": (
        "pictures",
        "Drawings, films, solids; the live studio and the report.",
        ("draw", "animate", "read_mesh", "studio", "report", "Report"),
    ),
}
MORE = "More"  # names that somebody has added and nobody has sorted yet


@dataclass(frozen=True)
class Entry:
    """A public name, or a method of one."""

    name: str
    kind: str  # "function", "class", "method", "property", …
    signature: str
    text: str  # Markdown
    members: tuple[Entry, ...] = ()

    @property
    def anchor(self) -> str:
        return self.name


def groups() -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """The groups, and one more for names that are in none."""
    sorted_in = {name for _, _, names in GROUPS.values() for name in names}
    left = tuple(name for name in draisine.__all__ if name not in sorted_in)
    there = set(draisine.__all__)
    present = {title: (file, about, tuple(n for n in names if n in there)) for title, (file, about, names) in GROUPS.items()}
    return {**present, MORE: ("more", "Further names.", left)} if left else present


def addresses() -> dict[str, str]:
    """Public names, and methods of public classes, with the place that tells about them."""
    found = {}
    for file, _, names in groups().values():
        for name in names:
            found[name] = f"api/{file}.html#{name}"
            for member in _members(getattr(draisine, name)):
                found[f"{name}.{member}"] = f"api/{file}.html#{name}.{member}"
    return found


def entry(name: str) -> Entry:
    thing = getattr(draisine, name)
    if inspect.ismodule(thing):
        return Entry(name, "module", "", _markdown(thing))
    if isinstance(thing, type):
        members = tuple(_member(name, member, getattr_static) for member, getattr_static in _members(thing).items())
        kind = "enumeration" if issubclass(thing, enum.Enum) else "exception" if issubclass(thing, Exception) else "class"
        return Entry(name, kind, "" if kind != "class" else _signature(thing), _markdown(thing), members)
    return Entry(name, "function", _signature(thing), _markdown(thing))


def _members(thing: Any) -> dict[str, Any]:
    """Public methods and properties, those of our own base classes included; fields stand in the signature."""
    if not isinstance(thing, type):
        return {}
    found: dict[str, Any] = {}
    for base in reversed(thing.__mro__):
        if base.__module__.startswith("draisine"):
            for name, value in vars(base).items():
                plain = isinstance(value, (property, classmethod, staticmethod)) or inspect.isfunction(value)
                cached = type(value).__name__ == "cached_property"
                if not name.startswith("_") and (plain or cached) and _documentation(value):
                    found[name] = value
    return found


def _member(owner: str, name: str, value: Any) -> Entry:
    function = getattr(value, "__func__", value)
    if isinstance(value, property) or type(value).__name__ == "cached_property":
        return Entry(f"{owner}.{name}", "property", "", _markdown(value))
    return Entry(f"{owner}.{name}", "method", _signature(function), _markdown(value))


def _documentation(thing: Any) -> str:
    return inspect.getdoc(getattr(thing, "__func__", thing)) or ""


def _signature(thing: Callable[..., Any]) -> str:
    """Arguments with types and defaults as they were written, one per line when they are long."""
    try:
        signature = inspect.signature(thing)
    except ValueError:
        return ""
    arguments, star = [], False
    for position, argument in enumerate(signature.parameters.values()):
        if argument.name in ("self", "cls") and position == 0:
            continue
        if argument.kind is argument.KEYWORD_ONLY and not star:
            arguments.append("*")
            star = True
        star = star or argument.kind is argument.VAR_POSITIONAL
        arguments.append(_argument(argument))
    returns = "" if signature.return_annotation in (inspect.Signature.empty, None, "None") else _type(signature.return_annotation)
    line = f"({', '.join(arguments)})"
    if len(line) > 88:
        line = "(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"
    return line + (f" -> {returns}" if returns and not isinstance(thing, type) else "")


def _argument(argument: inspect.Parameter) -> str:
    stars = {argument.VAR_POSITIONAL: "*", argument.VAR_KEYWORD: "**"}.get(argument.kind, "")
    said = stars + argument.name
    if argument.annotation is not argument.empty:
        said += f": {_type(argument.annotation)}"
    if argument.default is not argument.empty:
        default = repr(argument.default)
        said += f" = {'…' if default.startswith('<') or len(default) > 60 else default}"
    return said


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return text.strip("'\"")


def _markdown(thing: Any) -> str:
    """A docstring as Markdown: doctests fenced, indented blocks kept, and no made-up text of dataclasses."""
    text = _documentation(thing)
    if is_dataclass(thing) and text.startswith(f"{getattr(thing, '__name__', '')}("):
        return ""
    # "see docs/drift.md" points to the page
    return re.sub(r"\bdocs/(\w+)\.md", r"[\1](\1.md)", "\n".join(_fenced(text.splitlines())))


def _fenced(lines: list[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        begins = re.match(r"\s*>>> ", line) is not None
        if begins and not inside:
            yield "\n```pycon"
            inside = True
        if inside and not line.strip():
            yield "```"
            inside = False
        yield line.strip() if inside and begins else line
    if inside:
        yield "```"


def shown(entry: Entry, render: Callable[[str], str], places: Mapping[str, str]) -> str:
    """An entry as HTML; public names in signatures lead to their `places`."""
    from docsite.markdown import highlighted

    short = entry.name.rpartition(".")[2]
    member = "." in entry.name
    tag = "h3" if member else "h2"
    before = {"class": "class ", "exception": "exception ", "enumeration": "enumeration "}.get(entry.kind, "")
    code = f"{'' if member else 'dr.'}{short}{entry.signature}"
    anchor = html.escape(entry.anchor)
    head = (
        f'<{tag} id="{anchor}"><span class="kind">{before or entry.kind}</span> <code>{html.escape(short)}</code>'
        f'<a class="anchor" href="#{anchor}" aria-label="link to this name">#</a></{tag}>\n'
    )
    signature = highlighted(code, "python").replace('class="code"', 'class="signature"', 1) if entry.signature else ""
    signature = re.sub(
        r'<span class="n">(\w+)</span>',
        lambda word: (
            f'<a href="../{places[word[1]]}">{word[0]}</a>'
            if word[1][0].isupper() and word[1] in places and word[1] != short
            else word[0]
        ),
        signature,
    )
    inner = "".join(shown(each, render, places) for each in entry.members)
    body = head + signature + render(entry.text) + (f'<div class="members">{inner}</div>' if inner else "")
    return f'<section class="{"member" if member else "entry"}">{body}</section>\n'
