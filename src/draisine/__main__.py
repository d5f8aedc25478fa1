"""`python -m draisine` and the command `draisine`: the command line, interrupted without a traceback while it is still loaded."""

import os
import sys


def run() -> int:
    """Load and run the command line; the exit status."""
    try:
        from draisine.cli.main import main  # takes a moment, in which Ctrl-C is no error

        return main()
    except KeyboardInterrupt:
        os.write(2, b"interrupted\n")
        # INTERRUPTED of cli/terminal.py, which may not be loaded yet. Python itself would end by the signal, without this status,
        # if the interruption happened inside `exec`, with which dataclasses are made.
        os._exit(130)


if __name__ == "__main__":
    sys.exit(run())
