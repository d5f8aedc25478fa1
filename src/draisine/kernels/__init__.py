"""Program → something that runs: machine code through LLVM, kept on disk from one process to the next."""

from draisine.kernels.kernel import Kernel, compile, compile_all

__all__ = ["Kernel", "compile", "compile_all"]
