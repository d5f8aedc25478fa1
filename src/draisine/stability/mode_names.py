"""Names of modes by their shapes.

Participation, the product of a state's components in the left and the right eigenvector, says how much of a mode is in each
state, whatever the units; it adds up to one. Modes of two-wheelers have the names of the field (Meijaard et al. 2007; Cossalter
2006):

- *weave*: an oscillation of the whole vehicle in lean, steer and yaw, the slowest if there are several;
- *wobble*: an oscillation of the front assembly, and of what is flexible there, with little lean;
- *capsize*: a mode of lean that does not oscillate, the slowest of those that decay; *castering*: one of steer;
- *pitch*, *bounce*, *hop*: oscillations in the plane of the vehicle, of its body or of a suspension.

Others are named by the state that moves most. Of a pair the second mode has a star, further modes of one name have numbers: a
machine with two suspensions has `hop`, `hop*`, `hop 2` and `hop 2*`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draisine.numerics.scaling import balancing
from draisine.numerics.spectrum import Spectrum, clusters
from draisine.stability.mode_overlap import vectors
from draisine.stability.steady_family import Family

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

LEANS = 0.1  # share of lean from which an oscillation is a weave
WEAVES = 0.05  # share of steer in it
LITTLE = 0.03  # share of steer, and twice that of lean, in an oscillation mostly of yaw that is a weave too: fast, or in a turn
STEERS = 0.1  # share of steer from which an oscillation with less lean is a wobble
FRONT = 4.0  # share of steer, relative to that of lean, from which a fast oscillation is a wobble, too
FASTER = 2.0  # than the slowest weave: an oscillation that is none
OTHER = 0.6  # share of one other coordinate above which an oscillation is its own
OSCILLATES = 0.25  # share of a sweep at which a mode oscillates, to be named as an oscillation
MOST_VOTES = 61  # points of a sweep at which shapes are named
CONJUGATE = 1e-6  # distance of eigenvalues from being conjugate, relative to them
LAW = 1e-3  # entry of a row, relative to its largest
WHOLE = 0.5  # share of lean, steer and yaw of a mode across the plane of a two-wheeler
IN_PLANE = 0.1  # share of them below which a mode is in its plane

PITCH = ("pitch", "_wy")
BOUNCE = ("bounce", "heave", "_vz", "_z")
SUSPENSION = ("suspension", "travel", "swing", "arm_angle", "strut", "fork", "hop", "damper", "shock")

GROWING = ("capsize", "castering", "weave", "wobble", "another mode", "another oscillation")  # of a two-wheeler
ZERO, PAIR = "a mode crosses zero", "an oscillation crosses the axis"
AT_ZERO = "a pair meets at zero"
INFINITE = "a mode passes through infinity"


@dataclass(frozen=True)
class Roles:
    """States of a two-wheeler: those of lean, steer, and yaw with side slip; the others by coordinate with its velocity."""

    lean: tuple[int, ...]
    steer: tuple[int, ...]
    yaw: tuple[int, ...]
    others: dict[str, tuple[int, ...]]

    def names(self, shares: Array, eigenvalues: Complex) -> list[str]:
        """The names of all modes at one point, by the shares (states, modes) of the states."""
        found = [self.name(share, bool(z.imag), _manner(z)) for share, z in zip(shares.T, eigenvalues, strict=True)]
        rates = np.array([abs(z.imag) if name == "weave" else np.inf for name, z in zip(found, eigenvalues, strict=True)])
        for j in np.flatnonzero(np.isfinite(rates) & (rates > FASTER * rates.min(initial=np.inf))):  # of tires, for example
            found[j] = self.name(shares[:, j], True, _manner(eigenvalues[j]), weaves=False)
        sizes = np.array([abs(z) if name == "capsize" else np.inf for name, z in zip(found, eigenvalues, strict=True)])
        decays = eigenvalues.real < 0.0
        for j in np.flatnonzero(np.isfinite(sizes) & decays & (sizes > FASTER * sizes.min(initial=np.inf))):  # of tires, too
            found[j] = f"lean {_manner(eigenvalues[j])}"
        return found

    def name(self, share: Array, oscillates: bool, manner: str, weaves: bool = True) -> str:
        """The name of a mode by the shares of the states; with `weaves` it may be a weave."""
        lean, steer, yaw = (float(share[list(part)].sum()) for part in (self.lean, self.steer, self.yaw))
        rest = {name: float(share[list(part)].sum()) for name, part in self.others.items()}
        most = max(rest, key=lambda name: rest[name]) if rest else ""
        across = lean + steer + yaw
        if not oscillates and across >= WHOLE and lean + steer > 0.0 and manner != "neutral":
            return "castering" if steer > lean else "capsize"
        sideways = (lean >= LEANS and steer >= WEAVES) or (lean >= 2 * LITTLE and steer >= LITTLE and yaw > 2 * steer)
        if weaves and oscillates and sideways and across >= WHOLE:
            return "weave"
        if oscillates and steer >= STEERS and lean < max(LEANS, steer / FRONT) and rest.get(most, 0.0) < OTHER:
            return "wobble"
        if oscillates and across < IN_PLANE:
            for word, parts in (("pitch", PITCH), ("bounce", BOUNCE), ("hop", SUSPENSION)):
                if any(part in most for part in parts):
                    return word
        named = {"lean": lean, "steer": steer, "yaw": yaw, **rest}
        return f"{max(named, key=lambda name: named[name])} {manner}"


class ModeNames:
    """Names of the modes of a family of steady motions."""

    def __init__(self, family: Family) -> None:
        self.states = family.states
        e = family.equations
        self.velocities = {*e.independent, *family.deviations.speeds}
        self.stems = {quaternion[0].removesuffix("_qw") for quaternion in e.quaternions}

    def roles(self, matrices: Array) -> Roles | None:
        """The states of lean and steer, if the model has both; rates belong to the coordinates they change."""
        lean = next((n for n in self.states if n in ("lean", "roll")), None)
        lean = lean or next((n for n in self.states if n.endswith("_lean") and n.removesuffix("_lean") in self.stems), None)
        if lean is None or "steer" not in self.states:
            return None
        of = self._rates(matrices) | {n: lean for n in self.states if n.endswith("_wx") and n.removesuffix("_wx") in self.stems}
        groups: dict[str, list[int]] = {}
        for i, name in enumerate(self.states):
            groups.setdefault(of.get(name, name), []).append(i)
        yaw = [n for n in groups if n.endswith(("heading", "yaw", "heading_rate", "yaw_rate", "_wz", "_vy", "_y", "drift"))]
        sideways = tuple(i for name in yaw if name not in (lean, "steer") for i in groups[name])
        others = {name: tuple(part) for name, part in groups.items() if name not in (lean, "steer", *yaw)}
        return Roles(tuple(groups[lean]), tuple(groups["steer"]), sideways, others)

    def _rates(self, matrices: Array) -> dict[str, str]:
        """For each velocity the coordinate whose rate it is: the largest entry in the coordinate's row, none twice. Rows of
        states that follow a law, such as forces of tires, have other entries than velocities."""
        size = np.abs(matrices).max(axis=0)
        still = [j for j, name in enumerate(self.states) if name not in self.velocities]
        found: dict[str, str] = {}
        for i in still:
            name = self.states[i]
            if size[i, still].max(initial=0.0) > LAW * size[i].max():
                continue
            rates = [j for j, v in enumerate(self.states) if v in self.velocities and v not in found and size[i, j] > 0.0]
            if rates:
                found[self.states[max(rates, key=lambda j: size[i, j])]] = name
        return found

    def names(self, matrices: Array, eigenvalues: Complex) -> tuple[str, ...]:
        """Names of tracked modes (points, modes): by their shapes at most points, at most of those where they oscillate if
        they do over a good part of the sweep."""
        roles = self.roles(matrices)
        if roles is None:
            last = len(matrices) - 1
            found = self._by_state(matrices[last], eigenvalues[last], np.abs(eigenvalues.imag).max(axis=0) > 0)
        else:
            votes: list[list[tuple[bool, str]]] = [[] for _ in range(eigenvalues.shape[1])]
            some = np.unique(np.linspace(0, len(matrices) - 1, min(len(matrices), MOST_VOTES)).round().astype(int))
            for a, row in zip(matrices[some], eigenvalues[some], strict=True):
                for vote, z, name in zip(votes, row, roles.names(participation(a, row), row), strict=True):
                    vote.append((z.imag != 0, name))
            found = [_elected(vote) for vote in votes]
        return _distinct(found, eigenvalues)

    def growing_kinds(self, matrices: Array) -> NDArray[np.uint8]:
        """Which of `GROWING` grow at each matrix of a two-wheeler, as bits."""
        roles = self.roles(matrices)
        found = np.zeros(len(matrices), dtype=np.uint8)
        if roles is None:
            return found
        spectrum = Spectrum.of(matrices)
        values, right, left = vectors(matrices)
        own = np.abs(values[:, :, None] - spectrum.values[:, None, :]).argmin(axis=2)
        shares = np.abs(right * left)
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
        for i, grows in enumerate(np.take_along_axis(spectrum.growing, own, axis=1)):
            z = spectrum.cleaned[i][own[i]]
            names = roles.names(shares[i], z)
            for j in np.flatnonzero(grows).tolist():
                other = GROWING[5] if z[j].imag else GROWING[4]
                found[i] |= 1 << GROWING.index(names[j] if names[j] in GROWING else other)
        return found

    def _by_state(self, a: Array, row: Complex, ever: NDArray[np.bool_]) -> list[str]:
        """The state that moves most at the last point, and how."""
        shapes = np.abs(eigenvectors(a, row))
        # a conjugate pair at the last point is an oscillation; if there is none, a mode that is a pair anywhere in the sweep
        swings = np.abs(row.imag) > 0
        swings = swings if swings.any() else ever
        return [f"{self.states[int(np.argmax(shapes[:, j]))]} {_manner(z, swings[j])}" for j, z in enumerate(row)]

    def crossing(self, ends: Sequence[Array], eigenvalue: complex) -> str:
        """The name of the mode that has an eigenvalue on the axis between two matrices."""
        roles = self.roles(np.stack(ends))
        if roles is None:
            return PAIR if eigenvalue else ZERO
        best: tuple[float, str] | None = None
        for a in ends:
            spectrum = Spectrum.of(a[None])
            moving = spectrum.growing[0] | spectrum.decaying[0]
            alike = spectrum.oscillating[0] if eigenvalue else ~spectrum.oscillating[0]
            places = np.flatnonzero(moving & alike) if (moving & alike).any() else np.flatnonzero(moving)
            if not len(places):
                continue
            values = spectrum.values[0]
            j = places[np.argmin(np.abs(values[places] - eigenvalue))]
            shares = participation(a, values)
            name = roles.name(shares[:, j], bool(eigenvalue), "oscillation" if eigenvalue else "mode")
            name = roles.names(shares, values)[j] if name == "weave" and values[j].imag else name
            distance = float(abs(values[j] - eigenvalue))
            best = (distance, name) if best is None or distance < best[0] else best
        return best[1] if best else PAIR if eigenvalue else ZERO


def _manner(z: complex, swings: bool | None = None) -> str:
    if z.imag if swings is None else swings:
        return "oscillation"
    return "neutral" if z.real == 0 else "decay" if z.real < 0 else "growth"


def _elected(votes: list[tuple[bool, str]]) -> str:
    swinging = [name for swings, name in votes if swings]
    names = swinging if len(swinging) >= OSCILLATES * len(votes) else [name for _, name in votes]
    counts = Counter(names[::-1])  # of equal numbers the one at the end of the sweep
    return counts.most_common(1)[0][0]


def _distinct(names: Sequence[str], eigenvalues: Complex) -> tuple[str, ...]:
    """Names of tracked modes (points, modes) made different: of a pair the second has a star, of several modes with one name the
    later ones have numbers."""
    partners = _partners(eigenvalues)
    found = [""] * len(names)
    numbers: Counter[str] = Counter()
    for j, name in enumerate(names):
        if found[j]:
            continue
        numbers[name] += 1
        found[j] = name if numbers[name] == 1 else f"{name} {numbers[name]}"
        k = partners.get(j, j)
        if k != j and names[k] == name:
            found[k] = f"{found[j]}*"
    return tuple(found)


def _partners(eigenvalues: Complex) -> dict[int, int]:
    """For tracked modes (points, modes) that oscillate somewhere the one that is conjugate at most points."""
    z = eigenvalues[:, :, None]
    same = (np.abs(z - z.conj().transpose(0, 2, 1)) <= CONJUGATE * np.abs(z)) & (z.imag != 0.0)
    counts = same.sum(axis=0)
    found: dict[int, int] = {}
    for i in np.argsort(-counts, axis=None, kind="stable").tolist():
        j, k = divmod(i, len(counts))
        if counts[j, k] and j not in found and k not in found:
            found[j], found[k] = k, j
    return found


# ---------------------------------------------------------------- shapes


def participation(a: Array, eigenvalues: Complex) -> Array:
    """Shares (states, modes) of the states in modes, each column with sum one; modes of one eigenvalue share what is theirs."""
    scale = balancing(np.abs(a)[None])[0]
    values, right = np.linalg.eig(a * scale / scale[:, None])  # the shares do not depend on units, their rounding errors do
    left = np.linalg.pinv(right)
    shares = np.zeros((len(a), len(eigenvalues)))
    for columns, own in _matched(values.astype(complex), eigenvalues, a):
        share = np.abs(np.einsum("ij,ji->i", right[:, own], left[own]))
        if len(own) == 1:
            shares[:, columns[0]] = share
            continue
        left_over = share.copy()
        for column in columns:  # one state after the other, each with what is left of it
            state = int(np.argmax(left_over))
            shares[:, column] = 1e-3 * share
            shares[state, column] += left_over[state]
            left_over[state] = 0.0
    total = shares.sum(axis=0)
    return np.asarray(shares / np.where(total > 0, total, 1.0))


def eigenvectors(a: Array, eigenvalues: Complex) -> Complex:
    """Eigenvectors of unit length for approximate eigenvalues; those of one eigenvalue each without the states that lead the
    others."""
    values, right = np.linalg.eig(a)
    right = right.astype(complex)
    found = np.zeros((len(a), len(eigenvalues)), dtype=complex)
    scale = balancing(np.abs(a)[None])[0]
    for columns, own in _matched(values.astype(complex), eigenvalues, a):
        basis = right[:, own]
        if len(own) > 1:
            basis = _separated(basis, scale)
        found[:, columns] = basis / np.linalg.norm(basis, axis=0)
    return found


def _separated(basis: Complex, scale: Array) -> Complex:
    """A basis of the same space in which every vector has a leading state that the others do not move; as given if it is
    smaller."""
    from scipy.linalg import qr

    size = basis / scale[:, None]
    if np.linalg.matrix_rank(size, tol=1e-6 * np.linalg.norm(size, 2)) < basis.shape[1]:
        return basis  # a defective eigenvalue
    leading = np.sort(qr(size.conj().T, mode="economic", pivoting=True)[2][: basis.shape[1]])
    return np.asarray(basis @ np.linalg.inv(basis[leading]))


def _matched(values: Complex, wanted: Complex, a: Array) -> list[tuple[list[int], list[int]]]:
    """Groups of equal wanted eigenvalues, and the eigenvalues nearest to them."""
    spectrum = Spectrum.of(a[None])
    groups = clusters(values, spectrum.errors[0])
    left = list(range(len(wanted)))
    found = []
    for group in sorted(groups, key=len, reverse=True):
        center = values[group].mean()
        columns = sorted(sorted(left, key=lambda j: abs(wanted[j] - center))[: len(group)])
        left = [j for j in left if j not in columns]
        found.append((columns, group))
    return found
