"""Problems of the Test Set for IVP Solvers (Mazzia & Magherini, release 2.4), with their published reference solutions: the
transistor amplifier (index 1, singular leading matrix) and Andrews' squeezing mechanism (index 3), typed and as a graph."""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr

# ---------------------------------------------------------------- transistor amplifier

AMPLIFIER_END = 0.2
AMPLIFIER = {
    "u1": -0.5562145012262709e-2,
    "u2": 0.3006522471903042e1,
    "u3": 0.2849958788608128e1,
    "u4": 0.2926422536206241e1,
    "u5": 0.2704617865010554e1,
    "u6": 0.2761837778393145e1,
    "u7": 0.4770927631616772e1,
    "u8": 0.1236995868091548e1,
}


def transistor_amplifier() -> dr.Equations:
    """M u̇ = f(u, t) with a matrix of rank 5 and eight unknown voltages; supply voltage and signal are parameters."""
    u = sp.symbols("u1:9")
    du = sp.symbols("du1:9")
    t = dynamicsymbols._t
    resistance = 9000
    supply, amplitude = sp.symbols("supply amplitude")
    capacity = [k * sp.Float("1e-6") for k in range(1, 6)]

    def current(voltage: Any) -> Any:
        return sp.Float("1e-6") * (sp.exp(voltage / sp.Float("0.026")) - 1)

    first, second = current(u[1] - u[2]), current(u[4] - u[5])
    signal, alpha = amplitude * sp.sin(200 * sp.pi * t), sp.Float("0.99")
    static = [
        (u[0] - signal) / 1000,
        u[1] / resistance + (u[1] - supply) / resistance + (1 - alpha) * first,
        u[2] / resistance - first,
        (u[3] - supply) / resistance + alpha * first,
        u[4] / resistance + (u[4] - supply) / resistance + (1 - alpha) * second,
        u[5] / resistance - second,
        (u[6] - supply) / resistance + alpha * second,
        u[7] / resistance,
    ]
    charging = [
        capacity[0] * (du[0] - du[1]),
        capacity[0] * (du[1] - du[0]),
        capacity[1] * du[2],
        capacity[2] * (du[3] - du[4]),
        capacity[2] * (du[4] - du[3]),
        capacity[3] * du[5],
        capacity[4] * (du[6] - du[7]),
        capacity[4] * (du[7] - du[6]),
    ]
    start = dict(zip(u, (0, 3, 3, 6, 3, 3, 6, 0), strict=True))
    rows = {f"node{i + 1}": a + b for i, (a, b) in enumerate(zip(charging, static, strict=True))}
    rates = dict(zip(u, du, strict=True))
    return dr.symbolic.implicit("amplifier", rows, u, rates=rates, start=start, parameters={supply: 6.0, amplitude: 0.1})


# ---------------------------------------------------------------- Andrews' squeezing mechanism

ANDREWS_END = 0.03
ANGLES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
ANDREWS_START = dict(
    zip(
        ANGLES,
        (-0.06171389001427645, 0.0, 0.4552798191630704, 0.2226683901658859, 0.4873649795438425, -0.2226683901658859,
         1.230547444549821),
        strict=True,
    )
)  # fmt: skip
ANDREWS = dict(
    zip(
        ANGLES,
        (0.1581077119629904e2, -0.1575637105984298e2, 0.4082224013073101e-1, -0.5347301163226948, 0.5244099658805304,
         0.5347301163226948, 0.1048080741042263e1),
        strict=True,
    )
)  # fmt: skip
ANDREWS_SPEEDS = dict(
    zip(
        (f"{name}_rate" for name in ANGLES),
        (0.1139920302151208e4, -0.1424379294994111e4, 0.1103291221937134e2, 0.1929337464421385e2, 0.5735699284790808,
         -0.1929337464421385e2, 0.3231791658026955),
        strict=True,
    )
)  # fmt: skip

MASS = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
INERTIA = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)  # fixed points
SPRING, LENGTH, MOMENT = 4530.0, 0.07785, 0.033
D, DA, E, EA, ZF, FA = 0.028, 0.0115, 0.02, 0.01421, 0.02, 0.01421
RR, RA, SS, SA, SB, SC, SD = 0.007, 0.00092, 0.035, 0.01874, 0.01043, 0.018, 0.02
TA, TB, U, UA, UB, ZT = 0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.04


def _closures(q: Any) -> dict[str, Any]:
    """The loops: the common point P by way of the crank, less that by way of the other branches."""
    beta, theta, gamma, phi, delta, omega, epsilon = q
    px = RR * sp.cos(beta) - D * sp.cos(beta + theta)
    py = RR * sp.sin(beta) - D * sp.sin(beta + theta)
    return {
        "bx": px - SS * sp.sin(gamma) - B[0],
        "by": py + SS * sp.cos(gamma) - B[1],
        "ax": px - E * sp.sin(phi + delta) - ZT * sp.cos(delta) - A[0],
        "ay": py + E * sp.cos(phi + delta) - ZT * sp.sin(delta) - A[1],
        "cx": px - ZF * sp.cos(omega + epsilon) - U * sp.sin(epsilon) - A[0],
        "cy": py - ZF * sp.sin(omega + epsilon) + U * sp.cos(epsilon) - A[1],
    }


def _spring(gamma: Any) -> Any:
    """Energy of the spring between the point D of body 3 and the point C."""
    x = SD * sp.cos(gamma) + SC * sp.sin(gamma) + B[0] - C[0]
    y = SD * sp.sin(gamma) - SC * sp.cos(gamma) + B[1] - C[1]
    return SPRING * (sp.sqrt(x**2 + y**2) - LENGTH) ** 2 / 2


def _mass_matrix(theta: Any, phi: Any, omega: Any, mass: tuple[float, ...] = MASS) -> Any:
    m1, m2, m3, m4, m5, m6, m7 = mass
    i1, i2, i3, i4, i5, i6, i7 = INERTIA
    e, f = E - EA, ZF - FA
    m = sp.zeros(7, 7)
    m[0, 0] = m1 * RA**2 + m2 * (RR**2 - 2 * DA * RR * sp.cos(theta) + DA**2) + i1 + i2
    m[1, 0] = m[0, 1] = m2 * (DA**2 - DA * RR * sp.cos(theta)) + i2
    m[1, 1] = m2 * DA**2 + i2
    m[2, 2] = m3 * (SA**2 + SB**2) + i3
    m[3, 3] = m4 * e**2 + i4
    m[4, 3] = m[3, 4] = m4 * (e**2 + ZT * e * sp.sin(phi)) + i4
    m[4, 4] = m4 * (ZT**2 + 2 * ZT * e * sp.sin(phi) + e**2) + m5 * (TA**2 + TB**2) + i4 + i5
    m[5, 5] = m6 * f**2 + i6
    m[6, 5] = m[5, 6] = m6 * (f**2 - U * f * sp.sin(omega)) + i6
    m[6, 6] = m6 * (f**2 - 2 * U * f * sp.sin(omega) + U**2) + m7 * (UA**2 + UB**2) + i6 + i7
    return m


def andrews_typed(
    mass: tuple[float, ...] = MASS, moment: float = MOMENT, start: dict[str, float] = ANDREWS_START
) -> dr.Equations:
    """From the mass matrix of the test set, with loops as constraints."""
    q = dynamicsymbols(" ".join(ANGLES))
    rates = sp.Matrix([c.diff() for c in q])
    kinetic = (rates.T * _mass_matrix(q[1], q[3], q[5], mass) * rates)[0] / 2
    return dr.lagrangian(
        "typed", q, kinetic=kinetic, potential=_spring(q[2]), forces={q[0]: moment}, holonomic=_closures(q),
        start=dict(zip(q, start.values(), strict=True)),
    )  # fmt: skip


def andrews_graph(mass: tuple[float, ...] = MASS, moment: float = MOMENT, start: dict[str, float] = ANDREWS_START) -> dr.Model:
    """Seven bodies with hinges along z, three loops closed at the point P; centers and hinges from the figure of the test set."""
    m = dr.Model("graph")
    m.gravity(0.0)

    def body(k: int, center: tuple[float, float]) -> Any:
        inertia = (INERTIA[k - 1],) * 3
        return m.body(f"K{k}", mass=mass[k - 1], center_of_mass=(*center, 0), inertia=inertia)

    # each body turned by its angle about z: the crank by β; K3 by γ, K5 by δ, K7 by ε about their fixed points
    m.revolute("beta", "ground", body(1, (RA, 0)), axis="z", default=start["beta"])
    m.revolute("theta", "K1", body(2, (-DA, 0)), axis="z", at=(RR, 0, 0), default=start["theta"])
    m.revolute("gamma", "ground", body(3, (SA, -SB)), axis="z", at=(*B, 0), default=start["gamma"])
    m.revolute("delta", "ground", body(5, (TA, TB)), axis="z", at=(*A, 0), default=start["delta"])
    m.revolute("phi", "K5", body(4, (0, -(E - EA))), axis="z", at=(ZT, 0, 0), default=start["phi"])
    m.revolute("epsilon", "ground", body(7, (UA, -UB)), axis="z", at=(*A, 0), default=start["epsilon"])
    m.revolute("omega", "K7", body(6, (ZF - FA, 0)), axis="z", at=(0, -U, 0), default=start["omega"])
    tips = {"K2": (-D, 0, 0), "K3": (0, -SS, 0), "K4": (0, -E, 0), "K6": (ZF, 0, 0)}
    for name, at in tips.items():
        m.point(f"P{name}", name, at)
    for name in ("K3", "K4", "K6"):
        m.close_point(f"loop_{name}", "PK2", f"P{name}", axes="xy")
    m.potential("spring", str(_spring(sp.Symbol("gamma"))).replace("**", "^"))
    m.generalized_force("beta", moment)
    return m


def andrews_index_three() -> dr.Equations:
    """As posed: q̇ = v, M q̈ = f − Gᵀλ, 0 = g(q), with q, v and λ unknown."""
    q, v = sp.symbols(ANGLES), sp.symbols([f"{n}_rate" for n in ANGLES])
    force = sp.symbols("l1:7")
    closures = sp.Matrix(list(_closures(q).values()))
    m = _mass_matrix(q[1], q[3], q[5])
    speeds = sp.Matrix(v)
    kinetic = (speeds.T * m * speeds)[0] / 2
    inertia = (m * speeds).jacobian(q) * speeds - sp.Matrix([kinetic]).jacobian(q).T
    applied = sp.Matrix([MOMENT, 0, -sp.diff(_spring(q[2]), q[2]), 0, 0, 0, 0])
    dq, dv = sp.symbols([f"d{n}" for n in ANGLES]), sp.symbols([f"d{n}_rate" for n in ANGLES])
    balance = m * sp.Matrix(dv) + inertia - applied + closures.jacobian(q).T * sp.Matrix(force)
    rows = [*(a - b for a, b in zip(dq, v, strict=True)), *balance, *closures]
    rates = {**dict(zip(q, dq, strict=True)), **dict(zip(v, dv, strict=True))}
    return dr.symbolic.implicit(
        "andrews", rows, [*q, *v, *force], rates=rates, start=dict(zip(q, ANDREWS_START.values(), strict=True))
    )
