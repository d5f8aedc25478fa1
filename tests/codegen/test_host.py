"""What code is compiled for: as LLVM describes it, though LLVM is asked once; another processor has another key."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import llvmlite.binding as llvm
import pytest

from draisine.codegen import host as module
from draisine.codegen.cache import stored_object
from draisine.codegen.host import Host, has_fma, host, host_key, lane_count, processor_registers
from draisine.codegen.jit.executable_memory import ExecutableMemory, is_supported

only_here = pytest.mark.skipif(not is_supported(), reason="registers are read on x86-64 under Linux")


@pytest.fixture
def anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As in a new process, with an empty cache."""
    place = tmp_path / "cache"
    monkeypatch.setenv("DRAISINE_CACHE_DIR", str(place))
    monkeypatch.setattr(module, "host", module.host.__wrapped__)
    return place


def asked(monkeypatch: pytest.MonkeyPatch, answer: Host | None = None) -> list[Host]:
    """What LLVM said, each time that it was asked."""
    said: list[Host] = []
    real = module._from_llvm

    def from_llvm() -> Host:
        said.append(answer or real())
        return said[-1]

    monkeypatch.setattr(module, "_from_llvm", from_llvm)
    return said


def test_the_host_is_what_llvm_says(anew: Path) -> None:
    for _ in range(2):  # asked, and read from disk
        found = module.host()
        assert found.triple == llvm.get_process_triple()
        assert found.processor == llvm.get_host_cpu_name()
        assert found.features == llvm.get_host_cpu_features().flatten()
        assert ".".join(map(str, llvm.llvm_version_info)) in found.versions
    assert all(part in host_key() for part in host())


def test_lanes_and_fused_products_follow_from_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRAISINE_LANES", raising=False)
    features = llvm.get_host_cpu_features()
    assert has_fma() == any(features.get(name, False) for name in ("fma", "fma4", "avx512f"))
    for text, lanes in {
        "+avx,+avx512f,+avx512dq": 8,
        "+avx,+avx512f,-avx512dq": 4,
        "+avx2,+avx": 4,
        "+sse2,-avx": 2,
        "": 2,
    }.items():
        described = Host("", "x86_64-unknown-linux-gnu", "", text)
        monkeypatch.setattr(module, "host", lambda described=described: described)
        assert lane_count() == lanes


@only_here
def test_llvm_is_asked_once_for_a_processor(anew: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = asked(monkeypatch)
    assert module.host() == module.host() == said[0] and len(said) == 1
    registers = bytearray(processor_registers())
    for place in range(0, len(registers), 7):  # a processor that differs in any bit that is read
        other = bytes([*registers[:place], registers[place] ^ 1, *registers[place + 1 :]])
        monkeypatch.setattr(module, "processor_registers", lambda other=other: other)
        before = len(said)
        module.host()
        assert len(said) == before + 1, place


@only_here
def test_another_library_is_asked_anew(anew: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "llvmlite" / "binding" / "libllvmlite.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"one")
    monkeypatch.setattr(module, "find_spec", lambda name: SimpleNamespace(origin=str(library.parents[1] / "__init__.py")))
    said = asked(monkeypatch)
    assert module.host() == module.host() and len(said) == 1
    library.write_bytes(b"another")
    assert module.host() == module.host() and len(said) == 2
    library.unlink()  # installed in a way that is not known
    assert module.host() == module.host() and len(said) == 4


@only_here
def test_damaged_answers_are_not_believed(anew: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = asked(monkeypatch)
    module.host()
    (file,) = anew.glob("*.object")
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b"+avx", b"-avx") if b"+avx" in whole else whole[:-1])
    assert module.host() == said[0] and len(said) == 2
    assert stored_object(f"host; {module._evidence()}") == "\n".join(said[0]).encode()


@only_here
def test_where_memory_may_not_be_executed_llvm_is_asked(anew: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(memory: ExecutableMemory) -> None:
        raise PermissionError(13, "memory cannot be made executable")

    monkeypatch.setattr(ExecutableMemory, "seal", forbidden)
    said = asked(monkeypatch)
    assert module.host() == module.host() == said[1] and len(said) == 2
    assert list(anew.glob("*.object")) == []


@only_here
def test_all_cores_tell_the_same() -> None:
    """Registers that differ between the cores of one processor are left out."""
    code = (
        "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); "
        "from draisine.codegen.host import processor_registers; print(processor_registers().hex())"
    )
    cores = sorted(os.sched_getaffinity(0))[:4]
    answers = {
        subprocess.run([sys.executable, "-c", code, str(core)], capture_output=True, text=True, check=True).stdout
        for core in cores
    }
    assert answers == {processor_registers().hex() + "\n"}


@only_here
def test_registers_tell_vendor_and_features() -> None:
    """Against the system's own reading of the same registers."""
    first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    described = dict(line.split(":", 1) for line in first.splitlines() if ":" in line)
    described = {name.strip(): value.strip() for name, value in described.items()}
    registers = [int.from_bytes(processor_registers()[k : k + 4], "little") for k in range(0, 44, 4)]
    _, b, c, d, signature, features, more = registers[:7]
    assert b"".join(r.to_bytes(4, "little") for r in (b, d, c)).decode() == described["vendor_id"]
    family, model = signature >> 8 & 0xF, signature >> 4 & 0xF
    assert int(described["cpu family"]) == family + (signature >> 20 & 0xFF if family == 15 else 0)
    assert int(described["model"]) == model + ((signature >> 16 & 0xF) << 4 if family in (6, 15) else 0)
    flags = described["flags"].split()
    for register, bits in (
        (features, {0: "pni", 12: "fma", 20: "sse4_2", 28: "avx"}),
        (more, {25: "sse", 26: "sse2", 15: "cmov"}),
    ):
        for bit, flag in bits.items():
            assert bool(register >> bit & 1) == (flag in flags), flag
