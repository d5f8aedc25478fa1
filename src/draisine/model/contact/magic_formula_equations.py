"""The Magic Formula: y = D sin(C atan(B x − E (B x − atan B x))) for forces, with the cosine for trail and combined slip.

Numbers of equations are those of Pacejka, Tire and Vehicle Dynamics, 3rd edition 2012 (4.E1–4.E78), without turn slip: every ζ
is 1. Version 5.2 has the same structure with fewer coefficients. Two variants are in use. "program" is that of tire programs:
slip angle and camber themselves, and in version 5.2 the cornering stiffness with 1 − PKY3 |γ|. "book" takes tan α and sin γ, and
in version 5.2 1 − PKY3 γ².

Regularization: sgn(x) is x/√(x² + 10⁻¹⁴); it only occurs in factors of x³, on which this has no effect beyond rounding. |γ| is
γ tanh(γ/0.001), which differs from it by less than 10⁻¹⁵ from 0.018 rad (one degree) on. Curvature factors E are at most 1,
smoothly within 10⁻⁷. Derivatives by slip are continuous.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import pi
from typing import Any

from draisine.model.contact.tires import Scalar, TireForces, TireState, Values, at_most_one, constant, positive_part

SIGN_WIDTH = 1e-14  # square of the slip over which a sign changes
CAMBER_WIDTH = 1e-3  # rad
LIFTED = 1e-3  # share of the nominal load over which rolling resistance vanishes with it
EPSILON = 1e-6  # the book's ε: keeps quotients finite without load
DIGRESSION = 10.0  # A_μ of 4.E8


@dataclass(frozen=True)
class MagicFormulaEquations:
    """Forces and moments at a state. Coefficients that are not given are 0, scaling factors 1."""

    m: Any  # module of functions: NumPy or CasADi
    given: Values
    state: TireState
    version: str
    variant: str

    def c(self, name: str) -> Scalar:
        return self.given.get(name, 0.0)

    def scale(self, name: str) -> Scalar:
        """A scaling factor λ."""
        return self.given.get(name, 1.0)

    def squared(self, first: str, second: str, third: str = "") -> Scalar:
        """first + second·df_z + third·df_z²."""
        found = self.c(first) + self.c(second) * self.dfz
        return found + self.c(third) * self.dfz * self.dfz if third else found

    def sign(self, x: Scalar) -> Scalar:
        return x / self.m.sqrt(x * x + SIGN_WIDTH)

    def magic(self, x: Scalar, e: Scalar) -> Scalar:
        """x − E (x − atan x)."""
        return x - e * (x - self.m.atan(x))

    def at_most_one(self, e: Scalar) -> Scalar:
        known = constant(e)
        return at_most_one(self.m, e) if known is None else min(known, 1.0)

    def sine_of(self, shape: Scalar, x: Scalar) -> Scalar:
        """sin(C atan x), algebraic for C = 1 and C = 2."""
        known = constant(shape)
        if known == 1.0:
            return x / self.m.sqrt(1.0 + x * x)
        return 2.0 * x / (1.0 + x * x) if known == 2.0 else self.m.sin(shape * self.m.atan(x))

    def cosine_of(self, shape: Scalar, x: Scalar) -> Scalar:
        """cos(C atan x), algebraic for C = 1 and C = 2."""
        known = constant(shape)
        if known == 1.0:
            return self.cosine_of_angle(x)
        return 2.0 / (1.0 + x * x) - 1.0 if known == 2.0 else self.m.cos(shape * self.m.atan(x))

    # ------------------------------------------------------------------------------------------ variables

    @property
    def old(self) -> bool:
        return self.version == "5.2"

    @cached_property
    def book(self) -> bool:
        return self.variant == "book"

    @cached_property
    def load(self) -> Scalar:
        return positive_part(self.m, self.state.load, EPSILON)

    @cached_property
    def nominal(self) -> Scalar:
        """F_z0′ (4.E1)."""
        return self.c("FNOMIN") * self.scale("LFZO")

    @cached_property
    def dfz(self) -> Scalar:
        """4.E2a."""
        return (self.load - self.nominal) / self.nominal

    @cached_property
    def dpi(self) -> Scalar:
        """4.E2b."""
        return (self.given["INFLPRES"] - self.given["NOMPRES"]) / self.given["NOMPRES"] if "INFLPRES" in self.given else 0.0

    @cached_property
    def kappa(self) -> Scalar:
        return -self.state.along

    @cached_property
    def alpha(self) -> Scalar:
        """α* (4.E3)."""
        return self.state.across if self.book else self.m.atan(self.state.across)

    @cached_property
    def gamma(self) -> Scalar:
        """γ* (4.E4)."""
        return self.m.sin(self.state.camber) if self.book and not self.old else self.state.camber

    def size(self, gamma: Scalar) -> Scalar:
        """|γ*|."""
        return gamma * self.m.tanh(gamma / CAMBER_WIDTH)

    @cached_property
    def cosine(self) -> Scalar:
        """cos′ α (4.E6)."""
        return 1.0 / self.m.sqrt(1.0 + self.state.across * self.state.across)

    def digressive(self, friction: Scalar) -> Scalar:
        """λ′_μ (4.E8)."""
        return friction if self.old else DIGRESSION * friction / (1.0 + (DIGRESSION - 1.0) * friction)

    # ------------------------------------------------------------------------------------------ longitudinal force

    @cached_property
    def longitudinal_stiffness(self) -> Scalar:
        """K_xκ (4.E15)."""
        grown = self.m.exp(self.c("PKX3") * self.dfz) if "PKX3" in self.given else 1.0
        pressure = 1.0 + self.c("PPX1") * self.dpi + self.c("PPX2") * self.dpi * self.dpi
        return self.load * self.squared("PKX1", "PKX2") * grown * pressure * self.scale("LKX")

    @cached_property
    def pure_longitudinal(self) -> Scalar:
        """F_x0 (4.E9–4.E18)."""
        gamma = self.gamma * self.scale("LGAX") if self.old else self.gamma
        pressure = 1.0 + self.c("PPX3") * self.dpi + self.c("PPX4") * self.dpi * self.dpi
        friction = self.squared("PDX1", "PDX2") * pressure * (1.0 - self.c("PDX3") * gamma * gamma) * self.scale("LMUX")
        peak, shape = friction * self.load, self.c("PCX1") * self.scale("LCX")
        x = self.kappa + self.squared("PHX1", "PHX2") * self.scale("LHX")
        e = self.at_most_one(
            self.squared("PEX1", "PEX2", "PEX3") * (1.0 - self.c("PEX4") * self.sign(x)) * self.scale("LEX")
            if "PEX4" in self.given
            else self.squared("PEX1", "PEX2", "PEX3") * self.scale("LEX")
        )
        steep = self.longitudinal_stiffness / (shape * peak + EPSILON)
        shift = self.load * self.squared("PVX1", "PVX2") * self.scale("LVX") * self.digressive(self.scale("LMUX"))
        return peak * self.sine_of(shape, self.magic(steep * x, e)) + shift

    # ------------------------------------------------------------------------------------------ side force

    def cornering_stiffness(self, gamma: Scalar) -> Scalar:
        """K_yα (4.E25)."""
        if "PKY1" not in self.given:
            return 0.0
        pressure = 1.0 + self.c("PPY1") * self.dpi, 1.0 + self.c("PPY2") * self.dpi
        order = self.given.get("PKY4", 2.0) if not self.old else 2.0
        worn = (self.c("PKY2") + (self.c("PKY5") * gamma * gamma if not self.old else 0.0)) * pressure[1] * self.nominal
        leaned = gamma * gamma if self.old and self.book else self.size(gamma)
        factor = 1.0 - self.c("PKY3") * leaned if "PKY3" in self.given else 1.0
        grown = self.sine_of(order, self.load / worn)
        return self.c("PKY1") * self.nominal * pressure[0] * factor * grown * self.scale("LKY")

    def pure_lateral(self, gamma: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar]:
        """F_y0, K_yα, B_y C_y, S_Hy + S_Vy/K_yα, and μ_y (4.E19–4.E30)."""
        if self.old:
            gamma = gamma * self.scale("LGAY")
        scaled, friction = self.scale("LMUY"), self.lateral_friction(gamma)
        peak, shape = friction * self.load, self.c("PCY1") * self.scale("LCY")
        stiffness = self.cornering_stiffness(gamma)
        camber = self.load * self.squared("PVY3", "PVY4") * gamma * self.digressive(scaled)
        if self.old:
            moved = self.c("PHY3") * gamma
        else:
            camber = camber * self.scale("LKYC")
            thrust = self.load * self.squared("PKY6", "PKY7") * (1.0 + self.c("PPY5") * self.dpi) * self.scale("LKYC")
            moved = (thrust * gamma - camber) / (stiffness + self.away(stiffness))
        shift = self.load * self.squared("PVY1", "PVY2") * self.scale("LVY") * self.digressive(scaled) + camber
        moved = self.squared("PHY1", "PHY2") * self.scale("LHY") + moved
        x = self.alpha + moved
        bent = 1.0 + (self.c("PEY5") * gamma * gamma if not self.old else 0.0)
        bent = bent - (self.c("PEY3") + self.c("PEY4") * gamma) * self.sign(x)
        e = self.at_most_one(self.squared("PEY1", "PEY2") * bent * self.scale("LEY"))
        steep = stiffness / (shape * peak + self.away(shape * peak))
        force = peak * self.sine_of(shape, self.magic(steep * x, e)) + shift
        return force, stiffness, steep * shape, moved + shift / (stiffness + self.away(stiffness)), friction

    def away(self, quantity: Scalar) -> Scalar:
        """ε with the sign of a stiffness or a peak, which are negative in tire files."""
        first = self.given.get("PKY1", 1.0)
        if isinstance(first, float | int):
            return -EPSILON if first < 0 else EPSILON
        return EPSILON * quantity / self.m.sqrt(quantity * quantity + 1e-18)

    def lateral_friction(self, gamma: Scalar) -> Scalar:
        """μ_y (4.E23)."""
        pressure = 1.0 + self.c("PPY3") * self.dpi + self.c("PPY4") * self.dpi * self.dpi
        return self.squared("PDY1", "PDY2") * pressure * (1.0 - self.c("PDY3") * gamma * gamma) * self.scale("LMUY")

    @cached_property
    def side(self) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar]:
        return self.pure_lateral(self.gamma)

    # ------------------------------------------------------------------------------------------ combined slip

    def weight(self, slip: Scalar, shift: Scalar, steep: Scalar, shape: Scalar, e: Scalar) -> Scalar:
        """cos(C atan(B x − E (…))) at x = slip + shift, divided by that at x = shift (4.E51, 4.E59)."""

        def cosine(x: Scalar) -> Scalar:
            return self.cosine_of(shape, self.magic(steep * x, e))

        return cosine(slip) if constant(shift) == 0.0 else cosine(slip + shift) / cosine(shift)

    def cosine_of_angle(self, x: Scalar) -> Scalar:
        """cos(atan x)."""
        return 1.0 if constant(x) == 0.0 else 1.0 / self.m.sqrt(1.0 + x * x)

    @cached_property
    def longitudinal(self) -> Scalar:
        """F_x (4.E50–4.E57)."""
        if "RBX1" not in self.given:
            return self.pure_longitudinal
        gamma = self.gamma
        steep = self.c("RBX1") + (self.c("RBX3") * gamma * gamma if not self.old else 0.0)
        steep = steep * self.cosine_of_angle(self.c("RBX2") * self.kappa) * self.scale("LXAL")
        e = self.at_most_one(self.squared("REX1", "REX2"))
        return self.pure_longitudinal * self.weight(self.alpha, self.c("RHX1"), steep, self.c("RCX1"), e)

    @cached_property
    def lateral_weight(self) -> Scalar:
        """G_yκ (4.E59–4.E65)."""
        if "RBY1" not in self.given:
            return 1.0
        gamma = self.gamma
        steep = self.c("RBY1") + (self.c("RBY4") * gamma * gamma if not self.old else 0.0)
        steep = steep * self.cosine_of_angle(self.c("RBY2") * (self.alpha - self.c("RBY3"))) * self.scale("LYKA")
        e = self.at_most_one(self.squared("REY1", "REY2"))
        return self.weight(self.kappa, self.squared("RHY1", "RHY2"), steep, self.c("RCY1"), e)

    @cached_property
    def ply_steer(self) -> Scalar:
        """S_Vyκ, the side force by longitudinal slip (4.E66, 4.E67)."""
        if not self.given.keys() & {"RVY1", "RVY2", "RVY3"}:
            return 0.0
        size = self.side[4] * self.load * (self.squared("RVY1", "RVY2") + self.c("RVY3") * self.gamma)
        size = size * self.cosine_of_angle(self.c("RVY4") * self.alpha)
        return size * self.sine_of(self.c("RVY5"), self.c("RVY6") * self.kappa) * self.scale("LVYKA")

    @cached_property
    def lateral(self) -> Scalar:
        """F_y (4.E58)."""
        return self.lateral_weight * self.side[0] + self.ply_steer

    # ------------------------------------------------------------------------------------------ moments

    @cached_property
    def radius(self) -> Scalar:
        return self.c("UNLOADED_RADIUS")

    def equivalent(self, shift: Scalar) -> Scalar:
        """α_eq (4.E77, 4.E78) of α + shift; its sign has no effect, since functions of it are even."""
        ratio = self.longitudinal_stiffness / (self.side[1] + self.away(self.side[1])) * self.kappa
        angle = self.alpha + shift
        if self.book:
            first = angle
        else:  # tan(α + shift)
            first = self.state.across if constant(shift) == 0.0 else self.m.sin(angle) / self.m.cos(angle)
        found = self.m.sqrt(first * first + ratio * ratio + 1e-24)
        return found if self.book else self.m.atan(found)

    @cached_property
    def trail(self) -> Scalar:
        """t (4.E33–4.E44)."""
        gamma = self.gamma * self.scale("LGAZ") if self.old else self.gamma
        shift = self.squared("QHZ1", "QHZ2") + self.squared("QHZ3", "QHZ4") * gamma
        angle = self.alpha + shift
        if self.book and not self.old:
            bent = self.c("QBZ5") * self.size(gamma) + self.c("QBZ6") * gamma * gamma
            leaned = self.c("QDZ3") * self.size(gamma)
        else:
            bent = self.c("QBZ4") * gamma + self.c("QBZ5") * self.size(gamma)
            leaned = self.c("QDZ3") * gamma
        scaled = self.scale("LKY") / self.scale("LMUY")
        steep = self.squared("QBZ1", "QBZ2", "QBZ3") * (1.0 + bent) * scaled
        peak = self.load * self.radius / self.nominal * self.squared("QDZ1", "QDZ2") * (1.0 - self.c("PPZ1") * self.dpi)
        peak = peak * (1.0 + leaned + self.c("QDZ4") * gamma * gamma) * self.scale("LTR") * self.state.direction
        turned = 1.0 + (self.c("QEZ4") + self.c("QEZ5") * gamma) * 2.0 / pi * self.m.atan(steep * self.c("QCZ1") * angle)
        e = self.at_most_one(self.squared("QEZ1", "QEZ2", "QEZ3") * turned)
        x = self.magic(steep * self.equivalent(shift), e)
        return peak * self.cosine_of(self.c("QCZ1"), x) * self.cosine

    @cached_property
    def residual_moment(self) -> Scalar:
        """M_zr (4.E36, 4.E45–4.E47)."""
        gamma = self.gamma * self.scale("LGAZ") if self.old else self.gamma
        scaled = self.scale("LMUY")
        steep = self.c("QBZ9") * self.scale("LKY") / scaled + self.c("QBZ10") * self.side[2]
        leaned = self.squared("QDZ8", "QDZ9") * (1.0 + self.c("PPZ2") * self.dpi)
        if self.given.keys() & {"QDZ10", "QDZ11"}:
            leaned = leaned + self.squared("QDZ10", "QDZ11") * self.size(gamma)
        leaned = leaned * gamma if self.old else leaned * gamma * self.scale("LKZC")
        peak = self.load * self.radius * (self.squared("QDZ6", "QDZ7") * self.scale("LRES") + leaned)
        peak = peak * scaled * self.state.direction * self.cosine
        return peak * self.cosine_of_angle(steep * self.equivalent(self.side[3]))

    @cached_property
    def trailed_force(self) -> Scalar:
        """F_y′, the side force on the trail: without that by longitudinal slip, and in version 6.1 without camber (4.E74)."""
        return self.lateral_weight * (self.side[0] if self.old else self.pure_lateral(0.0)[0])

    @cached_property
    def aligning(self) -> Scalar:
        """M_z (4.E71–4.E76)."""
        if "QDZ1" not in self.given and "QDZ6" not in self.given:
            return 0.0
        unit = self.nominal if self.book else self.c("FNOMIN")
        lever = self.c("SSZ1") + self.c("SSZ2") * self.lateral / unit + self.squared("SSZ3", "SSZ4") * self.gamma
        lever = lever * self.radius * self.scale("LS")
        return -self.trail * self.trailed_force + self.residual_moment + lever * self.longitudinal

    @cached_property
    def overturning(self) -> Scalar:
        """M_x (4.E69)."""
        if not any(name.startswith("QSX") for name in self.given):
            return 0.0
        m, ratio, side, gamma = self.m, self.load / self.c("FNOMIN"), self.lateral / self.c("FNOMIN"), self.state.camber
        found = self.c("QSX1") * self.scale("LVMX") + self.c("QSX3") * side
        found = found - self.c("QSX2") * gamma * (1.0 + self.c("PPMX1") * self.dpi)
        if "QSX4" in self.given:
            turned = m.sin(self.c("QSX7") * gamma + self.c("QSX8") * m.atan(self.c("QSX9") * side))
            found = found + self.c("QSX4") * m.cos(self.c("QSX5") * m.atan((self.c("QSX6") * ratio) ** 2)) * turned
        if "QSX10" in self.given:
            found = found + self.c("QSX10") * m.atan(self.c("QSX11") * ratio) * gamma
        return self.radius * self.load * found * self.scale("LMX")

    @cached_property
    def rolling(self) -> Scalar:
        """M_y (4.E70): against the rotation, so negative forwards."""
        if not any(name.startswith("QSY") for name in self.given):
            return 0.0
        ratio, speed = self.load / self.c("FNOMIN"), self.state.speed / self.given.get("LONGVL", 16.7)
        gamma = self.state.camber
        found = self.c("QSY1") + self.c("QSY2") * self.longitudinal / self.c("FNOMIN") + self.c("QSY3") * speed
        found = found + self.c("QSY4") * (speed * speed) * (speed * speed)
        found = found + (self.c("QSY5") + self.c("QSY6") * ratio) * gamma * gamma
        if "QSY8" in self.given:
            found = found * (1.0 + self.dpi) ** self.c("QSY8")
        return -self.radius * self.rolling_load(ratio) * found * self.scale("LMY") * self.state.direction

    def rolling_load(self, ratio: Scalar) -> Scalar:
        """The load in M_y: F_z without QSY7, F_z0 (F_z/F_z0)^QSY7 in tire programs, F_z (F_z/F_z0)^QSY7 as the book prints it."""
        if "QSY7" not in self.given:
            return self.load
        power = (ratio + 1e-15) ** self.c("QSY7")
        if self.book:
            return self.load * power
        return self.c("FNOMIN") * power * self.m.tanh(ratio / LIFTED)  # none in the air, whatever the exponent

    def forces(self) -> TireForces:
        return TireForces(self.longitudinal, self.lateral, self.overturning, self.rolling, self.aligning)


class MotorcycleEquations(MagicFormulaEquations):
    """The form for large camber (chapter 11): side slip and camber have arguments of their own in one sine, so that camber
    thrust keeps growing to 60 degrees. Longitudinal force, combined slip and moments are those of version 5.2, with the trail on
    the side force without camber."""

    @property
    def old(self) -> bool:
        return True

    def cornering_stiffness(self, gamma: Scalar) -> Scalar:
        if "PKY1" not in self.given:
            return 0.0
        squared = gamma * gamma
        u = self.load / ((self.c("PKY3") + self.c("PKY4") * squared) * self.nominal)
        grown = self.sine_of(self.c("PKY2"), u)
        return self.c("PKY1") * self.nominal * grown / (1.0 + self.c("PKY5") * squared) * self.scale("LKY")

    def lateral_friction(self, gamma: Scalar) -> Scalar:
        grown = self.m.exp(self.c("PDY2") * self.dfz) if "PDY2" in self.given else 1.0
        return self.c("PDY1") * grown / (1.0 + self.c("PDY3") * gamma * gamma) * self.scale("LMUY")

    def pure_lateral(self, gamma: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar, Scalar]:
        friction, stiffness = self.lateral_friction(gamma), self.cornering_stiffness(gamma)
        peak, shape = friction * self.load, self.c("PCY1") * self.scale("LCY")
        steep = stiffness / (shape * peak + self.away(shape * peak))
        x = self.alpha
        bent = self.c("PEY1") + self.c("PEY2") * gamma * gamma + self.c("PEY4") * gamma * self.sign(x)
        angle = shape * self.m.atan(self.magic(steep * x, self.at_most_one(bent * self.scale("LEY"))))
        if constant(gamma) != 0.0:
            slope = self.c("PCY2") * peak
            leaned = self.squared("PKY6", "PKY7") * self.load / (slope + self.away(slope)) * gamma * self.scale("LKYC")
            angle = angle + self.c("PCY2") * self.m.atan(self.magic(leaned, self.at_most_one(self.c("PEY5"))))
        return peak * self.m.sin(angle), stiffness, steep * shape, 0.0, friction

    @cached_property
    def trailed_force(self) -> Scalar:
        return self.lateral_weight * self.pure_lateral(0.0)[0]
