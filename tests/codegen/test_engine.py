"""Text of intermediate code to an address in this process."""

from __future__ import annotations

import ctypes
import gc
import math

import pytest

from draisine.codegen.jit import engine
from draisine.codegen.jit.engine import (
    KERNEL_LEVEL,
    MATHEMATICS,
    compile_ir,
    compile_kernel,
    kernel_key,
    kernel_level,
    load_kernel,
    load_object,
)
from draisine.errors import ArgumentError, CompilationError

CALL = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)


def text(factor: str) -> str:
    return f"define double @f(double %x) {{\n%y = fmul double %x, {factor}\nret double %y\n}}"


def test_many_objects_with_the_same_symbol_live_side_by_side():
    loaded = [load_object(compile_ir(text(f"{k}.0")), "f") for k in range(40)]
    assert [CALL(one.address)(2.0) for one in loaded] == [2.0 * k for k in range(40)]


def test_code_may_go_and_others_stay():
    stays = load_object(compile_ir(text("3.0")), "f")
    for _ in range(30):
        load_object(compile_ir(text("5.0")), "f")
    gc.collect()
    assert CALL(stays.address)(2.0) == 6.0


def test_every_level_gives_code():
    for level in (0, 1, 2, 3):
        loaded = load_object(compile_ir(text("2.0"), level), "f")
        assert CALL(loaded.address)(4.0) == 8.0


def test_the_level_of_kernels_is_a_setting_and_in_their_key(monkeypatch):
    assert kernel_level() == KERNEL_LEVEL == 1
    keys, codes = {kernel_key()}, set()
    for level in ("0", "2"):
        monkeypatch.setenv("DRAISINE_KERNEL_LEVEL", level)
        assert kernel_level() == int(level)
        keys.add(kernel_key())
        codes.add(compile_kernel(text("2.0")))
    assert len(keys) == 3 and len(codes) == 2
    monkeypatch.setenv("DRAISINE_KERNEL_LEVEL", "fast")
    with pytest.raises(ArgumentError, match="DRAISINE_KERNEL_LEVEL is 'fast', but"):
        kernel_key()


@pytest.mark.parametrize("name", ["sin", "tan", "asinh", "erf", "log1p", "expm1", "atanh"])
def test_mathematical_functions_are_found(name):
    assert name in MATHEMATICS
    code = (
        f"declare double @{name}(double)\ndefine double @f(double %x) {{\n%y = call double @{name}(double %x)\nret double %y\n}}"
    )
    loaded = load_object(compile_ir(code), "f")
    assert CALL(loaded.address)(0.3) == pytest.approx(getattr(math, name)(0.3), rel=1e-15)


def test_complaints():
    with pytest.raises(CompilationError, match=r"does not accept(.|\n)*%z"):
        compile_ir("define double @f(double %x) {\n%y = fadd double %x, %z\nret double %y\n}")
    with pytest.raises(CompilationError, match="'g' cannot be linked"):
        load_object(compile_ir(text("2.0")), "g")


def test_equal_kernels_are_linked_once():
    """While their code is among the last; other addresses make other code, and long code goes with its kernel."""
    calling = (
        "declare double @other(double)\ndefine double @f(double %x) {\n%y = call double @other(double %x)\nret double %y\n}\n"
    )
    pair = [load_object(compile_ir(text(number)), "f") for number in ("2.0", "3.0")]
    code = compile_ir(calling)
    one, again, other = (load_kernel(code, "f", using={"other": pair[k].address}) for k in (0, 0, 1))
    assert one is again and one is not other
    assert [CALL(made.address)(7.0) for made in (one, other)] == [14.0, 21.0]
    long = code + bytes(engine._KEPT_BYTES)
    assert load_kernel(long, "f", using={"other": pair[0].address}) is not load_kernel(
        long, "f", using={"other": pair[0].address}
    )
