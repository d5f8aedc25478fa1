"""Raw measurements of a bicycle as parameters with uncertainties: lengths, weights, and periods of pendulums.

Files are those of the BicycleParameters project that end in `Measured.txt`: `name = value+/-deviation` a line. The method is that
of Moore, Hubbard, Schwab & Kooijman (2010): a wheel's or frame's pitch inertia from its period T as a compound pendulum of length
l, its other moments from periods as a torsional pendulum of stiffness k, which a rod of known inertia gives,

    I = (T/2π)² m g l − m l²,    k = 4π² I_P / T_P²,    J = k T²/4π²

Frame and fork hang in several orientations. Every one gives a line through the center of mass, whose pairwise intersections are
averaged, and a moment J(β) = Ixx cos²β − 2 Ixz sin β cos β + Izz sin²β, from which the three follow by least squares. Standard
deviations are propagated to first order, by a complex step through the whole calculation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from draisine.bicycle.parameter_file import NAMES, BicycleText, assignments, parse_number
from draisine.errors import ModelError
from draisine.expr.expression import did_you_mean
from draisine.results import files

# where a rider sits: chain stay, bottom bracket's height, seat post, seat tube and its angle, bar's width, hubs to hands
SEATING = ("lcs", "hbb", "lsp", "lst", "lamst", "whb", "LhbF", "LhbR")
_PATTERN = re.compile(
    r"(?:[ln][FR]|lP|d[FRP]|w|f|gamma|g|d|l|[hd][1-7]|m[BFRHGSPD]|a[BHGS]\d|alpha[BHGS]\d|T[ct][BFRHGSPD]\d|xcl|zcl|ds[13])"
)
_KNOWN = (*SEATING, "w", "f", "gamma", "g", "dF", "dR", "dP", "lF", "lR", "lP", "nF", "nR", "mB", "mF", "mR", "mH", "mP")


def read_measured(path: str | Path) -> tuple[dict[str, float], dict[str, float]]:
    """Raw measurements and their standard deviations by name, from a file that ends in `Measured.txt`."""
    return parse_measured(files.read_text(path, ModelError), str(path))


def parse_measured(text: str, source: str = "measurements") -> tuple[dict[str, float], dict[str, float]]:
    """Values and deviations of a text; `source` is named in errors."""
    values: dict[str, float] = {}
    deviations: dict[str, float] = {}
    for line, name, given in assignments(text, source, _name):
        where = f"{source}, line {line}"
        values[name], deviation = parse_number(name, given, where)
        if deviation:
            deviations[name] = deviation
        signed = re.match(r"a|f$|[hd]\d|ds|[xz]cl", name)  # offsets and angles
        if not signed and not values[name] > 0:
            raise ModelError(f"{where}: {name} = {values[name]:g} must be positive")
    return values, deviations


def _name(given: str, where: str) -> str:
    if given not in SEATING and _PATTERN.fullmatch(given) is None:
        raise ModelError(f"{where}: unknown measurement {given[:60]!r}{did_you_mean(given, _KNOWN)}")
    return given


def parameters_of(values: Mapping[str, float], deviations: Mapping[str, float], source: str) -> BicycleText:
    """Benchmark parameters with standard deviations, from raw measurements."""
    calculation = _Calculation(source)
    found = calculation(values)
    variance = dict.fromkeys(found, 0.0)
    for name, deviation in deviations.items():
        stepped = calculation({**values, name: values[name] + 1e-30j})
        for result, value in stepped.items():
            variance[result] += (np.imag(value) / 1e-30 * deviation) ** 2
    for name in ("rR", "rF", "mB", "IRyy", "IFyy", "IByy", "IHyy"):
        if not np.real(found[name]) > 0:
            raise ModelError(f"{source}: {name} = {np.real(found[name]):g} follows, which must be positive; check the periods")
    numbers = {name: float(np.real(value)) for name, value in found.items()}
    return BicycleText(
        {name: numbers[name] for name in NAMES},
        {name: float(np.sqrt(variance[name])) for name in NAMES if variance[name] > 0},
        {name: value for name, value in numbers.items() if name not in NAMES},
    )


class _Calculation:
    """The calculation over real or complex numbers, with errors that name the file."""

    def __init__(self, source: str) -> None:
        self.source = source

    def __call__(self, given: Mapping[str, Any]) -> dict[str, Any]:
        m = _Complete(given, self.source)
        found = self._geometry(m)
        split = any(name in given for name in ("mS", "mG"))  # fork S and handlebar G apart, or together as H
        stiffness = 4 * np.pi**2 * self._rod(m) / m["TtP1"] ** 2
        for wheel in "FR":
            found[f"m{wheel}"] = m[f"m{wheel}"]
            found[f"I{wheel}yy"] = _compound(m[f"m{wheel}"], m["g"], m[f"l{wheel}"], m[f"Tc{wheel}1"])
            found[f"I{wheel}xx"] = stiffness * m[f"Tt{wheel}1"] ** 2 / (4 * np.pi**2)
        found["g"] = m["g"]
        bar = _handlebar(m, found["lam"]) if split else (0.0, 0.0)
        for part in ("B", "S", "G") if split else ("B", "H"):
            self._part(part, m, found, bar, stiffness)
        if split:
            _join(found)
        return found

    def _geometry(self, m: _Complete) -> dict[str, Any]:
        """Wheel radii from distances rolled, steer axis, wheelbase and trail."""
        front, rear = (m[f"d{wheel}"] / (2 * np.pi * m[f"n{wheel}"]) for wheel in "FR")
        if "w" in m.given:
            tilt, base, offset = np.pi / 180 * (90 - m["gamma"]), m["w"], m["f"]
        else:  # distances from the steer axis, measured with the bicycle on its side
            a = m["h1"] + m["h2"] - m["h3"] + (m["d1"] - m["d2"]) / 2
            offset = m["h4"] - m["h5"] + (m["d4"] - m["d3"]) / 2
            along = np.sqrt((m["d"] + (m["d2"] + m["d3"]) / 2) ** 2 - (a - offset) ** 2)
            across = a + offset
            # across · sin λ − along · cos λ = r_front − r_rear, which is R sin(λ − φ) with tan φ = along/across
            tilt = np.arctan(along / across) + np.arcsin((front - rear) / np.sqrt(across**2 + along**2))
            base = across * np.cos(tilt) + along * np.sin(tilt)
        trail = (front * np.sin(tilt) - offset) / np.cos(tilt)
        return {"rF": front, "rR": rear, "lam": tilt, "w": base, "c": trail}

    def _rod(self, m: _Complete) -> Any:
        """Inertia of the calibration rod across its axis."""
        return m["mP"] / 12 * (3 * (m["dP"] / 2) ** 2 + m["lP"] ** 2)

    def _part(self, part: str, m: _Complete, found: dict[str, Any], bar: tuple[Any, Any], stiffness: Any) -> None:
        """Mass, center of mass and inertia of the frame B, the fork S, the handlebar G or both together, H."""
        keys = sorted(name[5:] for name in m.given if name.startswith(f"alpha{part}"))
        if len(keys) < 3:
            raise ModelError(f"{self.source}: {len(keys)} orientations of {part} (alpha{part}1, …); three or more are needed")
        # a pendulum's axis passes through the hub, or through a reference point of the bar
        x, z = {"B": (0.0, -found["rR"]), "G": (found["w"] - bar[0], -found["rF"] - bar[1])}.get(part, (found["w"], -found["rF"]))
        beta = np.array([found["lam"] - m[f"alpha{key}"] * np.pi / 180 for key in keys])
        distance = np.array([m[f"a{key}"] for key in keys])
        slope, intercept = -np.tan(beta), z - distance / np.cos(beta) + x * np.tan(beta)
        points = [
            ((b2 - b1) / (s1 - s2), (s1 * b2 - s2 * b1) / (s1 - s2))
            for (s1, b1), (s2, b2) in combinations(zip(slope, intercept, strict=True), 2)
        ]
        ahead, below = (sum(p[i] for p in points) / len(points) for i in (0, 1))
        length = np.sqrt((ahead - x) ** 2 + (below - z) ** 2)
        moments = np.array([stiffness * m[f"Tt{key}"] ** 2 / (4 * np.pi**2) for key in keys])
        c, s = np.cos(beta), np.sin(beta)
        design = np.stack([c**2, -2 * s * c, s**2], axis=1)
        xx, xz, zz = np.linalg.solve(design.T @ design, design.T @ moments)  # without conjugation: analytic
        yy = _compound(m[f"m{part}"], m["g"], length, m[f"Tc{part}1"])
        values = (m[f"m{part}"], ahead, below, xx, yy, zz, xz)
        names = (f"m{part}", f"x{part}", f"z{part}", *(f"I{part}{axes}" for axes in ("xx", "yy", "zz", "xz")))
        found.update(zip(names, values, strict=True))


class _Complete:
    """Measurements of which a missing one is an error with its name."""

    def __init__(self, given: Mapping[str, Any], source: str) -> None:
        self.given, self.source = given, source

    def __getitem__(self, name: str) -> Any:
        if name not in self.given:
            raise ModelError(f"{self.source}: the measurement {name} is missing; without it there are no parameters")
        return self.given[name]


def _compound(mass: Any, gravity: Any, length: Any, period: Any) -> Any:
    return (period / (2 * np.pi)) ** 2 * mass * gravity * length - mass * length**2


def _handlebar(m: _Complete, tilt: Any) -> tuple[Any, Any]:
    """The reference point of the handlebar: behind and above the front hub."""
    across = m["h7"] - m["h6"] + (m["d5"] - m["d6"]) / 2
    whole = m["l"] - (m["d5"] + m["d6"]) / 2
    along = np.sqrt(whole**2 - across**2)
    behind = along * np.sin(tilt) - across * np.cos(tilt)
    return behind, behind / np.tan(tilt) + across / np.sin(tilt)


def _join(found: dict[str, Any]) -> None:
    """The front assembly H from fork S and handlebar G."""
    mass = found["mS"] + found["mG"]
    x, z = ((found["mS"] * found[f"{k}S"] + found["mG"] * found[f"{k}G"]) / mass for k in "xz")
    sums = dict.fromkeys(("xx", "yy", "zz", "xz"), 0.0)
    for part in "SG":
        dx, dz, own = found[f"x{part}"] - x, found[f"z{part}"] - z, found[f"m{part}"]
        moved = {"xx": own * dz**2, "yy": own * (dx**2 + dz**2), "zz": own * dx**2, "xz": -own * dx * dz}
        for axes, steiner in moved.items():
            sums[axes] = sums[axes] + found[f"I{part}{axes}"] + steiner
    found.update({"mH": mass, "xH": x, "zH": z, **{f"IH{axes}": value for axes, value in sums.items()}})
