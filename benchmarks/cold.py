"""Derive and compile the bicycle once and print the seconds. `speed` runs it in new processes with an empty cache."""

from __future__ import annotations

import time

from draisine.equations import derive
from draisine.gallery import model
from draisine.kernels import compile


def main() -> None:
    start = time.perf_counter()
    compile(derive(model("bicycle")).dynamics)
    print(time.perf_counter() - start)


if __name__ == "__main__":
    main()
