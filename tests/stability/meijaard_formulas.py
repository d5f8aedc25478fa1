"""The linearized equations of the Whipple bicycle as printed: J. P. Meijaard, J. M. Papadopoulos, A. Ruina & A. L. Schwab 2007,
"Linearized dynamics equations for the balance and steer of a bicycle: a benchmark and review", Proc. R. Soc. A 463, appendix A
(z down, steer to the right positive). Works on floats, fractions and symbols alike: sine and cosine of λ are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# the paper's name → ours, and the factor from theirs to ours (our z axis points up)
NAMES = {
    "w": ("wheelbase", 1),
    "c": ("trail", 1),
    "rR": ("r_rear_wheel", 1),
    "mR": ("m_rear_wheel", 1),
    "IRxx": ("ixx_rear_wheel", 1),
    "IRyy": ("iyy_rear_wheel", 1),
    "xB": ("x_frame", 1),
    "zB": ("z_frame", -1),
    "mB": ("m_frame", 1),
    "IBxx": ("ixx_frame", 1),
    "IBzz": ("izz_frame", 1),
    "IBxz": ("ixz_frame", -1),
    "xH": ("x_fork", 1),
    "zH": ("z_fork", -1),
    "mH": ("m_fork", 1),
    "IHxx": ("ixx_fork", 1),
    "IHzz": ("izz_fork", 1),
    "IHxz": ("ixz_fork", -1),
    "rF": ("r_front_wheel", 1),
    "mF": ("m_front_wheel", 1),
    "IFxx": ("ixx_front_wheel", 1),
    "IFyy": ("iyy_front_wheel", 1),
}


def matrices(p: Mapping[str, Any], sine: Any, cosine: Any) -> dict[str, list[list[Any]]]:
    """M, C1, K0, K2 from the paper's parameters."""
    w, c = p["w"], p["c"]
    # (A 1)–(A 6): the whole bicycle
    m_t = p["mR"] + p["mB"] + p["mH"] + p["mF"]
    x_t = (p["xB"] * p["mB"] + p["xH"] * p["mH"] + w * p["mF"]) / m_t
    z_t = (-p["rR"] * p["mR"] + p["zB"] * p["mB"] + p["zH"] * p["mH"] - p["rF"] * p["mF"]) / m_t
    wheels, frames = p["IRxx"] + p["IFxx"], p["IBxx"] + p["IHxx"]
    lifted = p["mR"] * p["rR"] ** 2 + p["mB"] * p["zB"] ** 2 + p["mH"] * p["zH"] ** 2 + p["mF"] * p["rF"] ** 2
    i_txx = wheels + frames + lifted
    i_txz = p["IBxz"] + p["IHxz"] - p["mB"] * p["xB"] * p["zB"] - p["mH"] * p["xH"] * p["zH"] + p["mF"] * w * p["rF"]
    i_tzz = wheels + p["IBzz"] + p["IHzz"] + p["mB"] * p["xB"] ** 2 + p["mH"] * p["xH"] ** 2 + p["mF"] * w**2
    # (A 8)–(A 12): the front assembly
    m_a = p["mH"] + p["mF"]
    x_a = (p["xH"] * p["mH"] + w * p["mF"]) / m_a
    z_a = (p["zH"] * p["mH"] - p["rF"] * p["mF"]) / m_a
    i_axx = p["IHxx"] + p["IFxx"] + p["mH"] * (p["zH"] - z_a) ** 2 + p["mF"] * (p["rF"] + z_a) ** 2
    i_axz = p["IHxz"] - p["mH"] * (p["xH"] - x_a) * (p["zH"] - z_a) + p["mF"] * (w - x_a) * (p["rF"] + z_a)
    i_azz = p["IHzz"] + p["IFxx"] + p["mH"] * (p["xH"] - x_a) ** 2 + p["mF"] * (w - x_a) ** 2
    # (A 13)–(A 19): about the steer axis
    u_a = (x_a - w - c) * cosine - z_a * sine
    i_all = m_a * u_a**2 + i_axx * sine**2 + 2 * i_axz * sine * cosine + i_azz * cosine**2
    i_alx = -m_a * u_a * z_a + i_axx * sine + i_axz * cosine
    i_alz = m_a * u_a * x_a + i_axz * sine + i_azz * cosine
    mu = c / w * cosine
    s_r, s_f = p["IRyy"] / p["rR"], p["IFyy"] / p["rF"]
    s_t, s_a = s_r + s_f, m_a * u_a + mu * m_t * x_t
    # (A 20)–(A 27)
    crossed = i_alx + mu * i_txz
    return {
        "M": [[i_txx, crossed], [crossed, i_all + 2 * mu * i_alz + mu**2 * i_tzz]],
        "C1": [
            [0, mu * s_t + s_f * cosine + i_txz / w * cosine - mu * m_t * z_t],
            [-(mu * s_t + s_f * cosine), i_alz / w * cosine + mu * (s_a + i_tzz / w * cosine)],
        ],
        "K0": [[m_t * z_t, -s_a], [-s_a, -s_a * sine]],
        "K2": [[0, (s_t - m_t * z_t) / w * cosine], [0, (s_a + s_f * sine) / w * cosine]],
    }
