"""Reproduction of a report: version, commands, Python, and the model file."""

from __future__ import annotations

import hashlib
import platform
import shlex
from importlib.metadata import version
from pathlib import Path

from draisine.model.files import to_toml
from draisine.view.report.analysis import StabilityAnalysis
from draisine.view.report.chapter import Content, NotApplicable, code, paragraph, table
from draisine.view.report.sample_run import SampleRun
from draisine.view.report.subject import SECONDS, Subject


def reproduction(subject: Subject, analysis: StabilityAnalysis, sample: SampleRun) -> Content:
    called = subject.options.title or (f"{subject.equations.name}.toml" if subject.system is not None else "")
    lines = table(
        ("", ""),
        [
            ("draisine", version("draisine")),
            ("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
            *([("model, SHA-256 of its file", fingerprint(subject))] if subject.system is not None else []),
        ],
    )
    if called:
        lines.append(paragraph("On the command line:"))
        lines.append(code("\n".join(_commands(subject, analysis, sample, called))))
    lines += [paragraph("In Python:"), code(_python(subject, sample, called))]
    return Content(tuple(lines))


def model_file(subject: Subject) -> Content | NotApplicable:
    """The description as a model file."""
    if subject.system is None:
        return NotApplicable("The model is given as formulas in Python; there is no model file.")
    lead = paragraph(f"Saved as {subject.equations.name}.toml, it reads back as the same system.")
    return Content((lead, code(to_toml(subject.system))))


def fingerprint(subject: Subject) -> str:
    assert subject.system is not None
    return hashlib.sha256(to_toml(subject.system).encode()).hexdigest()


def _commands(subject: Subject, analysis: StabilityAnalysis, sample: SampleRun, called: str) -> list[str]:
    name = shlex.quote(called)
    changed = "".join(f" --set {shlex.quote(f'{key}={value!r}')}" for key, value in subject.changed.items())
    start_options = "".join(f" --{key.replace('_', '-')} {value!r}" for key, value in subject.options.start.items())
    until = f" --until {subject.options.until:g}" if subject.options.until != SECONDS else ""
    over = "".join(f" --over {key}={values[0]:g}:{values[-1]:g}:{len(values)}" for key, values in subject.options.over.items())
    commands = [
        f"draisine report {name}{changed}{start_options}{until}{over}",
        f"draisine certify {name}",
        f"draisine doctor {name}{changed}",
    ]
    found = analysis.swept
    if not isinstance(found, str):
        sweep = f"{found.over}={found.values[0]:g}:{found.values[-1]:g}:{len(found.values)}"
        commands.append(f"draisine modes {name}{changed} --over {sweep}")
    start = "".join(f" --{key.replace('_', '-')} {value!r}" for key, value in sample.start.items())
    commands.append(f"draisine simulate {name}{changed}{start} --until {subject.options.until:g}")
    return commands


def _python(subject: Subject, sample: SampleRun, called: str) -> str:
    source = (
        f'dr.read_model("{called}")' if Path(called).suffix == ".toml" else f'dr.gallery.model("{called}")' if called else "…"
    )
    changed = f", parameters={dict(subject.changed)!r}" if subject.changed else ""
    start = f", start={sample.start!r}" if sample.start else ""
    return "\n".join(
        [
            "import draisine as dr",
            "",
            f"model = {source}",
            f'dr.report(model{changed}).save("{subject.equations.name}.html")',
            f"run = dr.simulate(model, {subject.options.until:g}{start}{changed})",
        ]
    )
