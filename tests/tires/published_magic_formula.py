"""The Magic Formula once more, typed from the published equations with NumPy: signs and absolute values without regularization.

Versions 6.1 (Pacejka 2012, 4.E1–4.E78, without turn slip), 5.2 and the motorcycle form (chapter 11).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
from numpy import arctan, cos, exp, pi, sign, sin, sqrt, tan

EPS = 1e-6


def _of(given: Mapping[str, float]) -> defaultdict[str, float]:
    p: defaultdict[str, float] = defaultdict(float, given)
    scales = "FZO CX MUX EX KX HX VX CY MUY EY KY HY VY TR RES XAL YKA VYKA S MX VMX MY KYC KZC GAX GAY GAZ"
    for name in scales.split():
        p.setdefault(f"L{name}", 1.0)
    p.setdefault("PKY4", 2.0)
    p.setdefault("LONGVL", 16.7)
    return p


def _curve(x: float, b: float, c: float, e: float) -> float:
    return c * arctan(b * x - e * (b * x - arctan(b * x)))


def _lateral61(p: Mapping[str, float], fz: float, a: float, g: float, dfz: float, dpi: float) -> tuple[float, ...]:
    fz0 = p["FNOMIN"] * p["LFZO"]
    lmu = 10 * p["LMUY"] / (1 + 9 * p["LMUY"])
    mu = (p["PDY1"] + p["PDY2"] * dfz) * (1 + p["PPY3"] * dpi + p["PPY4"] * dpi**2) * (1 - p["PDY3"] * g**2) * p["LMUY"]
    ky = p["PKY1"] * fz0 * (1 + p["PPY1"] * dpi) * (1 - p["PKY3"] * abs(g)) * p["LKY"]
    ky *= sin(p["PKY4"] * arctan(fz / fz0 / ((p["PKY2"] + p["PKY5"] * g**2) * (1 + p["PPY2"] * dpi))))
    eps = EPS * np.sign(p["PKY1"])
    svg = fz * (p["PVY3"] + p["PVY4"] * dfz) * g * p["LKYC"] * lmu
    sv = fz * (p["PVY1"] + p["PVY2"] * dfz) * p["LVY"] * lmu + svg
    kyg = fz * (p["PKY6"] + p["PKY7"] * dfz) * (1 + p["PPY5"] * dpi) * p["LKYC"]
    sh = (p["PHY1"] + p["PHY2"] * dfz) * p["LHY"] + (kyg * g - svg) / (ky + eps)
    c = p["PCY1"] * p["LCY"]
    ay = a + sh
    e = min(1.0, (p["PEY1"] + p["PEY2"] * dfz) * (1 + p["PEY5"] * g**2 - (p["PEY3"] + p["PEY4"] * g) * sign(ay)) * p["LEY"])
    b = ky / (c * mu * fz + eps)
    return mu * fz * sin(_curve(ay, b, c, e)) + sv, ky, b * c, sh + sv / (ky + eps), mu


def mf61(
    given: Mapping[str, float], fz: float, kappa: float, alpha: float, gamma: float, v: float = 16.7, variant: str = "program"
) -> np.ndarray:
    """Fx, Fy, Mx, My, Mz."""
    p, book = _of(given), variant == "book"
    a, g = (tan(alpha), sin(gamma)) if book else (alpha, gamma)
    fz0, r0 = p["FNOMIN"] * p["LFZO"], p["UNLOADED_RADIUS"]
    dfz = (fz - fz0) / fz0
    dpi = (p["INFLPRES"] - p["NOMPRES"]) / p["NOMPRES"] if p["INFLPRES"] else 0.0
    # longitudinal
    lmux = 10 * p["LMUX"] / (1 + 9 * p["LMUX"])
    mux = (p["PDX1"] + p["PDX2"] * dfz) * (1 + p["PPX3"] * dpi + p["PPX4"] * dpi**2) * (1 - p["PDX3"] * g**2) * p["LMUX"]
    kx = fz * (p["PKX1"] + p["PKX2"] * dfz) * exp(p["PKX3"] * dfz) * (1 + p["PPX1"] * dpi + p["PPX2"] * dpi**2) * p["LKX"]
    kapx = kappa + (p["PHX1"] + p["PHX2"] * dfz) * p["LHX"]
    ex = min(1.0, (p["PEX1"] + p["PEX2"] * dfz + p["PEX3"] * dfz**2) * (1 - p["PEX4"] * sign(kapx)) * p["LEX"])
    cx = p["PCX1"] * p["LCX"]
    fx0 = mux * fz * sin(_curve(kapx, kx / (cx * mux * fz + EPS), cx, ex)) + fz * (p["PVX1"] + p["PVX2"] * dfz) * p["LVX"] * lmux
    fy0, ky, bc, shf, muy = _lateral61(p, fz, a, g, dfz, dpi)
    # combined
    bxa = (p["RBX1"] + p["RBX3"] * g**2) * cos(arctan(p["RBX2"] * kappa)) * p["LXAL"]
    exa = min(1.0, p["REX1"] + p["REX2"] * dfz)
    gx = cos(_curve(a + p["RHX1"], bxa, p["RCX1"], exa)) / cos(_curve(p["RHX1"], bxa, p["RCX1"], exa))
    byk = (p["RBY1"] + p["RBY4"] * g**2) * cos(arctan(p["RBY2"] * (a - p["RBY3"]))) * p["LYKA"]
    eyk, shyk = min(1.0, p["REY1"] + p["REY2"] * dfz), p["RHY1"] + p["RHY2"] * dfz
    gy = cos(_curve(kappa + shyk, byk, p["RCY1"], eyk)) / cos(_curve(shyk, byk, p["RCY1"], eyk))
    dvyk = muy * fz * (p["RVY1"] + p["RVY2"] * dfz + p["RVY3"] * g) * cos(arctan(p["RVY4"] * a))
    svyk = dvyk * sin(p["RVY5"] * arctan(p["RVY6"] * kappa)) * p["LVYKA"]
    fx, fy = gx * fx0, gy * fy0 + svyk
    # aligning
    at = a + p["QHZ1"] + p["QHZ2"] * dfz + (p["QHZ3"] + p["QHZ4"] * dfz) * g
    bent = p["QBZ5"] * abs(g) + p["QBZ6"] * g**2 if book else p["QBZ4"] * g + p["QBZ5"] * abs(g)
    bt = (p["QBZ1"] + p["QBZ2"] * dfz + p["QBZ3"] * dfz**2) * (1 + bent) * p["LKY"] / p["LMUY"]
    dt = fz * r0 / fz0 * (p["QDZ1"] + p["QDZ2"] * dfz) * (1 - p["PPZ1"] * dpi) * p["LTR"]
    dt *= 1 + p["QDZ3"] * (abs(g) if book else g) + p["QDZ4"] * g**2
    et = (p["QEZ1"] + p["QEZ2"] * dfz + p["QEZ3"] * dfz**2) * (
        1 + (p["QEZ4"] + p["QEZ5"] * g) * 2 / pi * arctan(bt * p["QCZ1"] * at)
    )
    et, ratio = min(1.0, et), (kx / (ky + EPS * sign(p["PKY1"]))) * kappa
    ar = a + shf

    def eq(angle: float) -> float:
        if book:
            return sqrt(angle**2 + ratio**2) * sign(angle)
        return arctan(sqrt(tan(angle) ** 2 + ratio**2)) * sign(angle)

    trail = sign(v) * dt * cos(_curve(eq(at), bt, p["QCZ1"], et)) * cos(alpha)
    br = p["QBZ9"] * p["LKY"] / p["LMUY"] + p["QBZ10"] * bc
    leaned = (p["QDZ8"] + p["QDZ9"] * dfz) * (1 + p["PPZ2"] * dpi) + (p["QDZ10"] + p["QDZ11"] * dfz) * abs(g)
    dr = fz * r0 * ((p["QDZ6"] + p["QDZ7"] * dfz) * p["LRES"] + leaned * g * p["LKZC"]) * p["LMUY"] * cos(alpha)
    mzr = sign(v) * dr * cos(arctan(br * eq(ar)))
    unit = fz0 if book else p["FNOMIN"]
    s = r0 * (p["SSZ1"] + p["SSZ2"] * fy / unit + (p["SSZ3"] + p["SSZ4"] * dfz) * g) * p["LS"]
    mz = -trail * gy * _lateral61(p, fz, a, 0.0, dfz, dpi)[0] + mzr + s * fx
    return np.array([fx, fy, _overturning(p, fz, fy, gamma, dpi), _rolling(p, fz, fx, gamma, v, dpi, book), mz])


def _overturning(p: Mapping[str, float], fz: float, fy: float, g: float, dpi: float) -> float:
    n = p["FNOMIN"]
    inner = p["QSX1"] * p["LVMX"] - p["QSX2"] * g * (1 + p["PPMX1"] * dpi) + p["QSX3"] * fy / n
    inner += (
        p["QSX4"]
        * cos(p["QSX5"] * arctan((p["QSX6"] * fz / n) ** 2))
        * sin(p["QSX7"] * g + p["QSX8"] * arctan(p["QSX9"] * fy / n))
    )
    inner += p["QSX10"] * arctan(p["QSX11"] * fz / n) * g
    return p["UNLOADED_RADIUS"] * fz * inner * p["LMX"]


def _rolling(p: Mapping[str, float], fz: float, fx: float, g: float, v: float, dpi: float, book: bool = True) -> float:
    """4.E70 of the book, or equation A48 of Besselink, Schmeitz & Pacejka (2010), which tire programs have."""
    n = p["FNOMIN"]
    inner = p["QSY1"] + p["QSY2"] * fx / n + p["QSY3"] * abs(v / p["LONGVL"]) + p["QSY4"] * (v / p["LONGVL"]) ** 4
    inner += (p["QSY5"] + p["QSY6"] * fz / n) * g**2
    inner *= (fz / n) ** p["QSY7"] * (1 + dpi) ** p["QSY8"]
    return -p["UNLOADED_RADIUS"] * (fz if book else n) * inner * p["LMY"] * sign(v)


def mf52(
    given: Mapping[str, float],
    fz: float,
    kappa: float,
    alpha: float,
    gamma: float,
    v: float = 16.7,
    variant: str = "program",
    motorcycle: bool = False,
) -> np.ndarray:
    """Fx, Fy, Mx, My, Mz of version 5.2; with the side force of the motorcycle form on request."""
    p = _of(given)
    a = tan(alpha) if variant == "book" else alpha
    fz0, r0 = p["FNOMIN"] * p["LFZO"], p["UNLOADED_RADIUS"]
    dfz, gx_, gy_, gz = (fz - fz0) / fz0, gamma * p["LGAX"], gamma * p["LGAY"], gamma * p["LGAZ"]
    mux = (p["PDX1"] + p["PDX2"] * dfz) * (1 - p["PDX3"] * gx_**2) * p["LMUX"]
    kx = fz * (p["PKX1"] + p["PKX2"] * dfz) * exp(p["PKX3"] * dfz) * p["LKX"]
    kapx = kappa + (p["PHX1"] + p["PHX2"] * dfz) * p["LHX"]
    ex = min(1.0, (p["PEX1"] + p["PEX2"] * dfz + p["PEX3"] * dfz**2) * (1 - p["PEX4"] * sign(kapx)) * p["LEX"])
    cx = p["PCX1"] * p["LCX"]
    fx0 = mux * fz * sin(_curve(kapx, kx / (cx * mux * fz + EPS), cx, ex))
    fx0 += fz * (p["PVX1"] + p["PVX2"] * dfz) * p["LVX"] * p["LMUX"]

    def side(g: float) -> tuple[float, ...]:
        if motorcycle:
            mu = p["PDY1"] * exp(p["PDY2"] * dfz) / (1 + p["PDY3"] * g**2) * p["LMUY"]
            ky = p["PKY1"] * fz0 * sin(p["PKY2"] * arctan(fz / ((p["PKY3"] + p["PKY4"] * g**2) * fz0)))
            ky *= p["LKY"] / (1 + p["PKY5"] * g**2)
            d, c = mu * fz, p["PCY1"] * p["LCY"]
            e = min(1.0, (p["PEY1"] + p["PEY2"] * g**2 + p["PEY4"] * g * sign(a)) * p["LEY"])
            by = ky / (c * d + EPS * sign(p["PKY1"]))
            bg = (p["PKY6"] + p["PKY7"] * dfz) * fz / (p["PCY2"] * d + EPS * sign(p["PKY1"])) * p["LKYC"]
            angle = _curve(a, by, c, e) + _curve(g, bg, p["PCY2"], min(1.0, p["PEY5"]))
            return d * sin(angle), ky, by * c, 0.0, mu
        mu = (p["PDY1"] + p["PDY2"] * dfz) * (1 - p["PDY3"] * g**2) * p["LMUY"]
        leaned = g**2 if variant == "book" else abs(g)
        ky = p["PKY1"] * fz0 * sin(2 * arctan(fz / (p["PKY2"] * fz0))) * (1 - p["PKY3"] * leaned) * p["LKY"]
        sh = (p["PHY1"] + p["PHY2"] * dfz) * p["LHY"] + p["PHY3"] * g
        sv = fz * ((p["PVY1"] + p["PVY2"] * dfz) * p["LVY"] + (p["PVY3"] + p["PVY4"] * dfz) * g) * p["LMUY"]
        ay, c, eps = a + sh, p["PCY1"] * p["LCY"], EPS * sign(p["PKY1"])
        e = min(1.0, (p["PEY1"] + p["PEY2"] * dfz) * (1 - (p["PEY3"] + p["PEY4"] * g) * sign(ay)) * p["LEY"])
        by = ky / (c * mu * fz + eps)
        return mu * fz * sin(_curve(ay, by, c, e)) + sv, ky, by * c, sh + sv / (ky + eps), mu

    fy0, ky, bc, shf, muy = side(gamma if motorcycle else gy_)
    bxa, exa = p["RBX1"] * cos(arctan(p["RBX2"] * kappa)) * p["LXAL"], min(1.0, p["REX1"] + p["REX2"] * dfz)
    gx = cos(_curve(a + p["RHX1"], bxa, p["RCX1"], exa)) / cos(_curve(p["RHX1"], bxa, p["RCX1"], exa))
    byk, eyk = p["RBY1"] * cos(arctan(p["RBY2"] * (a - p["RBY3"]))) * p["LYKA"], min(1.0, p["REY1"] + p["REY2"] * dfz)
    shyk = p["RHY1"] + p["RHY2"] * dfz
    gy = cos(_curve(kappa + shyk, byk, p["RCY1"], eyk)) / cos(_curve(shyk, byk, p["RCY1"], eyk))
    svyk = muy * fz * (p["RVY1"] + p["RVY2"] * dfz + p["RVY3"] * gamma) * cos(arctan(p["RVY4"] * a))
    svyk *= sin(p["RVY5"] * arctan(p["RVY6"] * kappa)) * p["LVYKA"]
    fx, fy = gx * fx0, gy * fy0 + svyk
    at = a + p["QHZ1"] + p["QHZ2"] * dfz + (p["QHZ3"] + p["QHZ4"] * dfz) * gz
    bt = (p["QBZ1"] + p["QBZ2"] * dfz + p["QBZ3"] * dfz**2) * (1 + p["QBZ4"] * gz + p["QBZ5"] * abs(gz)) * p["LKY"] / p["LMUY"]
    dt = fz * (p["QDZ1"] + p["QDZ2"] * dfz) * (1 + p["QDZ3"] * gz + p["QDZ4"] * gz**2) * r0 / fz0 * p["LTR"]
    et = (p["QEZ1"] + p["QEZ2"] * dfz + p["QEZ3"] * dfz**2) * (
        1 + (p["QEZ4"] + p["QEZ5"] * gz) * 2 / pi * arctan(bt * p["QCZ1"] * at)
    )
    ratio = kx / (ky + EPS * sign(p["PKY1"])) * kappa

    def eq(angle: float) -> float:
        if variant == "book":
            return sqrt(angle**2 + ratio**2)
        return arctan(sqrt(tan(angle) ** 2 + ratio**2))

    trail = sign(v) * dt * cos(_curve(eq(at), bt, p["QCZ1"], min(1.0, et))) * cos(alpha)
    dr = (p["QDZ6"] + p["QDZ7"] * dfz) * p["LRES"] + (p["QDZ8"] + p["QDZ9"] * dfz) * gz
    dr += (p["QDZ10"] + p["QDZ11"] * dfz) * gz * abs(gz)
    br = p["QBZ9"] * p["LKY"] / p["LMUY"] + p["QBZ10"] * bc
    mzr = sign(v) * fz * r0 * dr * p["LMUY"] * cos(alpha) * cos(arctan(br * eq(a + shf)))
    unit = fz0 if variant == "book" else p["FNOMIN"]
    s = r0 * (p["SSZ1"] + p["SSZ2"] * fy / unit + (p["SSZ3"] + p["SSZ4"] * dfz) * gamma) * p["LS"]
    carried = gy * side(0.0)[0] if motorcycle else fy - svyk
    mz = -trail * carried + mzr + s * fx
    return np.array([fx, fy, _overturning(p, fz, fy, gamma, 0.0), _rolling(p, fz, fx, gamma, v, 0.0), mz])
