"""Just-in-time compilation: programs as machine code through LLVM, kept on disk from one process to the next."""
