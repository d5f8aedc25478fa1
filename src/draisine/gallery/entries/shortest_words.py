"""Shortest paths of cars in closed form: words of left arcs, right arcs and straight pieces, of radius one.

L. E. Dubins (1957): forward only, the shortest path is one of the words LSL, LSR, RSL, RSR, LRL, RLR. J. A. Reeds & L. A. Shepp
(1990): with reverse, one of CSC, CCC, CCCC, CCSC, CSCC, CCSCC with cusps in between.

All words are solved by one argument. Let a word begin with L by the angle t and end with a circle arc by v, with a middle
between. In complex numbers, start at 0 with heading 0 and finish at z with heading h: the first circle's center is i, the last
one's z ± i e^{ih} (+ for L). Seen from the first center the last one is at d = z ± i e^{ih} − i. The middle alone, begun at 0,
moves it to m(u), and the first arc turns that: d = e^{it} m(u). So |m(u)| = |d| gives u, arguments give t, headings give v.
Words that begin with R are those of the mirrored finish. Candidates are checked by driving them.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator

Word = tuple[tuple[str, float], ...]  # "L", "R" or "S" with signed length: an angle for arcs; negative is in reverse
Pose = tuple[complex, float]

TURN = {"L": 1, "R": -1, "S": 0}
EXACT = 1e-9


def driven(word: Word, begin: Pose = (0j, 0.0)) -> Pose:
    """Final pose of a word."""
    z, h = begin
    for kind, length in word:
        side = TURN[kind]
        if side:
            z, h = z + side * 1j * cmath.exp(1j * h) * (1 - cmath.exp(1j * side * length)), h + side * length
        else:
            z += length * cmath.exp(1j * h)
    return z, h


def length(word: Word) -> float:
    return sum(abs(piece) for _, piece in word)


def dubins(x: float, y: float, heading: float) -> Word:
    """The shortest word without reverse."""
    return min(_words(complex(x, y), heading, forward=True), key=length)


def reeds_shepp(x: float, y: float, heading: float) -> Word:
    """The shortest word with reverse."""
    return min(_words(complex(x, y), heading, forward=False), key=length)


def _words(z: complex, h: float, forward: bool) -> Iterator[Word]:
    for mirrored in (False, True):
        goal = (z.conjugate(), -h) if mirrored else (z, h)
        for last in "LR":
            d = goal[0] + TURN[last] * 1j * cmath.exp(1j * goal[1]) - 1j
            for middle in _middles(last, abs(d), forward):
                word = _closed(middle, last, d, goal[1], forward)
                place, heading = driven(word)
                if abs(place - goal[0]) < EXACT and abs(cmath.exp(1j * heading) - cmath.exp(1j * goal[1])) < EXACT:
                    yield tuple(({"L": "R", "R": "L", "S": "S"}[kind], piece) for kind, piece in word) if mirrored else word


def _closed(middle: Word, last: str, d: complex, h: float, forward: bool) -> Word:
    """First and last arc for a given middle part."""
    place, heading = driven(middle)
    m = place + TURN[last] * 1j * cmath.exp(1j * heading) - 1j
    t = cmath.phase(d) - cmath.phase(m)
    v = TURN[last] * (h - t - heading)
    wrapped = [a % (2 * math.pi) if forward else math.remainder(a, 2 * math.pi) for a in (t, v)]
    return (("L", wrapped[0]), *middle, (last, wrapped[1]))


def _middles(last: str, distance: float, forward: bool) -> Iterator[Word]:
    """Middle parts with this distance between the first and the last center."""
    if last == "L" and distance <= 4:  # LRL: |m| = 4 |sin(u/2)|
        u = 2 * math.asin(distance / 4)
        yield from ((("R", a),) for a in ((u, 2 * math.pi - u) if forward else (u, -u)))
    yield from _with_straight((), (), last, distance, forward)  # CSC
    if forward:
        return
    if last == "R":  # LRLR with inner arcs u, ±u: |m|² = 20 − 16 cos u, |m| = 2 |2 cos u − 1|
        for same, cosine in ((1, (20 - distance**2) / 16), (-1, (2 + distance) / 4), (-1, (2 - distance) / 4)):
            if abs(cosine) <= 1:
                for u in (math.acos(cosine), -math.acos(cosine)):
                    yield ("R", u), ("L", same * u)
    quarter = math.pi / 2
    for a in (quarter, -quarter):
        yield from _with_straight((("R", a),), (), last, distance, forward)  # CCSC
        for kind in "LR":
            if kind != last:
                yield from _with_straight((), ((kind, a),), last, distance, forward)  # CSCC
                for b in (quarter, -quarter):
                    yield from _with_straight((("R", b),), ((kind, a),), last, distance, forward)  # CCSCC


def _with_straight(before: Word, after: Word, last: str, distance: float, forward: bool) -> Iterator[Word]:
    """A straight piece u in the middle: m = m₀ + u e^{ig}, so that |m| = distance is a quadratic equation."""
    place, heading = driven((*before, *after))
    m = place + TURN[last] * 1j * cmath.exp(1j * heading) - 1j
    along = cmath.exp(1j * driven(before)[1])
    half = (m * along.conjugate()).real
    root = half**2 - abs(m) ** 2 + distance**2
    if root >= 0:
        for u in (-half + math.sqrt(root), -half - math.sqrt(root)):
            if u >= 0 or not forward:
                yield *before, ("S", u), *after
