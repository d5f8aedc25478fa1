"""Loader of relocatable object code: a process that finds its code on disk needs no LLVM, which takes 43 MiB.

It takes what LLVM makes of our modules on x86-64 under Linux: ELF files whose sections are code and constants, and a few kinds of
relocations. Anything else is refused (`ObjectCodeError`), and LLVM's linker gets it (`engine.load_object`). The references are

- [gABI] System V Application Binary Interface, chapter 4 (object files): the records of an ELF file;
- [psABI] System V ABI, AMD64 supplement, section 4.4 (relocation): table 4.9 has the formulas, in which A is the addend, P the
  place that is relocated, S the address of the symbol, L that of its entry in the procedure linkage table, GOT that of the global
  offset table and G the offset of a symbol's entry in it.

Sections, in the order of the file, and both tables lie in one piece of memory. The global offset table has the addresses of all
symbols, the procedure linkage table a jump to each of them, since libraries may be farther away than a call of 32 bits reaches.
Nothing is unwound through the code: modules declare their functions `nounwind`.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from draisine.codegen.jit.executable_memory import ExecutableMemory, is_supported
from draisine.errors import ObjectCodeError

# [gABI] ELF header: identification, type, machine, version, entry, program headers, section headers, flags, sizes and counts
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_IDENTIFICATION = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian, version 1
_RELOCATABLE, _X86_64 = 1, 62  # ET_REL, EM_X86_64
# section header: name, type, flags, address, offset, size, link, info, alignment, size of entries
_SECTION = struct.Struct("<IIQQQQIIQQ")
_PROGBITS, _SYMTAB, _RELA, _REL = 1, 2, 4, 9
_WRITE, _ALLOC, _TLS = 0x1, 0x2, 0x400  # flags
# symbol: name, kind and binding, visibility, section, value, size
_SYMBOL = struct.Struct("<IBBHQQ")
_UNDEFINED, _RESERVED = 0, 0xFF00  # SHN_UNDEF; sections from SHN_LORESERVE on are none
_KINDS = frozenset({0, 1, 2, 3})  # NOTYPE, OBJECT, FUNC, SECTION: symbols that are plain addresses
# relocation with addend: place, symbol and kind, addend
_RELOCATION = struct.Struct("<QQq")

_TABLE = "_GLOBAL_OFFSET_TABLE_"
_ENTRY = 8  # bytes of an entry of either table; every symbol has one in both
_WORD, _HALF = 2**64, 2**31
_MOST_ALIGNED = 4096  # bytes: memory begins at a page


class Formula(NamedTuple):
    """What a relocation writes at its place, in the letters of [psABI] table 4.9, and in how many bytes."""

    value: Callable[[int, int, int, int, int, int], int]  # of S, A, P, L, GOT, G
    size: int


FORMULAS = {
    1: Formula(lambda s, a, p, l, got, g: s + a, 8),  # R_X86_64_64
    2: Formula(lambda s, a, p, l, got, g: s + a - p, 4),  # R_X86_64_PC32
    4: Formula(lambda s, a, p, l, got, g: l + a - p, 4),  # R_X86_64_PLT32
    25: Formula(lambda s, a, p, l, got, g: s + a - got, 8),  # R_X86_64_GOTOFF64
    27: Formula(lambda s, a, p, l, got, g: g + a, 8),  # R_X86_64_GOT64
    29: Formula(lambda s, a, p, l, got, g: got + a - p, 8),  # R_X86_64_GOTPC64
    41: Formula(lambda s, a, p, l, got, g: g + got + a - p, 4),  # R_X86_64_GOTPCRELX: the instruction may stay as it is
    42: Formula(lambda s, a, p, l, got, g: g + got + a - p, 4),  # R_X86_64_REX_GOTPCRELX
}


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class _Symbol(NamedTuple):
    name: str
    kind: int
    section: int
    value: int


@dataclass(frozen=True)
class LoadedCode:
    """Addresses of the defined symbols; the code is valid as long as this object lives."""

    addresses: Mapping[str, int]
    memory: ExecutableMemory = field(repr=False)

    def __getitem__(self, symbol: str) -> int:
        return self.addresses[symbol]


def load(data: bytes, symbols: Sequence[str], using: Mapping[str, int]) -> LoadedCode:
    """Object code in memory, which defines `symbols`; `using`: addresses of functions that it calls, before those of the process.

    Raises `ObjectCodeError`, and has then changed nothing.
    """
    if not is_supported():
        raise ObjectCodeError("this platform is not that of the loader")
    try:
        loaded = _Object(data).loaded(using)
    except (struct.error, IndexError, ValueError) as error:  # UnicodeDecodeError is a ValueError
        raise ObjectCodeError(f"the object code is damaged: {error}") from error
    except OSError as error:
        raise ObjectCodeError(str(error)) from error
    missing = [symbol for symbol in symbols if symbol not in loaded.addresses]
    if missing:
        raise ObjectCodeError(f"the object code does not define {', '.join(missing)}")
    return loaded


class _Object:
    """The sections of a file, and where each will lie relative to the first."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        identification, kind, machine, *_, at, _, _, _, _, size, count, _ = _HEADER.unpack_from(data)
        if not identification.startswith(_IDENTIFICATION) or (kind, machine, size) != (_RELOCATABLE, _X86_64, _SECTION.size):
            raise ObjectCodeError("this is no relocatable ELF file of x86-64")
        self.sections = [_Section._make(_SECTION.unpack_from(data, at + k * size)) for k in range(count)]
        self.symbols = self._symbols()
        self.offsets, self.table = self._layout()
        self.linkage = self.table + _ENTRY * len(self.symbols)

    def _layout(self) -> tuple[dict[int, int], int]:
        """Offsets of sections by their number, and of the global offset table behind them."""
        offsets, end = {}, 0
        for number, section in enumerate(self.sections):
            if not section.flags & _ALLOC or not section.size:
                continue
            if section.kind != _PROGBITS or section.flags & (_WRITE | _TLS) or section.alignment > _MOST_ALIGNED:
                raise ObjectCodeError(
                    f"section {number} (type {section.kind}, flags {section.flags:#x}) is neither code nor constants"
                )
            if section.offset + section.size > len(self.data):
                raise ObjectCodeError(f"section {number} ends behind the file")
            offsets[number] = end = _aligned(end, section.alignment)
            end += section.size
        return offsets, _aligned(end, 8)

    def _symbols(self) -> list[_Symbol]:
        (table,) = [section for section in self.sections if section.kind == _SYMTAB]
        names = self.sections[table.link]
        records = _SYMBOL.iter_unpack(self.data[table.offset : table.offset + table.size])
        return [
            _Symbol(self._text(names.offset + name), kind & 0xF, section, value) for name, kind, _, section, value, _ in records
        ]

    def _text(self, at: int) -> str:
        return self.data[at : self.data.index(0, at)].decode()

    def loaded(self, using: Mapping[str, int]) -> LoadedCode:
        memory = ExecutableMemory(self.linkage + _ENTRY * len(self.symbols))
        for number, offset in self.offsets.items():
            section = self.sections[number]
            memory.buffer[offset : offset + section.size] = self.data[section.offset : section.offset + section.size]
        addresses = self._addresses(memory.address, using)
        struct.pack_into(f"<{len(addresses)}Q", memory.buffer, self.table, *[address or 0 for address in addresses])
        jump = b"\xff\x25" + struct.pack("<i", self.table - self.linkage - 6) + b"\xcc\xcc"  # jmp [rip + …], int3, int3
        memory.buffer[self.linkage : self.linkage + _ENTRY * len(addresses)] = jump * len(addresses)
        self._relocate(memory, addresses)
        memory.seal()
        named = zip(self.symbols, addresses, strict=True)
        return LoadedCode({s.name: address for s, address in named if address is not None and s.section != _UNDEFINED}, memory)

    def _addresses(self, base: int, using: Mapping[str, int]) -> list[int | None]:
        """The addresses of all symbols; None of those that have none: names of files, and what lies in sections left out."""
        addresses: list[int | None] = []
        for name, kind, section, value in self.symbols:
            if kind not in _KINDS or section >= _RESERVED or (section == _UNDEFINED and not name):
                addresses.append(None)
            elif section == _UNDEFINED:
                addresses.append(base + self.table if name == _TABLE else _address(name, using))
            else:
                offset = self.offsets.get(section)
                addresses.append(None if offset is None else base + offset + value)
        return addresses

    def _relocate(self, memory: ExecutableMemory, addresses: list[int | None]) -> None:
        base, table, linkage = memory.address, memory.address + self.table, memory.address + self.linkage
        written = memory.buffer
        for section in self.sections:
            if section.kind == _REL:
                raise ObjectCodeError("the relocations have no addends")
            if section.kind != _RELA or section.info not in self.offsets:
                continue
            begin, size = self.offsets[section.info], self.sections[section.info].size
            for at, info, addend in _RELOCATION.iter_unpack(self.data[section.offset : section.offset + section.size]):
                number, kind = info >> 32, info & 0xFFFFFFFF
                address, formula = addresses[number], FORMULAS.get(kind)
                if formula is None or address is None or at + formula.size > size:
                    raise ObjectCodeError(f"relocation of kind {kind} at {at} of {self.symbols[number].name!r} is not known here")
                called = linkage + _ENTRY * number if self.symbols[number].section == _UNDEFINED else address
                value = formula.value(address, addend, base + begin + at, called, table, _ENTRY * number)
                if formula.size == 4 and not -_HALF <= value < _HALF:
                    raise ObjectCodeError(f"relocation of kind {kind} at {at} of {self.symbols[number].name!r} reaches too far")
                place = begin + at
                written[place : place + formula.size] = (value % _WORD).to_bytes(8, "little")[: formula.size]


def _aligned(offset: int, alignment: int) -> int:
    """The next multiple of an alignment, of which 0 is none."""
    return -(-offset // alignment) * alignment if alignment > 1 else offset


def _address(name: str, using: Mapping[str, int]) -> int:
    """The address of an external function: one that is given, else what the process exports."""
    if name in using:
        return using[name]
    function = getattr(_process(), name, None)
    address = None if function is None else ctypes.cast(function, ctypes.c_void_p).value
    if not address:
        raise ObjectCodeError(f"the process has no function {name!r}")
    return address


@cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL(None)
