"""Object code of LLVM modules for the platforms that packages are published for, by whatever llvmlite runs this program.

    python cross_compile.py LEVEL FOLDER

compiles every *.ll of a folder for every target and prints one line for each. Only llvmlite is needed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

TARGETS = {  # triple → the first bytes of its object files
    "x86_64-unknown-linux-gnu": b"\x7fELF",
    "aarch64-unknown-linux-gnu": b"\x7fELF",
    "arm64-apple-macosx11.0.0": b"\xcf\xfa\xed\xfe",
    "x86_64-pc-windows-msvc": b"\x64\x86",
}


def cross_compile(text: str, triple: str, level: int) -> bytes:
    """Object code for a target from the text of a module that names none; above level 0 it is optimized as users get it."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(opt=level, reloc="pic", codemodel="jitdefault")
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = triple, str(machine.target_data)
    module.verify()
    if level:
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


def main() -> None:
    level, folder = int(sys.argv[1]), Path(sys.argv[2])
    for file in sorted(folder.glob("*.ll")):
        for triple, magic in TARGETS.items():
            made = cross_compile(file.read_text(encoding="utf-8"), triple, level)
            if not made.startswith(magic):
                raise SystemExit(f"{file.stem} for {triple} begins with {made[:4]!r}")
            print(f"llvmlite {llvmlite.__version__}: {file.stem} for {triple}: {len(made)} bytes")


if __name__ == "__main__":
    main()
