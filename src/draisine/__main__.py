"""`python -m draisine` and the command `draisine`: the command line, interrupted without a traceback while it is still loaded."""

import atexit
import gc
import os
import signal
import sys
from typing import Any, NoReturn

from draisine import _leave

INTERRUPTED, WRONG = 130, 2  # as in cli/terminal.py, which may not be loaded yet
_status: list[int] = []  # of the command, once it has ended


def _end() -> None:
    """End the process where a command has ended: Python would take apart all modules first, a seventh of a short process.

    What cannot be written, and all that is no end of a command, is left to Python.
    """
    if _status:
        try:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
        except (OSError, ValueError):
            return
        os._exit(_status[0])


# Imported objects live until the end: collecting garbage among them at Python's default rate is measurable in a short process.
COLLECTION_THRESHOLDS = (50_000, 20, 20)

# registered before everything else is imported, and so called after all that others do at the end
if sys.argv[:1] == ["-m"] or __name__ == "__main__" or os.path.basename(*sys.argv[:1] or [""]) == "draisine":
    atexit.register(_end)
    gc.set_threshold(*COLLECTION_THRESHOLDS)


_interruptions: list[int] = []


def _interrupt(number: int, _frame: Any) -> NoReturn:
    """What Python does at Ctrl-C, and a note of it.

    Compiled modules that are interrupted while they are imported raise another error in place of it: NumPy an ImportError.
    """
    _interruptions.append(number)
    raise KeyboardInterrupt


from draisine.cli.main import main  # noqa: E402 - takes a moment, in which Ctrl-C ends the process (`draisine/__init__.py`)


def _exit_code() -> int:
    """What the command line returns, or argparse raises."""
    try:
        return main()
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        return end.code


def run() -> int:
    """Run the command line; the exit status."""
    try:
        if signal.getsignal(signal.SIGINT) is _leave:
            signal.signal(signal.SIGINT, _interrupt)
        code = _exit_code()
        if signal.getsignal(signal.SIGINT) is _interrupt:
            signal.signal(signal.SIGINT, _leave)  # while Python ends
    except KeyboardInterrupt:
        _leave()
    except Exception:
        if _interruptions:
            _leave()
        raise
    if code == WRONG and _interruptions:  # an error that took the place of the interruption
        code = INTERRUPTED
    if code == INTERRUPTED:  # said by `main`; Python itself would end by the signal, after an interruption inside `exec`
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
    _status.append(code)
    return code


if __name__ == "__main__":
    sys.exit(run())
