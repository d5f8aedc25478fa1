"""`draisine certify`, `doctor` and `compare-drift`: is the model right, what do its constraints do, how well are they kept?"""

from __future__ import annotations

import argparse

from draisine.cli.arguments import model_of, named_once, numbers_of, targets_of
from draisine.cli.terminal import DONE, ENDED_EARLY, print_result
from draisine.diagnostics.certify import certify
from draisine.diagnostics.diagnosis import diagnose
from draisine.errors import ArgumentError
from draisine.simulation.compare_drift import compare_drift

# Initial conditions of gallery models whose default state is at rest, used when none are given.
MOVING_STARTS: dict[str, dict[str, float]] = {
    "bicycle": {"speed": 4.6, "roll_rate": 0.5},
    "rolling_disk": {"speed": 1.5, "lean_rate": 0.2, "heading_rate": 0.0},
}


def run_certify(given: argparse.Namespace, _: list[str]) -> int:
    """Print the certificate."""
    other = model_of(given.against) if given.against is not None else None
    certificate = certify(model_of(given.model), other, count=given.states, names=_correspondence(given.names))
    print_result(certificate, given.json)
    return DONE if certificate.passed else ENDED_EARLY


def _correspondence(texts: list[str]) -> dict[str, str]:
    """Name in the first description → name in the second."""
    pairs = []
    for text in (pair for several in texts for pair in several.split(",") if pair.strip()):
        first, sign, second = (part.strip() for part in text.partition("="))
        if not (first and sign) or second == "-":
            raise ArgumentError(f"--names {text!r}: write A=B, a name of the first description and one of the second")
        pairs.append((first, second))
    return named_once(pairs, "--names")


def run_doctor(given: argparse.Namespace, rest: list[str]) -> int:
    """Print the diagnosis."""
    found = diagnose(model_of(given.model), targets_of(rest, vars(given)) or None, parameters=numbers_of(given.set, "--set"))
    print_result(found, given.json)
    return DONE if found.can_move else ENDED_EARLY


def run_compare_drift(given: argparse.Namespace, rest: list[str]) -> int:
    """Print the table."""
    model = model_of(given.model)
    comparison = compare_drift(
        model,
        given.until,
        start=targets_of(rest, vars(given)) or MOVING_STARTS.get(model.name, {}),
        parameters=numbers_of(given.set, "--set"),
        step=given.step,
        tolerance=given.tolerance,
        invariants=given.invariant,
    )
    print_result(comparison, given.json)
    return DONE
