"""How to get the same again: version, commands, Python, and the model itself as a file."""

from __future__ import annotations

import hashlib
import platform
import shlex
from pathlib import Path

from draisine.model.files import to_toml
from draisine.view.report.analysis import Lasting
from draisine.view.report.chapter import Absent, Reported, code, paragraph, table
from draisine.view.report.sample_run import Riding
from draisine.view.report.subject import SECONDS, Subject


def reproduction(subject: Subject, lasting: Lasting, riding: Riding) -> Reported:
    from draisine import __version__

    called = subject.wanted.called or (f"{subject.equations.name}.toml" if subject.system is not None else "")
    lines = table(
        ("", ""),
        [
            ("draisine", __version__),
            ("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
            *([("model, SHA-256 of its file", fingerprint(subject))] if subject.system is not None else []),
        ],
    )
    if called:
        lines.append(paragraph("On the command line:"))
        lines.append(code("\n".join(_commands(subject, lasting, riding, called))))
    lines += [paragraph("In Python:"), code(_python(subject, riding, called))]
    return Reported(tuple(lines))


def model_file(subject: Subject) -> Reported | Absent:
    """The description as a file that reads back as the same system."""
    if subject.system is None:
        return Absent("The model was typed as formulas in Python: there is no file of it beside the program that defines it.")
    lead = paragraph(f"Saved as {subject.equations.name}.toml, it reads back as the same system.")
    return Reported((lead, code(to_toml(subject.system))))


def fingerprint(subject: Subject) -> str:
    assert subject.system is not None
    return hashlib.sha256(to_toml(subject.system).encode()).hexdigest()


def _commands(subject: Subject, lasting: Lasting, riding: Riding, called: str) -> list[str]:
    name = shlex.quote(called)
    changed = "".join(f" --set {shlex.quote(f'{key}={value!r}')}" for key, value in subject.changed.items())
    asked = "".join(f" --{key.replace('_', '-')} {value!r}" for key, value in subject.wanted.start.items())
    until = f" --until {subject.wanted.until:g}" if subject.wanted.until != SECONDS else ""
    over = "".join(f" --over {key}={values[0]:g}:{values[-1]:g}:{len(values)}" for key, values in subject.wanted.over.items())
    commands = [
        f"draisine report {name}{changed}{asked}{until}{over}",
        f"draisine certify {name}",
        f"draisine doctor {name}{changed}",
    ]
    found = lasting.swept
    if not isinstance(found, str):
        sweep = f"{found.over}={found.values[0]:g}:{found.values[-1]:g}:{len(found.values)}"
        commands.append(f"draisine modes {name}{changed} --over {sweep}")
    start = "".join(f" --{key.replace('_', '-')} {value!r}" for key, value in riding.start.items())
    commands.append(f"draisine simulate {name}{changed}{start} --until {subject.wanted.until:g}")
    return commands


def _python(subject: Subject, riding: Riding, called: str) -> str:
    made = f'dr.read_model("{called}")' if Path(called).suffix == ".toml" else f'dr.gallery.model("{called}")' if called else "…"
    changed = f", parameters={dict(subject.changed)!r}" if subject.changed else ""
    start = f", start={riding.start!r}" if riding.start else ""
    return "\n".join(
        [
            "import draisine as dr",
            "",
            f"model = {made}",
            f'dr.report(model{changed}).save("{subject.equations.name}.html")',
            f"run = dr.simulate(model, {subject.wanted.until:g}{start}{changed})",
        ]
    )
