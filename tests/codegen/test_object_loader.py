"""The loader of object code against LLVM's linker, bit for bit; what it refuses goes to LLVM."""

from __future__ import annotations

import ctypes
import json
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import draisine as dr
from draisine.codegen.host import host
from draisine.codegen.jit import engine, executable_memory, object_loader
from draisine.codegen.jit.engine import compile_ir, link_by_llvm, load_object
from draisine.codegen.jit.executable_memory import ExecutableMemory
from draisine.codegen.jit.kernel import compiler
from draisine.codegen.jit.object_loader import FORMULAS, load
from draisine.codegen.jit.solvers import solvers
from draisine.errors import CompilationError, ObjectCodeError
from draisine.gallery import models
from draisine.program.equations import Equations
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import Program

pytestmark = pytest.mark.skipif(not object_loader.is_supported(), reason="the loader is that of x86-64 under Linux")

ONE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
FLAT = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
SYMBOLS = ("kernel", "kernel_map", "kernel_flat")
CALLING = """
declare double @sin(double)
declare double @atan2(double, double)
declare double @other(double)
declare ptr @memset(ptr, i32, i64)
define double @f(double %x) nounwind {
  %room = alloca [32 x double]
  call ptr @memset(ptr %room, i32 0, i64 256)
  %at = getelementptr double, ptr %room, i64 17
  %zero = load double, ptr %at
  %s = call double @sin(double %x)
  %a = call double @atan2(double %s, double 3.0)
  %o = call double @other(double %a)
  %y = fadd double %o, %zero
  ret double %y
}
define double @g(double %x) nounwind {
  %y = call double @f(double %x)
  %z = fmul double %y, 1.1
  ret double %z
}
"""


@ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
def other(x: float) -> float:
    return 2.0 * x - 1.0


USING = {"other": ctypes.cast(other, ctypes.c_void_p).value or 0}


def compiled_for(text: str, code_model: str, reloc: str = "pic", level: int = 2) -> bytes:
    """Object code of another code model than the one that is used."""
    engine._machine(2)  # initializes the target
    machine = llvm.Target.from_triple(host().triple).create_target_machine(
        cpu=host().processor, features=host().features, opt=level, reloc=reloc, codemodel=code_model
    )
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return bytes(machine.emit_object(module))


def value_at_zero(data: bytes) -> float:
    """The function of `CALLING`, by whatever links it; its code lives as long as the loaded object."""
    loaded = load_object(data, "f", using=USING)
    return float(ONE(loaded.address)(0.0))


def kinds_of(data: bytes) -> set[int]:
    """The kinds of relocations, by a second reading of the file: sections of type 4 have records of 24 bytes."""
    (begin,), (count,) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<H", data, 60)
    found = set()
    for k in range(count):
        kind, _, _, offset, size = struct.unpack_from("<IQQQQ", data, begin + 64 * k + 4)
        if kind == 4:
            found |= {struct.unpack_from("<I", data, at + 8)[0] for at in range(offset, offset + size, 24)}
    return found


# ---------------------------------------------------------------- against LLVM's linker


def programs(name: str) -> Iterator[Program | LinearSolveProgram]:
    model = dr.gallery.model(name)
    equations = model if isinstance(model, Equations) else dr.derive(model)
    for program in (equations.dynamics, equations.report, equations.motion, equations.project, equations.inverse_dynamics):
        if isinstance(program, Program | LinearSolveProgram):
            yield program


def require_same_bits(name: str) -> None:
    """Both links of every kernel of a model, on random arguments: as flat calls and over batches."""
    random = np.random.default_rng(1)
    for program in programs(name):
        data, using = compiler(program)(), solvers() if isinstance(program, LinearSolveProgram) else {}
        ways = [load(data, SYMBOLS, using), link_by_llvm(data, SYMBOLS, using)]
        count, results = sum(slot.size for slot in program.inputs), sum(slot.size for slot in program.outputs)
        for _ in range(5):
            given = random.normal(size=count)
            memories = [np.concatenate([given, np.zeros(results)]) for _ in ways]
            for way, memory in zip(ways, memories, strict=True):
                FLAT(int(way["kernel_flat"]))(memory.ctypes.data)
            assert memories[0].tobytes() == memories[1].tobytes(), (name, program.name)
            assert results == 0 or np.any(memories[0][count:]), (name, program.name)


@pytest.mark.parametrize("name", ["bicycle", "four_bar", "wheel_on_waves", "car_on_tires"])
def test_kernels_have_the_same_bits(name: str) -> None:
    require_same_bits(name)


@pytest.mark.further
@pytest.mark.parametrize("name", models())
def test_all_kernels_of_the_gallery_have_the_same_bits(name: str) -> None:
    require_same_bits(name)


RUN = """
import hashlib, json, sys
from draisine.codegen.jit import object_loader
import draisine as dr
def refuse(*given):
    raise dr.errors.ObjectCodeError("everything")
if sys.argv[1] == "LLVM":
    object_loader.load = refuse
run = dr.simulate(dr.gallery.bicycle(), 2.0, start={"speed": 4.6, "roll_rate": 0.5})
digest = hashlib.sha256(b"".join(run[name].tobytes() for name in run.final)).hexdigest()
print(json.dumps({"digest": digest, "llvmlite": "llvmlite" in sys.modules}))
"""


def test_a_run_has_the_same_bits_and_a_known_model_loads_no_llvm() -> None:
    """Start solver and stepping loop too. The second process finds everything on disk."""

    def reported(linker: str) -> dict[str, object]:
        printed = subprocess.run([sys.executable, "-c", RUN, linker], capture_output=True, text=True, check=True).stdout
        return dict(json.loads(printed))

    first, own, by_llvm = reported("own"), reported("own"), reported("LLVM")
    assert first["digest"] == own["digest"] == by_llvm["digest"]
    assert not own["llvmlite"] and by_llvm["llvmlite"]


# ---------------------------------------------------------------- relocations


@pytest.mark.parametrize(
    ("code_model", "reloc", "kinds"),
    [("small", "pic", {2, 4}), ("jitdefault", "pic", {25, 27, 29}), ("large", "static", {1}), ("large", "pic", {25, 27, 29})],
)
def test_code_models(code_model: str, reloc: str, kinds: set[int]) -> None:
    """Constants, functions of the C library and of this process, and calls between functions of an object."""
    data = compiled_for(CALLING, code_model, reloc)
    assert kinds <= kinds_of(data) <= set(FORMULAS)
    ways = load(data, ("f", "g"), USING), link_by_llvm(data, ("f", "g"), USING)
    for symbol in ("f", "g"):
        own, by_llvm = (ONE(int(way[symbol])) for way in ways)
        for x in np.random.default_rng(2).normal(size=20):
            assert own(x) == by_llvm(x)
            exact = 2.0 * np.arctan2(np.sin(x), 3.0) - 1.0
            assert own(x) == pytest.approx(exact * (1.1 if symbol == "g" else 1.0), rel=1e-15)


def test_the_offset_table_is_read_as_it_is() -> None:
    """Instructions that a static linker may relax, with and without the prefix REX: a call through the table, a variable."""
    text = """
    @there = external global double
    declare double @other(double) nonlazybind
    define double @f(double %x) nounwind {
      %c = load double, ptr @there
      %o = call double @other(double %x)
      %y = fadd double %o, %c
      ret double %y
    }"""
    data = compiled_for(text, "small")
    assert {41, 42} <= kinds_of(data) <= set(FORMULAS)
    there = ctypes.c_double(0.25)
    using = USING | {"there": ctypes.addressof(there)}
    ways = load(data, ("f",), using), link_by_llvm(data, ("f",), using)
    assert [ONE(int(way["f"]))(3.0) for way in ways] == [5.25, 5.25]


def test_every_formula_is_tested() -> None:
    assert set(FORMULAS) == {1, 2, 4, 25, 27, 29, 41, 42}


def test_functions_are_those_that_llvm_finds() -> None:
    for name in (*engine.MATHEMATICS, *engine.MEMORY, "memcpy", "memset", "memmove", "sincos"):
        assert object_loader._address(name, {}) == llvm.address_of_symbol(name), name
    assert object_loader._address("sin", {"sin": 17}) == 17  # what is given comes first


def test_a_relocation_that_is_not_known_goes_to_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    data = compile_ir(CALLING)
    kind = max(kinds_of(data))
    monkeypatch.delitem(FORMULAS, kind)
    with pytest.raises(ObjectCodeError, match=f"kind {kind}"):
        load(data, ("f",), USING)
    assert value_at_zero(data) == -1.0
    assert not isinstance(load_object(data, "f", using=USING).linked, object_loader.LoadedCode)


def test_a_place_that_is_too_far_is_refused() -> None:
    """A variable that is reached by 32 bits must be near, which those of the process are not."""
    data = compiled_for(
        "@there = external dso_local global double\ndefine double @f(double %x) nounwind {\n"
        "%c = load double, ptr @there\nret double %c\n}",
        "small",
    )
    assert kinds_of(data) == {2}
    with pytest.raises(ObjectCodeError, match="too far"):
        load(data, ("f",), {"there": 8})


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "global_variable",
    ["@kept = internal global double 3.0", "@kept = internal global double 0.0", "@kept = thread_local global double 0.0"],
)
def test_memory_of_its_own_goes_to_llvm(global_variable: str) -> None:
    text = f"""{global_variable}
    define double @f(double %x) nounwind {{
      %c = load double, ptr @kept
      store double %x, ptr @kept
      ret double %c
    }}"""
    data = compile_ir(text)
    with pytest.raises(ObjectCodeError):
        load(data, ("f",), {})
    if "thread_local" not in global_variable:
        loaded = load_object(data, "f")  # the code lives as long as this
        run = ONE(loaded.address)
        assert [run(x) for x in (1.0, 2.0, 4.0)][1:] == [1.0, 2.0]


def test_unknown_symbols_are_refused() -> None:
    data = compile_ir(CALLING)
    with pytest.raises(ObjectCodeError, match="no function 'other'"):
        load(data, ("f",), {})
    with pytest.raises(ObjectCodeError, match="does not define h"):
        load(data, ("f", "h"), USING)
    with pytest.raises(CompilationError, match="'h' cannot be linked"):
        load_object(data, "h", using=USING)


def test_damaged_files_are_refused() -> None:
    """The cache refuses them before, by their checksum; here nothing is read or written outside of the file and the memory."""
    data = compile_ir(CALLING)
    for length in [0, 3, 40, 63, *range(64, len(data), 97), len(data) - 1]:
        with pytest.raises(ObjectCodeError):
            load(data[:length], ("f",), USING)
    for other_format in (b"MZ" + data[2:], data[:4] + b"\x01" + data[5:], data[:18] + b"\xb7\x00" + data[20:]):  # of AArch64
        with pytest.raises(ObjectCodeError, match="no relocatable ELF file of x86-64"):
            load(other_format, ("f",), USING)
    random = np.random.default_rng(3)
    for _ in range(300):
        wrong = bytearray(data)
        wrong[random.integers(len(data))] ^= 1 << int(random.integers(8))
        try:
            load(bytes(wrong), ("f",), USING)  # loaded, but not called: the code itself may be wrong
        except ObjectCodeError:
            continue


def test_other_platforms_are_left_to_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    data = compile_ir(CALLING)
    monkeypatch.setattr(object_loader, "is_supported", lambda: False)
    with pytest.raises(ObjectCodeError, match="platform"):
        load(data, ("f",), USING)
    assert value_at_zero(data) == -1.0


# ---------------------------------------------------------------- memory


def protection(address: int) -> str:
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end, rights = re.match(r"(\w+)-(\w+) (\S+)", line).groups()  # type: ignore[union-attr]
        if int(begin, 16) <= address < int(end, 16):
            return rights
    return "none"


def test_memory_is_never_writable_and_executable() -> None:
    memory = ExecutableMemory(100)
    assert protection(memory.address) == "rw-p"
    memory.buffer[:1] = b"\xc3"  # ret
    memory.seal()
    assert protection(memory.address) == "r-xp"
    FLAT(memory.address)(0)
    loaded = load_object(compile_ir(CALLING), "f", using=USING)
    assert protection(loaded.address) == "r-xp"


def test_where_memory_may_not_be_executed_llvm_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(memory: ExecutableMemory) -> None:
        raise PermissionError(13, "memory cannot be made executable")

    monkeypatch.setattr(executable_memory.ExecutableMemory, "seal", forbidden)
    data = compile_ir(CALLING)
    with pytest.raises(ObjectCodeError, match="cannot be made executable"):
        load(data, ("f",), USING)
    assert value_at_zero(data) == -1.0


def mappings() -> int:
    return Path("/proc/self/maps").read_text().count("\n")


def test_memory_goes_with_the_code() -> None:
    data = compile_ir(CALLING)
    before = mappings()
    kept = [load(data, ("f",), USING) for _ in range(200)]
    assert ONE(kept[77]["f"])(0.0) == -1.0
    del kept
    assert mappings() < before + 50
