"""Files that were changed on purpose, with the checksum of the new content."""

import re
from pathlib import Path

from draisine.results.checksum import UNSEALED, seal


def reseal(path):
    content = Path(path).read_bytes()
    found = re.subn(rb"draisine-crc32:[0-9a-f]{8}", UNSEALED.encode(), content)
    if found[1] == 1:
        Path(path).write_bytes(found[0])
        seal(Path(path))
