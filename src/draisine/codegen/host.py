"""The machine for which code is compiled: its processor, and the version of LLVM; part of the keys of stored code.

LLVM finds out what the processor can do, but a process that finds its code on disk shall not load LLVM for that. What LLVM said
is therefore stored, under a key from which it follows: the library's file, and the answers of the instructions CPUID and XGETBV
from which LLVM concludes (`getHostCPUName` and `getHostCPUFeatures` in `llvm/lib/TargetParser/Host.cpp`). Another processor,
another virtual machine or another llvmlite has another key, and LLVM is asked anew.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from draisine.codegen.cache import is_stored, kept_object
from draisine.codegen.jit.executable_memory import ExecutableMemory, is_supported
from draisine.errors import ArgumentError

_LANES_VARIABLE = "DRAISINE_LANES"

# void cpuid(uint32_t registers[4]): leaf and subleaf in the first two; all four are the answer. System V calling convention.
_CPUID = bytes.fromhex(
    "53"  # push rbx
    "8b07"  # mov eax, [rdi]
    "8b4f04"  # mov ecx, [rdi + 4]
    "0fa2"  # cpuid
    "8907"  # mov [rdi], eax
    "895f04"  # mov [rdi + 4], ebx
    "894f08"  # mov [rdi + 8], ecx
    "89570c"  # mov [rdi + 12], edx
    "5b"  # pop rbx
    "c3"  # ret
)
# void xgetbv(uint32_t registers[4]): the extended control register 0, which registers the system saves
_XGETBV = bytes.fromhex(
    "31c9"  # xor ecx, ecx
    "0f01d0"  # xgetbv
    "8907"  # mov [rdi], eax
    "895704"  # mov [rdi + 4], edx
    "c3"  # ret
)
_EAX, _EBX, _ECX, _EDX = range(4)
_ALL = (_EAX, _EBX, _ECX, _EDX)
# What is read: leaf, subleaf, registers. Others of these registers differ between the cores of a processor, or are sizes.
_LEAVES = (
    *((0x0, 0, _ALL), (0x1, 0, (_EAX, _ECX, _EDX)), (0x7, 0, _ALL), (0x7, 1, _ALL), (0x7, 2, _ALL), (0xD, 1, (_EAX,))),
    *((0x14, 0, (_EAX, _EBX, _ECX)), (0x19, 0, _ALL), (0x1E, 1, (_EAX,)), (0x24, 0, _ALL), (0x29, 0, _ALL)),
    *((0x80000000, 0, (_EAX,)), (0x80000001, 0, (_EAX, _ECX, _EDX)), (0x80000008, 0, (_EBX,)), (0x80000021, 0, (_EAX,))),
)
_SAVES_EXTENDED = 1 << 27  # OSXSAVE in ECX of leaf 1: XGETBV may be called


class Host(NamedTuple):
    """What object code depends on besides its text."""

    versions: str  # of llvmlite and LLVM
    triple: str
    processor: str
    features: str  # as LLVM writes them: +avx,-avx512f,…

    def has(self, *features: str) -> bool:
        """Whether the processor has all of these."""
        return {f"+{name}" for name in features} <= set(self.features.split(","))


def host_key() -> str:
    """The properties of this machine on which object code depends."""
    return f"{'; '.join(host())}; {sys.maxsize.bit_length() + 1} bit"


@cache
def host() -> Host:
    """This machine, as LLVM describes it."""
    evidence = _evidence()
    if evidence is None:
        return _from_llvm()
    return Host(*kept_object(_key(evidence), lambda: "\n".join(_from_llvm()).encode()).decode().split("\n"))


def is_host_known() -> bool:
    """Whether `host` need not load LLVM, or must in every process."""
    evidence = None if host.cache_info().currsize else _evidence()
    return evidence is None or is_stored(_key(evidence))


def _key(evidence: str) -> str:
    return f"host; {evidence}"


def _from_llvm() -> Host:
    import llvmlite
    import llvmlite.binding as llvm

    versions = f"llvmlite {llvmlite.__version__}; LLVM {'.'.join(str(part) for part in llvm.llvm_version_info)}"
    return Host(versions, llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


@cache
def has_fma() -> bool:
    """Whether this processor multiplies and adds with one rounding; every processor that is not an x86 does."""
    if not host().triple.startswith(("x86", "i386", "i486", "i586", "i686")):
        return True
    return any(host().has(name) for name in ("fma", "fma4", "avx512f"))


def lane_count() -> int:
    """Doubles in a vector: those of this machine's registers, or 2, 4 or 8 as in `$DRAISINE_LANES`."""
    given = os.environ.get(_LANES_VARIABLE, "")
    if given not in ("", "2", "4", "8"):
        raise ArgumentError(f"{_LANES_VARIABLE} is {given!r}, but vectors have 2, 4 or 8 lanes; set one of these or none")
    return int(given or (8 if host().has("avx512f", "avx512dq") else 4 if host().has("avx") else 2))


# ------------------------------------------------------------------------------------------- what LLVM's answer follows from


def _evidence() -> str | None:
    """The processor and the library of llvmlite; None where LLVM must be asked."""
    found = find_spec("llvmlite")
    if not is_supported() or found is None or found.origin is None:
        return None
    library = Path(found.origin).with_name("binding") / "libllvmlite.so"
    try:
        file = os.stat(library)
        return f"{library}, {file.st_size}, {file.st_mtime_ns}, {file.st_ino}; {processor_registers().hex()}"
    except OSError:
        return None  # no such file, or no memory may be executed


def processor_registers() -> bytes:
    """The registers from which LLVM concludes what this processor is, and what it can do."""
    memory = ExecutableMemory(len(_CPUID) + len(_XGETBV))
    memory.buffer[:] = _CPUID + _XGETBV
    memory.seal()
    read = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    cpuid, xgetbv = read(memory.address), read(memory.address + len(_CPUID))

    def answer(leaf: int, subleaf: int) -> list[int]:
        registers = (ctypes.c_uint32 * 4)(leaf, subleaf)
        cpuid(ctypes.addressof(registers))
        return list(registers)

    last = {0x0: answer(0x0, 0)[_EAX], 0x80000000: answer(0x80000000, 0)[_EAX]}
    answers = []
    for leaf, subleaf, kept in _LEAVES:
        known = leaf <= last[leaf & 0x80000000]  # beyond the last leaf some processors repeat another one
        numbers = answer(leaf, subleaf) if known else [0] * 4
        answers += [numbers[k] for k in kept]
        if leaf == 0x1 and numbers[_ECX] & _SAVES_EXTENDED:
            control = (ctypes.c_uint32 * 4)()
            xgetbv(ctypes.addressof(control))
            answers += control[:2]
    return b"".join(number.to_bytes(4, "little") for number in answers)
