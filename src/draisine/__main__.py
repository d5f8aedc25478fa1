"""`python -m draisine` and the command `draisine`: the command line, interrupted without a traceback while it is still loaded."""

import os
import sys
from typing import NoReturn

INTERRUPTED = 130  # as in cli/terminal.py, which may not be loaded yet


def leave() -> NoReturn:
    """End as interrupted.

    Python itself would end by the signal, without this status, if the interruption happened inside `exec`, with which
    dataclasses are made.
    """
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


try:
    from draisine.cli.main import main  # takes a moment, in which Ctrl-C is no error
except KeyboardInterrupt:
    leave()


def run() -> int:
    """Run the command line; the exit status."""
    try:
        code = main()
    except KeyboardInterrupt:
        leave()
    if code == INTERRUPTED:  # said by `main`; see `leave`
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(run())
