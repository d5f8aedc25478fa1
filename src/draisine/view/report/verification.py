"""Whether the equations are right, and what the constraints do."""

from __future__ import annotations

from collections.abc import Collection

from draisine.view.report.chapter import Absent, Reported, counted, listed, paragraph, say, table
from draisine.view.report.subject import Subject


def certificate(subject: Subject) -> Reported:
    """Independent derivations compared at random admissible states."""
    from draisine.diagnostics.certify import certify

    found = certify(subject.model)
    derivations = counted(len(found.derivations), "road")
    lines = [
        paragraph(
            f"The equations were derived by {derivations} ({', '.join(found.derivations)}) and compared at "
            f"{counted(found.states, 'random admissible state')}. Each line gives the worst relative disagreement, divided by "
            "the condition of its state, and what is allowed."
        )
    ]
    rows = [(x.what, f"{x.worst:.1e}", f"{x.allowed:.0e}", "holds" if x.holds else "FAILS") for x in found.lines]
    lines += table(("compared", "worst", "allowed", "verdict"), rows)
    lines.append(paragraph(_sentence(found.verdict)))
    lines += (
        listed(f"Kept away from: {a.what} (states rejected: {a.states})." for a in found.avoided[:4]) if found.avoided else []
    )
    lines += listed(f"Cannot be decided: {what}." for what in found.undecided) if found.undecided else []
    worst = max((x.worst for x in found.lines), default=0.0)
    fact = f"{'passed' if found.passed else 'FAILED'}: {derivations}, {found.states} states, worst {worst:.1e}"
    return Reported(tuple(lines), {"Certificate": fact}, "" if found.passed else f"The certificate failed: {found.verdict}")


def diagnosis(subject: Subject) -> Reported | Absent:
    """What the constraint doctor finds."""
    from draisine.diagnostics.diagnosis import diagnose

    found = diagnose(subject.model)
    lines: list[str] = []
    for heading, sentences in found.sections.items():
        lines += [f"<h3>{say(heading.capitalize())}</h3>", *(paragraph(_sentence(s, subject.names)) for s in sentences)]
    freedoms = f"{found.freedoms_of_position} of position, {found.freedoms_of_velocity} of velocity"
    facts = {"Freedoms": freedoms}
    if found.index is not None and getattr(found.index, "differential", None) is not None:
        facts["Differential index as posed"] = str(found.index.differential)
    return Reported(tuple(lines), facts, "" if found.can_move else "The constraints leave no motion.")


def _sentence(text: str, names: Collection[str] = ()) -> str:
    """As a sentence; a name of the model that begins it stays as it is."""
    begins_by_name = text.split(" ", 1)[0].rstrip(",:;") in names
    reported = text if begins_by_name else text[:1].upper() + text[1:]
    return reported if reported.endswith((".", ":", "!")) else f"{reported}."
