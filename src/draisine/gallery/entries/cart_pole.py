"""Swing-up and balancing of a cart-pole by one feedback law, compiled into equations from a Lagrangian.

What it shows: equations from a Lagrangian with an input, and feedback as an expression in states, outputs and parameters. The
law moves the cart so that the pole's energy E = m l² θ̇²/2 + m g l (cos θ − 1) goes to zero, its value at rest at the top (K.
J. Åström & K. Furuta, Automatica 36, 2000), and near the top it places all poles of the linear system at −s.

What you should see: the pole hangs at first and swings higher with each oscillation of the cart; near the top the second law
takes over with a jump of the force, and cart and pole come to rest at zero. The work of the force equals the energy that lifts
the pole.

Let a be the desired acceleration of the cart, θ the angle of the pole from the top. Newton and Euler give

    l θ̈ = g sin θ − a cos θ,      Ė = −m l a θ̇ cos θ,      force = a (M + m sin² θ) + m sin θ (g cos θ − l θ̇²).

Swinging up, a = k E θ̇ cos θ makes |E| fall. At the top y = x + l θ has ÿ = g θ and y⁗ = (g/l) (ÿ − a), so that
a = ÿ + (l/g) (4 s y⃛ + 6 s² ÿ + 4 s³ ẏ + s⁴ y) gives (d/dt + s)⁴ y = 0.
"""

from __future__ import annotations

import math

import numpy as np
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from draisine.gallery.registry import Study, entry, live
from draisine.model.model import Model
from draisine.view.plots.trajectories import channel_figure

DEFAULTS = {"m_cart": 1.0, "m_pole": 0.3, "l_pole": 0.6, "gravity": 9.81}
UNITS = {"m_cart": "kg", "m_pole": "kg", "l_pole": "m", "gravity": "m/s^2"}


@live(start={"pole": 0.5})
def cart_pole() -> dr.Equations:
    """A pole with its mass at the end, hinged on a cart driven by a force; from its Lagrangian."""
    cart, pole, push = dynamicsymbols("cart"), dynamicsymbols("pole"), sp.Symbol("push")
    big, m, l, g = symbols = [sp.Symbol(name) for name in DEFAULTS]
    x, z = cart + l * sp.sin(pole), l * sp.cos(pole)
    t = dynamicsymbols._t
    return dr.lagrangian(
        "cart_pole",
        [cart, pole],
        kinetic=big * cart.diff() ** 2 / 2 + m * (x.diff(t) ** 2 + z.diff(t) ** 2) / 2,
        potential=m * g * z,
        forces={cart: push},
        inputs=[push],
        parameters=dict(zip(symbols, DEFAULTS.values(), strict=True)),
        outputs={
            "momentum": (big + m) * cart.diff() + m * l * pole.diff() * sp.cos(pole),
            "swing_energy": m * l**2 * pole.diff() ** 2 / 2 + m * g * l * (sp.cos(pole) - 1),
        },
        units={**UNITS, cart: "m", pole: "rad", push: "N", "momentum": "kg*m/s", "swing_energy": "J"},
        work=True,
    )


@live(start={"pole": 0.5})
def cart_pole_graph() -> Model:
    """A pole with its mass at the end, hinged on a cart driven by a force; as a graph of bodies and joints."""
    m = Model("cart_pole_graph", "a slider that carries a hinge about y")
    p = {name: m.parameter(name, value, UNITS[name]) for name, value in DEFAULTS.items()}
    m.gravity(p["gravity"])
    cart = m.body("carriage", mass=p["m_cart"])
    pole = m.body("rod", mass=p["m_pole"], center_of_mass=(0, 0, p["l_pole"]))
    m.prismatic("cart", "ground", cart, axis="x")
    m.revolute("pole", cart, pole, axis="y")
    m.generalized_force("cart", m.input("push", "N", "on the cart, along x"))
    swing = "m_pole*l_pole^2*pole_rate^2/2 + m_pole*gravity*l_pole*(cos(pole) - 1)"
    m.output("swing_energy", swing, "J", "of the pole about its hinge, zero at rest at the top")
    return m


def swing_up(gain: float = 0.5, speed: float = 3.0) -> str:
    """The law of `push`, see the head of this file: k in 1/(J·s), s in 1/s."""
    s, theta = speed, "atan2(sin(pole), cos(pole))"
    swinging = f"{gain}*swing_energy*pole_rate*cos(pole) - cart - cart_rate"  # the last two terms keep the cart near zero
    balancing = (
        f"gravity*{theta} + l_pole/gravity*({4 * s}*gravity*pole_rate + {6 * s**2}*gravity*{theta}"
        f" + {4 * s**3}*(cart_rate + l_pole*pole_rate) + {s**4}*(cart + l_pole*{theta}))"
    )
    a = f"where(1 - cos(pole) + 0.02*pole_rate^2 < 0.15, {balancing}, {swinging})"
    return f"({a})*(m_cart + m_pole*sin(pole)^2) + m_pole*sin(pole)*(gravity*cos(pole) - l_pole*pole_rate^2)"


@entry(level="First steps", film="cart_pole_graph")
def cart_pole_swing_up(until: float = 15.0) -> Study:
    """A cart swings up its pole and balances it by one compiled feedback law."""
    equations, method = cart_pole(), dr.methods.DOP853(rtol=1e-11, atol=1e-13)
    hanging, law = {"pole": math.pi - 0.05}, {"push": swing_up()}
    run = dr.simulate(equations, until, start=hanging, inputs=law, method=method)
    again = dr.simulate(cart_pole_graph(), until, start=hanging, inputs=law, method=method)
    alone = dr.simulate(equations, 5.0, start={"pole": 0.5, "cart_rate": 0.2}, method=method)
    apart = max(float(np.max(np.abs(run[name] - again[name]))) for name in ("cart", "pole", "push"))
    momentum = float(np.max(np.abs(alone["momentum"] - alone["momentum"][0])))
    caught = run.time[np.argmax(np.cos(run["pole"]) > 0.9)]

    assert run.status.complete, run.status
    assert run.energy_drift is not None and run.energy_drift < 1e-9  # energy = work of the force
    assert apart < 1e-5, apart  # the graph gives the same motion
    assert alone.energy_drift is not None and alone.energy_drift < 1e-10 and momentum < 1e-10  # no force: both are conserved
    if until >= 15.0:
        assert abs(math.sin(run["pole"][-1])) < 1e-6 and math.cos(run["pole"][-1]) > 0 and abs(run["cart"][-1]) < 1e-6
        weight = run.parameters["m_pole"] * run.parameters["gravity"] * run.parameters["l_pole"]
        assert abs(run["work"][-1] - weight * (1 + math.cos(0.05))) < 1e-6  # the work has lifted the pole
    figures = {
        "swing_up": channel_figure(run, "pole", "cart", "push"),
        "energy": channel_figure(run, "swing_energy", "work"),
    }
    findings = (
        f"near the top after {caught:.2f} s; the cart goes {np.max(np.abs(run['cart'])):.2f} m to the side, "
        f"largest force {np.max(np.abs(run['push'])):.1f} N",
        f"at the end: pole {math.sin(run['pole'][-1]):.1e} rad from the top, cart {run['cart'][-1]:.1e} m from zero",
        f"largest difference from the graph: {apart:.1e}",
    )
    return Study("Cart and pole, swing-up and balance", {"cart_pole": run, "cart_pole_graph": again}, figures, findings)
