"""Program → something that runs: machine code through LLVM, kept on disk from one process to the next."""
