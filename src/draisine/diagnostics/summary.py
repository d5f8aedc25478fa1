"""The diagnosis in sentences, under headings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from draisine.diagnostics.configuration_path import FARTHEST
from draisine.diagnostics.lie_brackets import sum_of
from draisine.diagnostics.singular_configurations import TIME, SingularConfiguration, SingularityKind

if TYPE_CHECKING:
    from draisine.diagnostics.diagnosis import Diagnosis

MOST_STEPS = 8  # differentiations listed one by one; `index_of` lists them all
MOST_PLACES = 4  # configurations listed for one kind of singularity
MOST_VALUES = 4
MOST_NAMES = 8


def sections_of(d: Diagnosis) -> dict[str, tuple[str, ...]]:
    """Heading → sentences, without empty headings."""
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
    found = {heading: tuple(sentences(d)) for heading, sentences in parts.items()}
    return {heading: lines for heading, lines in found.items() if lines}


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _few(names: Sequence[str], most: int = MOST_NAMES) -> str:
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"


def _freedoms(d: Diagnosis) -> Iterator[str]:
    if not d.coordinates:
        return
    if not d.velocities:
        yield f"{d.freedoms_of_position} of {_count(d.coordinates, 'unknown')} are free initial values"
        return
    reached = d.growth.reached if d.growth is not None and d.growth.complete else d.freedoms_of_position
    cause = f"{_count(d.freedoms_of_position, 'freedom')} of position, {d.freedoms_of_velocity} of velocity"
    lost = reached - d.freedoms_of_velocity
    hidden = d.freedoms_of_position - reached
    if lost > 0:
        cause += f": {_count(lost, 'velocity constraint')} {'is' if lost == 1 else 'are'} nonholonomic"
    yield cause
    if hidden > 0 and d.growth is not None and d.growth.dimensions[0] <= 1:
        yield "from one start only one path is possible: there is one free direction"
    elif hidden > 0:
        yield (
            f"from one start only {_count(reached, 'freedom')} of position can be reached: "
            f"{_count(hidden, 'velocity constraint')} {'is' if hidden == 1 else 'are'} integrable"
        )
    if d.growth is not None and d.growth.directions < d.velocities:
        yield f"{d.velocities - d.growth.directions} of {d.velocities} velocities change no coordinate"
    if d.freedoms_of_velocity == 0:
        yield "only its time-dependent constraints move it" if d.driven else "nothing can move: remove a constraint"


def _constraints(d: Diagnosis) -> Iterator[str]:
    if not d.velocities:
        return
    if not d.constraints:
        yield "none"
        return
    if not d.redundant:
        alone = len(d.constraints) == 1
        yield f"one: {d.constraints[0]}" if alone else f"{len(d.constraints)}, all independent at velocity level"
    else:
        yield f"{len(d.constraints)}, {d.rank} of them independent at velocity level"
    for name, repeated in d.redundant.items():
        if repeated:
            yield f"{name} is redundant with {_few(repeated)}: the single forces are not unique, only their resultant is"
        else:
            yield f"{name} is trivial: no velocity enters it"
    if d.rank_here < d.rank:
        yield f"at the state itself only {d.rank_here} are independent"


def _integrability(d: Diagnosis) -> Iterator[str]:
    g = d.growth
    if g is None or not d.constraints:
        return
    if not g.nonholonomic and not g.disguised and g.complete:
        if g.known and g.directions == d.velocities:
            yield "all constraints are holonomic: position constraints and their rates"
        elif g.directions < d.velocities:
            yield "integrability of constraints on velocities that change no coordinate is not defined"
        return
    path = ", ".join(map(str, g.dimensions))
    followed = "" if g.complete else ", not computed further"
    yield f"growth vector ({path}) of {_count(g.directions, 'direction')}{followed}"
    if g.here is not None and g.here != g.dimensions:
        yield f"at the state itself it is ({', '.join(map(str, g.here))}): the state is special"
    if g.known:
        yield f"position constraints: {_few(g.known)}"
    if g.dimensions[0] <= 1 and g.complete:
        yield "with at most one free direction all constraints are integrable"
        return
    for found in g.disguised:
        if found.constant:
            yield f"integrable velocity constraint: {sum_of(found.terms)}"
        else:
            names = _few(list(found.terms))
            yield f"integrable: a combination of {names}, with coefficients that depend on the configuration"
    if g.nonholonomic > 0:
        at_least = "" if g.complete else "at least "
        among = f" of {_few(g.among)}" if g.among else ""
        if len(g.among) == g.nonholonomic:
            yield f"nonholonomic: {at_least}{_few(g.among)}"
        else:
            yield f"nonholonomic: {at_least}{_count(g.nonholonomic, 'combination')}{among}"


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
    groups: dict[str, list[SingularConfiguration]] = {}
    for place in d.singular:
        groups.setdefault(_kind(place), []).append(place)
    for cause, places in groups.items():
        listed = [_place(p) for p in places[:MOST_PLACES]]
        more = f", and at {len(places) - MOST_PLACES} more configurations" if len(places) > MOST_PLACES else ""
        yield f"{cause} {'; '.join(dict.fromkeys(listed))}{more}"
    if d.followed:
        worse = [s for s in d.singular if s.what != SingularityKind.DEAD_CENTER or s.involved == (TIME,)]
        none = "" if worse else "no singular configuration: "
        rest = f"; {len(d.unfollowed)} more freedoms were not searched" if d.unfollowed else ""
        yield f"{none}searched along {_few(d.followed)}, up to half a turn or {FARTHEST:.2g} typical lengths each way{rest}"


def _kind(s: SingularConfiguration) -> str:
    if s.what == SingularityKind.DEAD_CENTER:
        if s.involved == (TIME,):
            return "the mechanism cannot follow its drive beyond"
        return f"dead center of {s.involved[0]}, which turns back there and cannot drive the rest:"
    if s.what == SingularityKind.KINK:
        return f"{_few(s.involved) or 'a constraint'} has a kink, as where a contact point jumps,"
    if s.what == SingularityKind.END:
        return "the path could not be continued"
    if s.what != SingularityKind.RANK:
        return s.cause
    if len(s.involved) == 1:
        return f"{s.involved[0]} loses its effect, and the mechanism may bifurcate,"
    return f"{_few(s.involved)} become dependent, and the mechanism may bifurcate,"


def _place(s: SingularConfiguration) -> str:
    names = list(s.at) if len(s.at) <= MOST_VALUES else [name for name in s.at if name in (s.along, *s.involved)]
    values = ", ".join(f"{name} = {_number(s.at[name])}" for name in names)
    if s.change == 0.0 and s.what != SingularityKind.DEAD_CENTER:
        return f"at the state itself ({values})" if values else "at the state itself"
    return f"at {values}"


def _number(value: float) -> str:
    return f"{value + 0.0:.4g}" if abs(value) >= 5e-5 else "0"


def _chosen(d: Diagnosis) -> Iterator[str]:
    c = d.choice
    if c is None:
        return
    yield f"{_few(c.independent)}: largest amplification {_times(c.here)} at the state, {_times(c.nearby)} at worst nearby"
    if c.poor and c.better and c.better_here is not None:
        yield f"poor at the state: that of {_few(c.better)} is {_times(c.better_here)}"
    elif c.poor:
        yield "poor at the state, and no other choice is better"


def _times(factor: float) -> str:
    return f"{factor:.3g}" if factor < float("inf") else "infinite"


def _symmetry(d: Diagnosis) -> Iterator[str]:
    s = d.symmetries
    if s is None:
        return
    if s.ignorable:
        yield f"ignorable coordinates: {_few(s.ignorable)}"
    if s.conserved:
        yield f"conserved without inputs: {_few(s.conserved)}"
    elif s.ignorable and d.growth is not None and d.growth.nonholonomic:
        yield "constraint forces change their momenta"


def _reach(d: Diagnosis) -> Iterator[str]:
    r = d.reach
    if r is None:
        return
    if not r.states:
        yield "no free direction is left for inputs"
        return
    whole = "all" if r.controllable == r.states else f"{r.controllable} of"
    verb = "controls" if len(r.inputs) == 1 else "control"
    yield f"{_few(r.inputs)} {verb} {whole} {_count(r.states, 'direction')} to first order"
    if not r.steady:
        yield "the state is not a steady motion: this holds for an instant only"
    for direction in r.unreached[:MOST_NAMES]:
        yield f"uncontrollable: {sum_of(direction)}"
    if not r.stabilizable:
        growing = ", ".join(_complex(z) for z in r.eigenvalues if z.real > 0)
        yield f"the uncontrollable part is unstable (eigenvalues {growing}): no feedback can stabilize it"
    if r.unreached and d.growth is not None and d.growth.nonholonomic and d.growth.complete:
        yield "maneuvers may reach such positions: the nonholonomic constraints forbid none that the growth vector counts"


def _complex(z: complex) -> str:
    return f"{z.real:.4g}" if abs(z.imag) < 1e-9 else f"{z.real:.4g} {'+' if z.imag > 0 else '−'} {abs(z.imag):.4g}i"
