"""Restricted Python: interpreted and compiled functions give the same bits; records have one layout; errors name their cause."""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import math
import random
import struct
import sys
from pathlib import Path

import casadi as ca
import llvmlite.binding as llvm
import numpy as np
import pytest

from codegen import restricted_functions as f
from codegen.compiling import compiled
from draisine.codegen.jit.kernel import compile
from draisine.codegen.restricted.function import parameter_types, translate
from draisine.codegen.restricted.types import Record
from draisine.codegen.restricted.unit import Options
from draisine.program.program import Program
from draisine.simulation.stepper import loop
from draisine.simulation.stepper.memory import EXPLICIT

REALS = [0.0, -0.0, 1.0, -2.5, 3.0, 1e-320, 1e100, math.inf, -math.inf, math.nan]
INTEGERS = [0, 1, -1, 2, -3, 7, -8, 100, 1234567]


def bits(value: object) -> object:
    """All of a number, but for what kind of NaN it is."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("<d", value)
    return int(value)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["comparisons", "extremes", "functions", "arithmetic", "whole_extremes", "tuples"])
def test_numbers(name: str) -> None:
    function = getattr(f, name)
    run, kinds = compiled(function), [INTEGERS if str(t) == "int" else REALS for t in parameter_types(function)]
    for given in itertools.product(*kinds):
        with np.errstate(all="ignore"):
            assert bits(run(*given)) == bits(function(*given)), given


@pytest.mark.parametrize("name", ["quotients_of_constants", "loops", "early", "endless"])
def test_integers(name: str) -> None:
    run, function = compiled(getattr(f, name)), getattr(f, name)
    for n in range(-9, 20):
        assert run(n) == function(n), n


def test_quotients_round_down_and_never_trap() -> None:
    run = compiled(f.quotients)
    for a, b in itertools.product(INTEGERS, INTEGERS):
        assert run(a, b) == (f.quotients(a, b) if b else a * 0), (a, b)
    assert run(-(2**63), -1) == ctypes.c_int64(1000003 * 2**63).value


def test_powers_and_library_functions() -> None:
    run = compiled(f.powers)
    for a, b in itertools.product([0.3, -2.0, 17.5], [0.0, 0.5, -1.25, 3.0]):
        assert run(a, b) == pytest.approx(f.powers(a, b), rel=1e-15)


def test_whole_numbers_of_real_ones() -> None:
    run = compiled(f.rounded)
    for a in (0.0, 0.5, -0.5, 2.0, -7.3, 1e15 + 0.5):
        assert run(a) == f.rounded(a)
    run(math.inf), run(math.nan)  # no number, and no trap


def test_complex_numbers() -> None:
    product, generic = compiled(f.complex_product), compiled(f.generic)
    values = [1 + 2j, -0.5 + 0.25j, 3.0 - 1e-3j]
    for a, b, c in itertools.product(values, values, [0.5, -2.0]):
        assert product(a, b, c) == f.complex_product(a, b, c)
        assert generic(c, a) == f.generic(c, a)


# ------------------------------------------------------------------------------------------------------------- records


def outer() -> f.Outer:
    rng = np.random.default_rng(3)
    s = f.Outer()
    s.n, s.kernel = 4, 0
    s.x, s.a, s.cube = rng.normal(size=5), rng.normal(size=(2, 3)), rng.normal(size=(2, 2, 2))
    s.places, s.table = rng.integers(-9, 9, 4), rng.integers(-9, 9, (2, 2))
    s.short = rng.integers(-9, 9, 3).astype(np.int32)
    s.z = rng.normal(size=2) + 1j * rng.normal(size=2)
    s.zz = rng.normal(size=(2, 2, 2)) + 1j * rng.normal(size=(2, 2, 2))
    made = [f.Inner() for _ in range(4)]
    for k, inner in enumerate(made):
        inner.count, inner.scale, inner.values = k, 1.5 + k, rng.normal(size=2)
    s.inner, s.many = made[3], made[:3]
    return s


def everything(record: Record) -> dict[str, object]:
    """All that a record holds, of arrays what the memory at its pointers holds."""
    found: dict[str, object] = {}
    for name, field in record.__fields__.items():
        value = getattr(record, name)
        if isinstance(value, Record):
            found[name] = everything(value)
        elif isinstance(value, list):
            found[name] = [everything(one) for one in value]
        elif isinstance(value, np.ndarray):
            at, *shape = (getattr(record, part) for part in field.hidden)
            assert tuple(shape) == value.shape
            found[name] = ctypes.string_at(at, value.nbytes)
        else:
            found[name] = value
    return found


@pytest.mark.parametrize("name", ["arrays", "records"])
def test_records_and_arrays(name: str) -> None:
    one, other = outer(), outer()
    assert compiled(getattr(f, name))(one) == getattr(f, name)(other)
    if name == "records":  # Python does not see arrays that compiled code gives to fields; they are at their pointers
        for record in (one.inner, one):
            for array in ("values", "x"):
                if array in record.__fields__:
                    setattr(record, array, getattr(other.inner if array == "values" else other, array))
    assert everything(one) == everything(other)


def test_compiled_code_gives_arrays_to_fields() -> None:
    s = outer()
    compiled(f.records)(s)
    at, length = (getattr(s.inner, part) for part in f.Inner.__fields__["values"].hidden)
    assert (at, length) == (s.a[1].ctypes.data, 3)


def test_kernels_are_called_with_arrays() -> None:
    x, a = ca.SX.sym("x", 5), ca.SX.sym("a", 3)
    kernel = compile(Program.build("sum", {"x": x, "a": a}, {"y": a * x[1] + x[2]}))
    one, other = outer(), outer()
    one.kernel = other.kernel = kernel.address
    assert compiled(f.with_kernel)(one) == f.with_kernel(other)
    assert everything(one) == everything(other)


def test_arrays_side_by_side() -> None:
    s = outer()
    s.allocate({"x": (3,), "a": (2, 2), "places": (4,), "z": (2,), "short": (3,)})
    at = {name: getattr(s, s.__fields__[name].hidden[0]) for name in ("x", "a", "places", "z", "short")}
    assert np.diff(list(at.values())).tolist() == [24, 32, 32, 32]
    assert s.a.shape == (2, 2) and s.places.dtype == np.int64 and s.z.dtype == np.complex128 and not s.x.any()
    s.a[1, 1] = 3.0
    assert s.duplicate().a[1, 1] == 3.0
    with pytest.raises(AttributeError, match="record Inner: 'values' is not a field, or not assigned"):
        f.Inner().values  # noqa: B018


def test_an_array_of_another_kind_is_refused() -> None:
    with pytest.raises(TypeError, match="field 'x' is a C-contiguous array of float, not one of int64 with 1 axes"):
        f.Outer().x = np.arange(3)
    with pytest.raises(TypeError, match="float64 with 1 axes and gaps"):
        f.Outer().x = np.zeros(6)[::2]


def test_what_is_decided_beforehand_is_not_computed() -> None:
    run = compiled(f.short_circuit)
    for values in ([], [0.6, 0.9], [0.3, 0.9], [0.1, 0.7]):
        x = np.array(values)
        assert run(x, len(x)) == f.short_circuit(x, len(x))
    s = outer()
    s.n, s.last = 0, 1
    assert compiled(f.specialized, options=Options({(f.Outer, "n"): 0}))(s) == 5
    with pytest.raises(SyntaxError, match="gamma"):
        compiled(f.specialized)


# -------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "unknown_function",
            r"restricted_functions.py, line \d+, function 'unknown_function': 'math.gamma\(a\)' is not restricted Python",
        ),
        ("changing_type", "'x' is int and cannot become float"),
        ("truth_of_number", "a condition must be bool; compare this int with something"),
        ("no_result", "it can end without returning its int"),
        ("lists", "this expression is not supported"),
        ("unknown_field", "record Outer has no field 'missing'"),
        ("wrong_argument", "'early' takes int as 'n', not float"),
        ("negative_index", "an index must be an integer that is not negative"),
        ("unset", "'k' is not defined"),
        ("keyword", "arguments must be positional"),
    ],
)
def test_what_is_beyond_the_language_is_named(name: str, message: str) -> None:
    with pytest.raises(SyntaxError, match=message):
        compiled(getattr(f, name))


def test_types_must_be_said() -> None:
    with pytest.raises(TypeError, match="'no_annotation' has no annotation for 'n'"):
        compiled(f.no_annotation)
    with pytest.raises(TypeError, match="is generic in 'values'"):
        compiled(f.scale_all)
    with pytest.raises(TypeError, match="returns tuple of float, int; an exported function"):
        compiled(f.both)


# -------------------------------------------------------------------------------------------------------------- random


def _expression(rng: random.Random, depth: int, kind: str) -> str:
    """A random expression of ints or floats that cannot raise."""
    if depth == 0:
        return rng.choice(
            ["i", "j", "n", str(rng.randint(-3, 9))] if kind == "int" else ["a", "b", "x[i % 5]", f"{rng.uniform(-2, 2):.3f}"]
        )
    one, other = (_expression(rng, depth - 1, kind) for _ in range(2))
    test = _condition(rng, depth - 1)
    if kind == "int":
        return rng.choice(
            [
                f"({one} + {other})",
                f"({one} - {other})",
                f"({one} * {rng.randint(-2, 2)})",
                f"({one} // {rng.choice([2, 3, -5])})",
            ]
            + [f"({one} % {rng.choice([7, -4, 16])})", f"max({one}, {other})", f"({one} if {test} else {other})", f"abs({one})"]
        )
    return rng.choice(
        [f"({one} + {other})", f"({one} - {other})", f"({one} * {other})", f"(-{one})", f"min({one}, {other})"]
        + [
            f"({one} if {test} else {other})",
            f"abs({one})",
            f"math.sqrt(abs({one}))",
            f"math.copysign({one}, {other})",
            f"({one} / 3)",
        ]
    )


def _condition(rng: random.Random, depth: int) -> str:
    kind = rng.choice(["int", "float"])
    one, other = (_expression(rng, max(depth - 1, 0), kind) for _ in range(2))
    simple = f"{one} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {other}"
    return rng.choice([simple, f"not {simple}", f"({simple} and i < j)", f"({simple} or a < b)"])


def _statements(rng: random.Random, depth: int, indent: str) -> list[str]:
    lines = []
    for _ in range(rng.randint(1, 3)):
        match rng.randint(0, 5 if depth else 2):
            case 0:
                lines.append(f"{indent}{rng.choice('ij')} = {_expression(rng, 2, 'int')} % 1000")
            case 1:
                lines.append(f"{indent}{rng.choice('ab')} = {_expression(rng, 2, 'float')}")
            case 2:
                index, word = f"{_expression(rng, 1, 'int')} % 5", rng.choice(["=", "+=", "-=", "*="])
                lines.append(f"{indent}x[{index}] {word} {_expression(rng, 2, 'float')}")
            case 3:
                lines += [f"{indent}if {_condition(rng, 2)}:", *_statements(rng, depth - 1, indent + "    ")]
                lines += [f"{indent}else:", *_statements(rng, depth - 1, indent + "    ")]
            case 4:
                lines += [f"{indent}for k{depth} in range({_expression(rng, 1, 'int')} % 6):"]
                lines += _statements(rng, depth - 1, indent + "    ")
                if rng.random() < 0.3:
                    lines += [f"{indent}    if {_condition(rng, 1)}:", f"{indent}        {rng.choice(['break', 'continue'])}"]
            case 5:
                lines += [f"{indent}if {_condition(rng, 2)}:", f"{indent}    return {_expression(rng, 2, 'float')}"]
    return lines


def _random_module(rng: random.Random, count: int) -> str:
    lines = ["from __future__ import annotations", "import math", "from draisine.codegen.restricted.types import Vector", ""]
    for k in range(count):
        lines += [f"def f{k}(n: int, i: int, j: int, a: float, b: float, x: Vector) -> float:", *_statements(rng, 3, "    ")]
        lines += [f"    return {_expression(rng, 3, 'float')}", ""]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(4))
def test_random_functions(seed: int, tmp_path: Path) -> None:
    """Interpreted and compiled, with and without LLVM's passes, to the bit."""
    rng, name = random.Random(seed), f"restricted_random_{seed}"
    path = tmp_path / f"{name}.py"
    path.write_text(_random_module(rng, 12))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for k in range(12):
        function = getattr(module, f"f{k}")
        ways = [compiled(function, passes=passes) for passes in (0, 3)]
        for _ in range(20):
            given = [rng.randint(-9, 9) for _ in range(3)] + [rng.uniform(-3, 3) for _ in range(2)]
            expected = np.array([rng.uniform(-2, 2) for _ in range(5)])
            starts = [expected.copy() for _ in ways]
            with np.errstate(all="ignore"):
                result = float(function(*given, expected))
            for way, x in zip(ways, starts, strict=True):
                assert bits(way(*given, x)) == bits(result), (k, given)
                assert [bits(float(v)) for v in x] == [bits(float(v)) for v in expected], (k, given)


def test_only_what_is_called_is_there() -> None:
    made = translate({"entry": (f.tuples, parameter_types(f.tuples))})
    assert made.text.count("define ") == 3  # the entry, `tuples` and `both`
    assert made.modules == {"codegen.restricted_functions"}


@pytest.mark.parametrize(
    "triple", ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "arm64-apple-darwin", "x86_64-pc-windows-msvc"]
)
def test_the_text_is_of_no_machine(triple: str) -> None:
    """The stepping loop of explicit methods compiles for every platform, from one text without vectors or a target."""
    text = translate({"entry": (loop.advance, parameter_types(loop.advance))}, Options(EXPLICIT)).text
    assert "target " not in text and " x double>" not in text
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(opt=0)
    module = llvm.parse_assembly(text)
    module.verify()
    assert len(machine.emit_object(module)) > 10_000
