"""Starts that are nice to look at, as models of the gallery declare them; others begin at rest."""

from __future__ import annotations

from draisine.program.equations import Equations


def pace(name: str) -> float:
    """Seconds of the model in a second of the page: more than one where everything takes minutes."""
    from draisine import gallery

    return gallery.live(name).pace


def beginning(equations: Equations, name: str) -> dict[str, float]:
    """Initial conditions that a page shows first."""
    from draisine import gallery

    known = {*equations.motion.output("outputs").labels, *(q.name for q in (*equations.states, *equations.velocities))}
    given = gallery.live(name).start or gallery.live(equations.name).start
    return {quantity: value for quantity, value in given.items() if quantity in known}
