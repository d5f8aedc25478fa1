"""Tires by the Magic Formula: coefficients by the names of tire files, versions 5.2, 6.1 and the motorcycle form.

>>> tire = MagicFormula("5.2", {"FNOMIN": "4 kN", "PCY1": 1.3, "PDY1": -1.0, "PKY1": -15.0, "PKY2": 2.0})
>>> round(float(tire.forces(load=4000.0, slip_angle=0.05).lateral), 1)  # D sin(C atan(K/(C D) α)), K = 0.8 PKY1 FNOMIN
-2132.0
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from draisine.errors import ModelError
from draisine.expr.expression import Expr, Number, did_you_mean
from draisine.model.contact.magic_formula_equations import MagicFormulaEquations, MotorcycleEquations
from draisine.model.contact.tires import Scalar, Tire, TireForces, TireState, Values
from draisine.model.quantities import Amount, amount_in

VERSIONS = ("5.2", "6.1", "motorcycle")
VARIANTS = ("program", "book")
SIDES = ("left", "right")
LEAST_LOAD = 0.1  # of the nominal one, at which relaxation lengths stop to shrink

UNITS = {
    "FNOMIN": "N",
    "UNLOADED_RADIUS": "m",
    "LONGVL": "m/s",
    "VERTICAL_STIFFNESS": "N/m",
    "VERTICAL_DAMPING": "N*s/m",
    "LONGITUDINAL_STIFFNESS": "N/m",
    "LATERAL_STIFFNESS": "N/m",
    "NOMPRES": "Pa",
    "INFLPRES": "Pa",
    "FZMIN": "N",
    "FZMAX": "N",
    "ALPMIN": "rad",
    "ALPMAX": "rad",
    "CAMMIN": "rad",
    "CAMMAX": "rad",
    "speed": "m/s",
    "settling": "s",
}  # of coefficients that are not pure numbers
RANGES = {
    "load": ("FZMIN", "FZMAX"),
    "slip": ("KPUMIN", "KPUMAX"),
    "slip_angle": ("ALPMIN", "ALPMAX"),
    "camber": ("CAMMIN", "CAMMAX"),
}


def _series(prefix: str, *numbers: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{number}" for number in numbers)


_SHARED = (
    *(name for name in UNITS if name not in ("speed", "settling")),
    *(name for pair in RANGES.values() for name in pair),
    *_series("PCX", 1), *_series("PDX", 1, 2, 3), *_series("PEX", 1, 2, 3, 4), *_series("PKX", 1, 2, 3),
    *_series("PHX", 1, 2), *_series("PVX", 1, 2), *_series("RBX", 1, 2), *_series("RCX", 1), *_series("REX", 1, 2),
    *_series("RHX", 1), *_series("PCY", 1), *_series("PDY", 1, 2, 3), *_series("PEY", 1, 2, 3, 4), *_series("PKY", 1, 2, 3),
    *_series("RBY", 1, 2, 3), *_series("RCY", 1), *_series("REY", 1, 2), *_series("RHY", 1, 2), *_series("RVY", 1, 2, 3, 4, 5, 6),
    *_series("QBZ", 1, 2, 3, 4, 5, 9, 10), *_series("QCZ", 1), *_series("QDZ", 1, 2, 3, 4, 6, 7, 8, 9),
    *_series("QEZ", 1, 2, 3, 4, 5), *_series("QHZ", 1, 2, 3, 4), *_series("SSZ", 1, 2, 3, 4), *_series("QSX", 1, 2, 3),
    *_series("QSY", 1, 2, 3, 4), *_series("PTX", 1, 2, 3), *_series("PTY", 1, 2), "BREFF", "DREFF", "FREFF", "QFZ1", "QFZ2",
    "LFZO", "LCX", "LMUX", "LEX", "LKX", "LHX", "LVX", "LCY", "LMUY", "LEY", "LKY", "LHY", "LVY", "LTR", "LRES", "LXAL", "LYKA",
    "LVYKA", "LS", "LMX", "LVMX", "LMY", "LSGKP", "LSGAL",
)  # fmt: skip
COEFFICIENTS: dict[str, frozenset[str]] = {
    "5.2": frozenset(
        {*_SHARED, *_series("PHY", 1, 2, 3), *_series("PVY", 1, 2, 3, 4), "LGAX", "LGAY", "LGAZ"},
    ),
    "6.1": frozenset(
        {
            *_SHARED, *_series("PHY", 1, 2), *_series("PVY", 1, 2, 3, 4), *_series("PKY", 4, 5, 6, 7), "PEY5", "RBX3", "RBY4",
            *_series("QBZ", 6), *_series("QDZ", 10, 11), *_series("QSX", *range(4, 12)), *_series("QSY", 5, 6, 7, 8),
            *_series("PPX", 1, 2, 3, 4), *_series("PPY", 1, 2, 3, 4, 5), *_series("PPZ", 1, 2), "PPMX1", "PFZ1",
            *_series("PCFX", 1, 2, 3), *_series("PCFY", 1, 2, 3), "LKYC", "LKZC",
        }
    ),
    "motorcycle": frozenset(
        {*_SHARED, "PCY2", "PEY5", *_series("PKY", 4, 5, 6, 7), *_series("QDZ", 10, 11), "LGAX", "LGAZ", "LKYC"}
    ),
}  # fmt: skip


@dataclass(frozen=True)
class MagicFormula(Tire):
    """A tire by Pacejka's Magic Formula, version "5.2", "6.1" or "motorcycle", in the axes and signs of tire files (ISO).

    `coefficients` are by their names in tire files; those that are not given are 0, scaling factors 1. Any may be an expression
    of parameters. `variant` is "program", that of tire programs, or "book", that of Pacejka 2012. A tire measured on
    the other side is `mirrored`. With relaxation lengths among the coefficients slips build up along the way, unless
    `transient=False`; without load as a state these lengths are those at the nominal load. With VERTICAL_STIFFNESS the tire
    carries the wheel as a spring, unless `rigid=True`. `speed` is that below which |V| is smooth, in m/s; `settling` is that of
    `LinearTire`. `side`, "left" or "right", is the side of the vehicle for which the tire is, where that is known.
    """

    version: str
    coefficients: Any  # a mapping; stored as pairs of names and expressions
    variant: str = "program"
    mirrored: bool = False
    transient: bool | None = None
    rigid: bool = False
    speed: Amount = 0.01
    settling: Amount = 0.02
    side: str | None = None

    options: ClassVar[tuple[str, ...]] = ("version", "coefficients", "variant", "mirrored", "transient", "rigid", "side")
    positive: ClassVar[frozenset[str]] = frozenset(
        {"speed", "FNOMIN", "UNLOADED_RADIUS", "LONGVL", "VERTICAL_STIFFNESS", "LONGITUDINAL_STIFFNESS", "LATERAL_STIFFNESS"}
    )

    def __post_init__(self) -> None:
        for name, known in (("version", VERSIONS), ("variant", VARIANTS), ("side", (None, *SIDES))):
            if getattr(self, name) not in known:
                listed = ", ".join(map(repr, known))
                raise ModelError(f"{name} of MagicFormula must be one of {listed}, got {getattr(self, name)!r}")
        known_names = COEFFICIENTS[self.version]
        given = self.coefficients if isinstance(self.coefficients, Mapping) else dict(self.coefficients)
        pairs = []
        for name, amount in given.items():
            if name not in known_names:
                raise ModelError(
                    f"MagicFormula {self.version}: unknown coefficient {name!r}{did_you_mean(name, sorted(known_names))}"
                )
            pairs.append((name, amount_in(amount, self.unit_of(name), f"{name} of MagicFormula")))
        object.__setattr__(self, "coefficients", tuple(pairs))
        super().__post_init__()
        if "FNOMIN" not in given:
            raise ModelError("MagicFormula: FNOMIN, the nominal load, is missing; give it in N")
        if ("INFLPRES" in given) != ("NOMPRES" in given) and "INFLPRES" in given:
            raise ModelError("MagicFormula: INFLPRES needs NOMPRES, the nominal pressure")
        self._check_stiffness()
        self._check_lengths()
        if self.transient and not self._has_lengths:
            raise ModelError(
                "MagicFormula: a transient tire needs relaxation lengths: give LONGITUDINAL_STIFFNESS and LATERAL_STIFFNESS, or "
                "PTX1, PTY1 and PTY2"
            )

    def _check_stiffness(self) -> None:
        """Of numbers: stiffnesses oppose the slip, and the load at which the cornering stiffness is greatest is not zero."""
        known, given = self._numbers_given, dict(self.coefficients)
        for name, sign in (("PKX1", "+"), ("PKY1", "−")):
            if known.get(name, 0.0) and (known[name] > 0.0) != (sign == "+"):
                raise ModelError(
                    f"MagicFormula: {name} = {known[name]:g} has the other sign in tire files ({sign}): the force would push the "
                    "tire along its slip; of coefficients for other axes, change the signs of slips and forces first"
                )
        load = "PKY3" if self.version == "motorcycle" else "PKY2"
        if known.get("PKY1", float("PKY1" in given)) and not known.get(load, float(load in given)):
            raise ModelError(
                f"MagicFormula {self.version}: PKY1 needs {load}, which is not 0: the load at which the cornering stiffness is "
                "greatest, in nominal loads"
            )
        if "QFZ2" in known and "QFZ1" not in given and {"VERTICAL_STIFFNESS", "UNLOADED_RADIUS", "FNOMIN"} <= known.keys():
            unit, stiffness = known["FNOMIN"] / known["UNLOADED_RADIUS"], known["VERTICAL_STIFFNESS"]
            if 4.0 * known["QFZ2"] * unit**2 > stiffness**2:
                raise ModelError(
                    f"MagicFormula: with QFZ2 = {known['QFZ2']:g} the stiffness at the nominal load is at least "
                    f"{2.0 * math.sqrt(known['QFZ2']) * unit:g} N/m; VERTICAL_STIFFNESS is {stiffness:g}"
                )

    def _check_lengths(self) -> None:
        """Of numbers: relaxation lengths are positive, or both zero, as files without transients have them."""
        lengths = {name: value for name, value in self._numbers_given.items() if name in ("PTX1", "PTY1", "PTY2")}
        if self.transient is False or not {"PTX1", "PTY1", "PTY2"} <= dict(self.coefficients).keys():
            return
        none = lengths.get("PTX1") == lengths.get("PTY1") == 0.0
        wrong = [name for name, value in lengths.items() if value < 0.0 or (value == 0.0 and not none)]
        if wrong:
            raise ModelError(
                f"MagicFormula: with {wrong[0]} = {lengths[wrong[0]]:g} a relaxation length is not positive; give both lengths, "
                "or transient=False for slips of the moment"
            )

    @property
    def _numbers_given(self) -> dict[str, float]:
        """The coefficients that are numbers."""
        return {name: float(amount.value) for name, amount in self.coefficients if isinstance(amount, Number)}

    @property
    def signed(self) -> frozenset[str]:  # type: ignore[override]
        """All coefficients but those that must be positive."""
        return frozenset(name for name, _ in self.coefficients) - self.positive

    def unit_of(self, name: str) -> str:
        return UNITS.get(name, "")

    def amounts(self) -> dict[str, Expr]:
        return {**dict(self.coefficients), **super().amounts()}

    @property
    def _has_lengths(self) -> bool:
        given = {name: amount for name, amount in self.coefficients if amount != Number(0.0)}  # files write 0 for no delay
        by_stiffness = {"LONGITUDINAL_STIFFNESS", "LATERAL_STIFFNESS", "PKX1", "PKY1"} <= given.keys()
        return by_stiffness or {"PTX1", "PTY1", "PTY2", "UNLOADED_RADIUS"} <= given.keys()

    @property
    def relaxes(self) -> bool:
        return self._has_lengths if self.transient is None else self.transient

    @property
    def bounded(self) -> bool:
        return True

    @property
    def compliant(self) -> bool:
        return not self.rigid and "VERTICAL_STIFFNESS" in dict(self.coefficients)

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        given = dict(self.coefficients)
        found = {}
        for name, (low, high) in RANGES.items():
            first, last = given.get(low), given.get(high)
            if isinstance(first, Number) and isinstance(last, Number):
                found[name] = (float(first.value), float(last.value))
        return found

    def on_other_side(self) -> MagicFormula:
        """The tire mounted on the other side of the vehicle: right turns as left turns before."""
        other = {"left": "right", "right": "left"}.get(self.side or "")
        return replace(self, mirrored=not self.mirrored, side=other)

    def replaced(self, **coefficients: Amount) -> MagicFormula:
        """The tire with some coefficients replaced, for example the scaling factor of friction: LMUY=0.5."""
        return replace(self, coefficients={**dict(self.coefficients), **coefficients})

    # ------------------------------------------------------------------------------------------ forces

    def _equations(self, m: Any, c: Values, state: TireState) -> MagicFormulaEquations:
        kind = MotorcycleEquations if self.version == "motorcycle" else MagicFormulaEquations
        return kind(m, c, state, self.version, self.variant)

    def evaluate(self, m: Any, c: Values, state: TireState) -> TireForces:
        if not self.mirrored:
            return self._equations(m, c, state).forces()
        found = self._equations(m, c, state._replace(across=-state.across, camber=-state.camber)).forces()
        return TireForces(found.longitudinal, -found.lateral, -found.overturning, found.rolling, -found.aligning)

    def relaxation_lengths(self, m: Any, c: Values, load: Scalar | None, camber: Scalar) -> tuple[Scalar, Scalar]:
        nominal = c["FNOMIN"]
        at = nominal
        if load is not None:  # (n⁸ + 0.1⁸)^(1/8) of the load n in units of the nominal one
            n2 = (load / nominal) * (load / nominal)
            n4 = n2 * n2
            at = nominal * m.sqrt(m.sqrt(m.sqrt(n4 * n4 + LEAST_LOAD**8)))
        sides = self._equations(m, c, TireState(at, 0.0, 0.0, camber, 0.0, 1.0))
        if "LONGITUDINAL_STIFFNESS" in c:
            along = sides.longitudinal_stiffness / self._carcass(sides, "LONGITUDINAL_STIFFNESS", "PCFX")
            stiffness = sides.cornering_stiffness(sides.gamma)  # negative in tire files
            across = m.sqrt(stiffness * stiffness + 1e-12) / self._carcass(sides, "LATERAL_STIFFNESS", "PCFY")
        else:
            grown = m.exp(-sides.c("PTX3") * sides.dfz) if "PTX3" in c else 1.0
            radius = c["UNLOADED_RADIUS"]
            along = at * sides.squared("PTX1", "PTX2") * grown * radius / nominal
            u = at / (c["PTY2"] * sides.nominal)
            worn = 1.0 - sides.c("PKY3") * sides.size(camber) if self.version == "5.2" and "PKY3" in c else 1.0
            across = c["PTY1"] * 2.0 * u / (1.0 + u * u) * worn * radius * sides.scale("LFZO")
        return along * sides.scale("LSGKP"), across * sides.scale("LSGAL")

    def saturation(self, m: Any, c: Values) -> tuple[Scalar, Scalar] | None:
        nominal = c["FNOMIN"]
        sides = self._equations(m, c, TireState(nominal, 0.0, 0.0, 0.0, 0.0, 1.0))
        found = []
        for peak, stiffness in (
            (c.get("PDX1", 0.0) * nominal, sides.longitudinal_stiffness),
            (c.get("PDY1", 0.0) * nominal, sides.cornering_stiffness(0.0)),
        ):
            ratio = peak / (stiffness + 1e-9)
            found.append(m.sqrt(ratio * ratio + 1e-6))
        return found[0], found[1]

    def _carcass(self, sides: MagicFormulaEquations, stiffness: str, prefix: str) -> Scalar:
        """Stiffness of the carcass with load and pressure: c (1 + p₁ df_z + p₂ df_z²)(1 + p₃ dp)."""
        grown = 1.0 + sides.c(f"{prefix}1") * sides.dfz + sides.c(f"{prefix}2") * sides.dfz * sides.dfz
        return sides.given[stiffness] * grown * (1.0 + sides.c(f"{prefix}3") * sides.dpi)

    def spring_force(self, m: Any, c: Values, deflection: Scalar, radius: Scalar) -> Scalar:
        """4.E68 without the effects of speed and of horizontal forces."""
        linear = c["VERTICAL_STIFFNESS"] * deflection
        if "QFZ2" not in c:
            return linear
        # the stiffness is that at the nominal load: c = F_z0/R0 √(q₁² + 4 q₂)
        unit, ratio = c["FNOMIN"], deflection / c["UNLOADED_RADIUS"]
        whole = c["VERTICAL_STIFFNESS"] * c["UNLOADED_RADIUS"] / unit
        first = c["QFZ1"] if "QFZ1" in c else m.sqrt(whole * whole - 4.0 * c["QFZ2"])
        pressure = 1.0 + c["PFZ1"] * (c["INFLPRES"] - c["NOMPRES"]) / c["NOMPRES"] if {"PFZ1", "INFLPRES"} <= c.keys() else 1.0
        return unit * pressure * (first + c["QFZ2"] * ratio) * ratio

    def normal_force(self, m: Any, c: Values, deflection: Scalar, rate: Scalar, radius: Scalar) -> Scalar:
        return super().normal_force(m, {**c, "damping": c.get("VERTICAL_DAMPING", 0.0)}, deflection, rate, radius)

    def rolling_radius(self, m: Any, c: Values, load: Scalar, free: Scalar, loaded: Scalar) -> Scalar:
        """R_e (7.7): R0 − F_z0/c_z (D atan(B F_z/F_z0) + F F_z/F_z0), and the loaded radius without these coefficients."""
        if "VERTICAL_STIFFNESS" not in c or not c.keys() & {"DREFF", "FREFF"}:
            return loaded
        unit = c["FNOMIN"]
        bent = c.get("DREFF", 0.0) * m.atan(c.get("BREFF", 0.0) * load / unit) + c.get("FREFF", 0.0) * load / unit
        return free - unit / c["VERTICAL_STIFFNESS"] * bent

    def with_friction(self, c: Values, friction: Scalar) -> Values:
        return {**c, **{name: c.get(name, 1.0) * friction for name in ("LMUX", "LMUY")}}
