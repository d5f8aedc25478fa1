"""The diagnosis in sentences, under headings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from draisine.diagnostics.configuration_path import FARTHEST
from draisine.diagnostics.lie_brackets import sum_of
from draisine.diagnostics.singular_configurations import TIME, Singular, What

if TYPE_CHECKING:
    from draisine.diagnostics.diagnosis import Diagnosis

MOST_STEPS = 8  # differentiations told one by one; `index_of` tells them all
MOST_PLACES = 4  # configurations told for one thing that is singular
MOST_VALUES = 4
MOST_NAMES = 8


def reported(d: Diagnosis) -> dict[str, tuple[str, ...]]:
    """Heading → sentences; headings under which there is nothing to say are left out."""
    parts = {
        "freedoms": _freedoms,
        "constraints": _constraints,
        "integrability": _integrability,
        "index": _index,
        "singular configurations": _singular,
        "independent velocities": _chosen,
        "symmetries": _symmetry,
        "inputs": _reach,
        "notes": lambda d: iter(d.notes),
    }
    found = {heading: tuple(tell(d)) for heading, tell in parts.items()}
    return {heading: lines for heading, lines in found.items() if lines}


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _few(names: Sequence[str], most: int = MOST_NAMES) -> str:
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"


def _freedoms(d: Diagnosis) -> Iterator[str]:
    if not d.coordinates:
        return
    if not d.velocities:
        yield f"{d.freedoms_of_position} of {_count(d.coordinates, 'unknown')} may be chosen at a start"
        return
    reached = d.growth.reached if d.growth is not None and d.growth.complete else d.freedoms_of_position
    said = f"{_count(d.freedoms_of_position, 'freedom')} of position, {d.freedoms_of_velocity} of velocity"
    lost = reached - d.freedoms_of_velocity
    hidden = d.freedoms_of_position - reached
    if lost > 0:
        said += f": {_count(lost, 'velocity constraint')} {'forbids' if lost == 1 else 'forbid'} no position"
    yield said
    if hidden > 0 and d.growth is not None and d.growth.dimensions[0] <= 1:
        yield "from one start it stays on one path: there is no more than one direction to go"
    elif hidden > 0:
        yield (
            f"from one start only {_count(reached, 'freedom')} of position can be used: {_count(hidden, 'velocity constraint')} "
            f"{'is' if hidden == 1 else 'are'} holonomic in disguise"
        )
    if d.growth is not None and d.growth.directions < d.velocities:
        yield f"{d.velocities - d.growth.directions} of {d.velocities} velocities change no coordinate"
    if d.freedoms_of_velocity == 0:
        yield "its constraints move it, nothing else can" if d.driven else "nothing can move: take a constraint away"


def _constraints(d: Diagnosis) -> Iterator[str]:
    if not d.velocities:
        return
    if not d.constraints:
        yield "none"
        return
    if not d.redundant:
        alone = len(d.constraints) == 1
        yield f"one: {d.constraints[0]}" if alone else f"{len(d.constraints)}, all of them independent at velocity level"
    else:
        yield f"{len(d.constraints)}, {d.rank} of them independent at velocity level"
    for name, repeated in d.redundant.items():
        if repeated:
            yield f"{name} repeats {_few(repeated)}: the force that each takes is not unique, only what they do together is"
        else:
            yield f"{name} holds by itself: no velocity enters it"
    if d.rank_here < d.rank:
        yield f"at the state itself only {d.rank_here} of them"


def _integrability(d: Diagnosis) -> Iterator[str]:
    g = d.growth
    if g is None or not d.constraints:
        return
    if not g.nonholonomic and not g.disguised and g.complete:
        if g.known and g.directions == d.velocities:
            yield "all constraints are holonomic: they are constraints of position and their rates"
        elif g.directions < d.velocities:
            yield "whether constraints on velocities that change no coordinate are integrable cannot be told"
        return
    path = ", ".join(map(str, g.dimensions))
    followed = "" if g.complete else ", followed no further"
    yield f"growth vector ({path}) of {_count(g.directions, 'direction')}{followed}"
    if g.here is not None and g.here != g.dimensions:
        yield f"at the state itself it is ({', '.join(map(str, g.here))}): the state is special"
    if g.known:
        yield f"constraints of position: {_few(g.known)}"
    if g.dimensions[0] <= 1 and g.complete:
        yield "with no more than one direction to go everything is integrable"
        return
    for found in g.disguised:
        if found.constant:
            yield f"holonomic in disguise: {sum_of(found.terms)}"
        else:
            names = _few(list(found.terms))
            yield f"holonomic in disguise: a combination of {names}, with coefficients that change with the configuration"
    if g.nonholonomic > 0:
        at_least = "" if g.complete else "at least "
        among = f" of {_few(g.among)}" if g.among else ""
        if len(g.among) == g.nonholonomic:
            yield f"truly nonholonomic: {at_least}{_few(g.among)}"
        else:
            yield f"truly nonholonomic: {at_least}{_count(g.nonholonomic, 'combination')}{among}"


def _index(d: Diagnosis) -> Iterator[str]:
    index = d.index
    if index is None:
        return
    yield from index.sentences
    if not d.velocities and len(index.steps) <= MOST_STEPS:
        yield from (str(step) for step in index.steps)


def _singular(d: Diagnosis) -> Iterator[str]:
    if not d.constraints or not d.velocities:
        return
    groups: dict[str, list[Singular]] = {}
    for place in d.singular:
        groups.setdefault(_kind(place), []).append(place)
    for said, places in groups.items():
        listed = [_place(p) for p in places[:MOST_PLACES]]
        more = f", and at {len(places) - MOST_PLACES} more places" if len(places) > MOST_PLACES else ""
        yield f"{said} {'; '.join(dict.fromkeys(listed))}{more}"
    if d.followed:
        worse = [s for s in d.singular if s.what != What.DEAD_CENTER or s.involved == (TIME,)]
        none = "" if worse else "no singular configuration: "
        rest = f"; {len(d.unfollowed)} more freedoms were not followed" if d.unfollowed else ""
        yield f"{none}looked along {_few(d.followed)}, up to half a turn or {FARTHEST:.2g} typical lengths each way{rest}"


def _kind(s: Singular) -> str:
    if s.what == What.DEAD_CENTER:
        if s.involved == (TIME,):
            return "the mechanism cannot follow what drives it beyond"
        return f"dead center of {s.involved[0]}, which turns back there and cannot drive the rest:"
    if s.what == What.BEND:
        return f"{_few(s.involved) or 'a constraint'} bends sharply, as where a contact point jumps,"
    if s.what == What.END:
        return "no way further was found"
    if s.what != What.RANK:
        return s.said
    if len(s.involved) == 1:
        return f"{s.involved[0]} holds nothing, and the mechanism may go another way,"
    return f"{_few(s.involved)} hold the same motion, and the mechanism may go another way,"


def _place(s: Singular) -> str:
    names = list(s.at) if len(s.at) <= MOST_VALUES else [name for name in s.at if name in (s.along, *s.involved)]
    values = ", ".join(f"{name} = {_number(s.at[name])}" for name in names)
    if s.change == 0.0 and s.what != What.DEAD_CENTER:
        return f"at the state itself ({values})" if values else "at the state itself"
    return f"at {values}"


def _number(value: float) -> str:
    return f"{value + 0.0:.4g}" if abs(value) >= 5e-5 else "0"


def _chosen(d: Diagnosis) -> Iterator[str]:
    c = d.choice
    if c is None:
        return
    yield f"{_few(c.independent)}: largest amplification {_times(c.here)} here, {_times(c.nearby)} at worst nearby"
    if c.poor and c.better and c.better_here is not None:
        yield f"poor here: that of {_few(c.better)} is {_times(c.better_here)}"
    elif c.poor:
        yield "poor here, and no other choice is better"


def _times(factor: float) -> str:
    return f"{factor:.3g}" if factor < float("inf") else "without bound"


def _symmetry(d: Diagnosis) -> Iterator[str]:
    s = d.symmetries
    if s is None:
        return
    if s.ignorable:
        yield f"ignorable, nothing depends on them: {_few(s.ignorable)}"
    if s.conserved:
        yield f"conserved while no input acts: {_few(s.conserved)}"
    elif s.ignorable and d.growth is not None and d.growth.nonholonomic:
        yield "constraint forces change the momenta that belong to them"


def _reach(d: Diagnosis) -> Iterator[str]:
    r = d.reach
    if r is None:
        return
    if not r.states:
        yield "there is nothing left for inputs to move"
        return
    whole = "all" if r.controllable == r.states else f"{r.controllable} of"
    verb = "reaches" if len(r.inputs) == 1 else "reach"
    yield f"{_few(r.inputs)} {verb} {whole} {_count(r.states, 'direction')} to first order"
    if not r.steady:
        yield "the state is no steady motion: this holds for an instant only"
    for direction in r.unreached[:MOST_NAMES]:
        yield f"out of reach: {sum_of(direction)}"
    if not r.stabilisable:
        growing = ", ".join(_complex(z) for z in r.eigenvalues if z.real > 0)
        yield f"what is out of reach grows by itself (eigenvalues {growing}): no feedback can stabilize it"
    if r.unreached and d.growth is not None and d.growth.nonholonomic and d.growth.complete:
        yield "maneuvers may reach positions among it: the constraints forbid none that the growth vector counts"


def _complex(z: complex) -> str:
    return f"{z.real:.4g}" if abs(z.imag) < 1e-9 else f"{z.real:.4g} {'+' if z.imag > 0 else '−'} {abs(z.imag):.4g}i"
