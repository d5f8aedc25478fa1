"""Digests of contents, by which caches recognize them: BLAKE2b of 32 bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b
else:
    try:
        from _blake2 import blake2b  # the one of hashlib, which itself loads OpenSSL: 3.5 MiB and 3 ms
    except ImportError:
        from hashlib import blake2b

SIZE = 32  # bytes


def digest_of(content: bytes = b"") -> blake2b:
    """The digest of a content, which `update` continues.

    >>> digest_of(b"bicycle").hexdigest()[:16]
    'ba297c2c72d368db'
    """
    return blake2b(content, digest_size=SIZE)
