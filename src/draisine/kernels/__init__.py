"""Program → something that runs: machine code through LLVM, kept on disk from one process to the next."""

from __future__ import annotations

from draisine.lazily import loader, names_of

# module of this folder → the names it holds
_HELD = {
    "kernel": ("Kernel", "compile", "compile_all"),
}
__all__ = names_of(_HELD)
__getattr__ = loader(__name__, _HELD)
