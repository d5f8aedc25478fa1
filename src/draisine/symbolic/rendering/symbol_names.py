"""Names of a model as they are set in print: Greek letters, subscripts, dots for rates; words stay words."""

from __future__ import annotations

import re

GREEK = frozenset(
    (
        *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi"),
        *("rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
        *("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega"),
    )
)
_LETTER = re.compile(rf"([A-Za-z]|{'|'.join(sorted(GREEK, key=len, reverse=True))})(\d*)")


def latex_name(name: str) -> str:
    r"""LaTeX for a name.

    >>> print(latex_name("theta"), latex_name("m_rear_wheel"), latex_name("q1"), latex_name("rear_wheel_angle"))
    \theta m_{\mathrm{rear\,wheel}} q_{1} \mathrm{rear\,wheel\,angle}
    """
    head, *rest = [part for part in name.split("_") if part] or [name]
    letter = _LETTER.fullmatch(head)
    if letter is None:
        return _words([head, *rest])
    below = [part for part in (letter[2], _subscript(rest)) if part]
    return _symbol(letter[1]) + (f"_{{{','.join(below)}}}" if below else "")


def dotted(name: str, times: int = 1) -> str:
    r"""LaTeX for the rate of a name, the dot on its letter.

    >>> print(dotted("theta_rear"), dotted("lean", 2))
    \dot{\theta}_{\mathrm{rear}} \ddot{\mathrm{lean}}
    """
    whole = latex_name(name)
    letter, sign, below = whole.partition("_{")
    accent = "dot" if times == 1 else "ddot"
    return rf"\{accent}{{{letter}}}{sign}{below}"


def _symbol(letter: str) -> str:
    return f"\\{letter}" if letter in GREEK else letter


def _subscript(parts: list[str]) -> str:
    if not parts:
        return ""
    if all(len(part) == 1 or part in GREEK or part.isdigit() for part in parts):
        return ",".join(_symbol(part) for part in parts)
    return _words(parts)


def _words(parts: list[str]) -> str:
    return r"\mathrm{" + r"\,".join(parts) + "}"
