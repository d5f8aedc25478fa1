"""`python -m draisine` and the command `draisine`: the command line, interrupted without a traceback while it is still loaded."""

import os
import sys
from typing import NoReturn


def leave() -> NoReturn:
    """End as interrupted.

    130 is INTERRUPTED of cli/terminal.py, which may not be loaded yet. Python itself would end by the signal, without this
    status, if the interruption happened inside `exec`, with which dataclasses are made.
    """
    os.write(2, b"interrupted\n")
    os._exit(130)


try:
    from draisine.cli.main import main  # takes a moment, in which Ctrl-C is no error
except KeyboardInterrupt:
    leave()


def run() -> int:
    """Run the command line; the exit status."""
    try:
        return main()
    except KeyboardInterrupt:
        leave()


if __name__ == "__main__":
    sys.exit(run())
