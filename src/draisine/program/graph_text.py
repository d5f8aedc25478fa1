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
        made = _comparison(graph, operation, operands, texts)
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
    if operation == op.ADD and (choice := _choice(graph, operands)) is not None:
        condition, first, second = (_text(graph, o, depth - 1)[0] for o in choice)
        return f"where({condition}, {first}, {second})", _ATOM
    parts = [_text(graph, o, depth - 1) for o in operands]
    if sum(len(text) for text, _ in parts) > _LONGEST:
        raise _TooLong

    def within(k: int, least: int) -> str:
        text, strength = parts[k]
        return text if strength >= least else f"({text})"

    if operation in (op.LT, op.LE):
        return _comparison(graph, operation, operands, [text for text, _ in parts]), _SUM
    if operation == op.IF_ELSE_ZERO:
        return f"where({parts[0][0]}, {parts[1][0]}, 0)", _ATOM
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


def _comparison(graph: Graph, operation: int, operands: tuple[int, ...], texts: list[str]) -> str:
    """A comparison, with a number in the second place."""
    sign = "<" if operation == op.LT else "<="
    if graph.number(operands[0]) is not None:
        return f"{texts[1]} {sign.replace('<', '>')} {texts[0]}"
    return f"{texts[0]} {sign} {texts[1]}"


def _choice(graph: Graph, operands: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Condition and both values, if a sum is one value where the condition holds and the other one elsewhere."""
    first, second = (graph.values[o] for o in operands)
    if first.kind != op.IF_ELSE_ZERO or second.kind != op.IF_ELSE_ZERO:
        return None
    opposite = graph.values[second.operands[0]]
    if opposite.kind != op.NOT or opposite.operands[0] != first.operands[0]:
        return None
    return first.operands[0], first.operands[1], second.operands[1]
