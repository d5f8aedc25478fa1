"""Solvers of linear systems as machine code, one copy for all kernels of a process; compiled once per machine."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from draisine.codegen.cache import cached_object, host_key
from draisine.codegen.jit.engine import LoadedObject, load_object

PREFIX = "draisine_"
_NAMES = tuple(PREFIX + name for name in ("decompose", "substitute", "spread", "fill", "settle", "factorise", "solve"))


def solvers() -> dict[str, int]:
    """Addresses by symbol. The code stays for the life of the process."""
    loaded = _loaded()
    return {name: loaded.address_of(name) for name in _NAMES}


@cache
def _loaded() -> LoadedObject:
    sources = [Path(__file__).with_name(f"{stem}.py") for stem in ("loops", "elimination", "sparse_qr", "solvers")]
    sha = hashlib.sha256(b"".join(source.read_bytes() for source in sources))
    return load_object(cached_object(f"solvers; {sha.hexdigest()}; {host_key()}", _compiled), *_NAMES)


def _compiled() -> bytes:
    from draisine.codegen.jit.loops import loops_code
    from draisine.numerics import elimination, sparse_qr

    return loops_code(*elimination.NUMERIC, *sparse_qr.NUMERIC, prefix=PREFIX)
