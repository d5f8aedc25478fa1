"""Operation codes of tapes.

The numbers are part of the serialized form of programs and must not change; `casadi_functions` maps CasADi's numbers by name.
"""

from __future__ import annotations

from types import MappingProxyType

# fmt: off
_NUMBERED = (
    "ASSIGN", "ADD", "SUB", "MUL", "DIV", "NEG", "EXP", "LOG", "POW", "CONSTPOW", "SQRT", "SQ", "TWICE",
    "SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "LT", "LE", "EQ", "NE", "NOT", "AND", "OR", "FLOOR", "CEIL",
    "FMOD", "FABS", "SIGN", "COPYSIGN", "IF_ELSE_ZERO", "ERF", "FMIN", "FMAX", "INV", "SINH", "COSH", "TANH",
    "ASINH", "ACOSH", "ATANH", "ATAN2", "CONST", "INPUT", "OUTPUT", "CALL", "LOW", "GETNONZEROS_PARAM",
    "ERFINV", "PRINTME", "LIFT", "LOG1P", "EXPM1", "HYPOT", "REMAINDER",
)
# fmt: on
NUMBERS = MappingProxyType(dict(zip(_NUMBERED, range(len(_NUMBERED)), strict=True)))
NAMES = MappingProxyType(dict(enumerate(_NUMBERED)))

ASSIGN, ADD, SUB, MUL, DIV, NEG, EXP, LOG, POW, CONSTPOW, SQRT, SQ, TWICE = range(13)
SIN, COS, TAN, ASIN, ACOS, ATAN, LT, LE, EQ, NE, NOT, AND, OR, FLOOR, CEIL = range(13, 28)
FMOD, FABS, SIGN, COPYSIGN, IF_ELSE_ZERO, ERF, FMIN, FMAX, INV, SINH, COSH, TANH = range(28, 40)
ASINH, ACOSH, ATANH, ATAN2, CONST, INPUT, OUTPUT, CALL, LOW, GETNONZEROS_PARAM = range(40, 50)
ERFINV, PRINTME, LIFT, LOG1P, EXPM1, HYPOT, REMAINDER = range(50, 57)

PLUMBING = frozenset({INPUT, OUTPUT, CONST})  # not counted as operations
COPIES = frozenset({ASSIGN, LIFT, PRINTME})
COMPARISONS = frozenset({LT, LE})
SWITCHING = COMPARISONS | {FABS, SIGN, COPYSIGN, FMIN, FMAX, FLOOR, CEIL, FMOD, REMAINDER, LOW}  # value or slope can jump
