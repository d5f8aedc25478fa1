"""Readable text of switching operations, for messages."""

from __future__ import annotations

import math

from draisine.program import opcodes as op
from draisine.program.graph import Graph
from draisine.program.ssa import CALL, CONSTANT, INPUT

_LONGEST = 60  # characters
_SUM, _PRODUCT, _POWER, _ATOM = range(4)  # precedence
_INFIX = {op.ADD: (" + ", _SUM), op.SUB: (" - ", _SUM), op.MUL: ("*", _PRODUCT), op.DIV: ("/", _PRODUCT)}
_FUNCTIONS = {
    op.FABS: "abs",
    op.FMIN: "min",
    op.FMAX: "max",
    op.LOW: "table",
    op.FMOD: "fmod",
    op.SIGN: "sign",
    op.COPYSIGN: "copysign",
}


class _TooLong(Exception):
    """The text is longer than a message needs."""


def text_of(graph: Graph, operation: int, operands: tuple[int, ...], number: int) -> str:
    """A switching function in the names of the program's slots, or "switch 3" if the text would be long."""
    try:
        parts = [_text(graph, o, 6) for o in operands]
    except _TooLong:
        return f"switch {number + 1}"
    texts = [text for text, _ in parts]
    if operation in (op.LT, op.LE):
        sign = "<" if operation == op.LT else "<="
        number_first = graph.number(operands[0]) is not None
        made = f"{texts[1]} {sign.replace('<', '>')} {texts[0]}" if number_first else f"{texts[0]} {sign} {texts[1]}"
    else:
        made = f"{_FUNCTIONS.get(operation, op.NAMES[operation].lower())}({', '.join(texts)})"
    return made if len(made) <= _LONGEST else f"switch {number + 1}"


def _text(graph: Graph, node: int, depth: int) -> tuple[str, int]:
    operation, operands, detail = graph.values[node]
    if operation == CONSTANT:
        value = float.fromhex(detail)
        return f"{value:.6g}", _SUM if value < 0.0 or not math.isfinite(value) else _ATOM
    if operation == INPUT:
        label = graph.labels.get(detail)
        if label is None:
            raise _TooLong
        return label, _ATOM
    if depth == 0 or operation < 0 or operation in (CALL, op.LOW, op.GETNONZEROS_PARAM):
        raise _TooLong
    parts = [_text(graph, o, depth - 1) for o in operands]
    if sum(len(text) for text, _ in parts) > _LONGEST:
        raise _TooLong

    def within(k: int, least: int) -> str:
        text, strength = parts[k]
        return text if strength >= least else f"({text})"

    if operation in _INFIX:
        sign, level = _INFIX[operation]
        return within(0, level) + sign + within(1, level + 1), level
    if operation == op.NEG:
        return "-" + within(0, _POWER), _SUM
    if operation == op.SQ:
        return within(0, _ATOM) + "**2", _POWER
    if operation == op.TWICE:
        return "2*" + within(0, _PRODUCT), _PRODUCT
    if operation == op.INV:
        return "1/" + within(0, _POWER), _PRODUCT
    if operation in (op.POW, op.CONSTPOW):
        return f"{within(0, _ATOM)}**{within(1, _ATOM)}", _POWER
    name = _FUNCTIONS.get(operation, op.NAMES[operation].lower())
    return f"{name}({', '.join(text for text, _ in parts)})", _ATOM
