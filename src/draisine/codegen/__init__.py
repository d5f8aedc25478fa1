"""Programs as machine code (`jit`, `simd`), optimized by `passes`, and as source code of other languages (`export`)."""
