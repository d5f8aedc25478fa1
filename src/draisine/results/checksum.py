"""Checksums inside files: a text `draisine-crc32:` with eight digits, the CRC-32 of the file in which these digits are zeros.

It stands in the metadata of each format, so that a file stays one file and other programs read it as before. Damage is found
from the bytes alone, before a library parses them: a damaged HDF5 or Parquet file may make its library hang, take all memory or
end the process. Lines of text files may end as in Windows. CRC-32 finds all damage within 32 bits, and any other but for a
chance of 2⁻³²; it does not protect from someone who computes it anew.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path

from draisine.errors import ArgumentError, DataError

MARK = b"draisine-crc32:"
UNSEALED = MARK.decode() + "00000000"  # what a writer puts into the metadata
_SEAL = re.compile(re.escape(MARK) + rb"([0-9a-f]{8})")
_BLANK = b"0" * 8


def checksum(content: bytes) -> str:
    """The checksum of a content in which the digits of the mark are zeros, as text."""
    return f"{zlib.crc32(content):08x}"


def seal(path: Path) -> None:
    """Write the checksum of a file into it; its metadata hold `UNSEALED`."""
    content = path.read_bytes()
    found = list(_SEAL.finditer(content))
    if len(found) != 1:
        raise ArgumentError(f"a text contains {MARK.decode()!r} and digits, which mark the checksum of a file; rename it")
    with path.open("rb+") as file:
        file.seek(found[0].start(1))
        file.write(checksum(content).encode())


def verify(path: Path, most_bytes: int | None = None, *, text: bool = False) -> None:
    """Refuse a file whose content is not what `seal` saw; of a `text` file the ends of lines do not count.

    Files of more than `most_bytes` are not read, if it is given.
    """
    size = path.stat().st_size
    if most_bytes is not None and size > most_bytes:
        raise DataError(f"the file has {size:,} bytes, more than {most_bytes:,}; pass a larger limit to load it")
    content = path.read_bytes()
    if text:
        content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    found = list(_SEAL.finditer(content))
    if len(found) != 1:
        raise DataError(
            "the file has no checksum of draisine: it is cut off or damaged, a table of another result than a trajectory, "
            "or another program wrote it"
        )
    begin, end = found[0].span(1)
    if checksum(content[:begin] + _BLANK + content[end:]) != found[0][1].decode():
        raise DataError("the checksum does not fit the content: the file was damaged or changed after it was written")
