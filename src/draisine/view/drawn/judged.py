"""Certificates and diagnoses with their pictures: here judgement and view meet."""

from __future__ import annotations

from typing import Any

from draisine.diagnostics.certify import certify
from draisine.diagnostics.diagnosis import Diagnosis, diagnose
from draisine.dynamics.verify.agreement import Certificate

__all__ = ["Certificate", "Diagnosis", "certify", "diagnose"]


def _plot_certificate(found: Certificate, **options: Any) -> Any:
    """Comparisons with their worst disagreements and what is allowed; see `draisine.view.plots.verdicts`."""
    from draisine.view.plots.verdicts import disagreements

    return disagreements([(line.what, line.worst, line.allowed) for line in found.lines], **options)


def _plot_diagnosis(found: Diagnosis, **options: Any) -> Any:
    """Counts of what there is and what is left, and the growth under brackets; see `draisine.view.plots.verdicts`."""
    from draisine.view.plots.verdicts import freedoms

    counts = [
        ("coordinates", found.coordinates),
        ("velocities", found.velocities),
        ("constraints", len(found.constraints)),
        ("independent ones", found.rank),
        ("freedoms of position", found.freedoms_of_position),
        ("freedoms of velocity", found.freedoms_of_velocity),
    ]
    return freedoms(counts, found.growth.dimensions if found.growth is not None else (), **options)


Certificate.plot = _plot_certificate  # type: ignore[assignment,method-assign]
Diagnosis.plot = _plot_diagnosis  # type: ignore[assignment,method-assign]
