"""The command line, `draisine COMMAND …`: reads the call, hands it to the command's file in `commands/`, and tells how it ended.

Arguments are parsed before anything heavy is loaded, so that help is immediate. Results go to stdout, everything else to stderr;
with --json there is one JSON value on stdout and nothing else. `cli/exit_codes.py` says what the exit status means.
"""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from draisine.cli.parser import COMMANDS, guesses, parser
from draisine.cli.terminal import DONE, INTERRUPTED, code_of
from draisine.errors import DraisineError

# What is imported stays: looking for garbage among it as often as Python does by itself shows in a short process.
SELDOM = (50_000, 20, 20)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the words of a call ask for; the exit status."""
    if arguments is None:
        gc.set_threshold(*SELDOM)
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without some letter shows a mark for it
    reader = parser(words[0] if words else None)
    if words and words[0] not in COMMANDS and not words[0].startswith("-"):
        near = " or ".join(guesses(words[0]))
        reader.error(f"there is no command {words[0]!r}; {f'did you mean {near}?' if near else 'draisine --help lists them'}")
    given, targets = reader.parse_known_args(words)
    if targets and not getattr(given, "takes_wishes", False):
        reader.error(f"unrecognized: {' '.join(targets)}")
    _speak()
    try:
        code: int = given.action(given, targets)
        return code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # the reader of our output went away, as `| head` does; nothing is wrong
        sys.stderr.close()
        return DONE
    except (DraisineError, OSError) as problem:
        # what our own checks raise: the message names the thing and the cure
        logging.getLogger("draisine").debug("where it was raised", exc_info=True)
        print(f"draisine: {problem}", file=sys.stderr)
        return code_of(problem)


def _speak() -> None:
    """Say on the terminal what the package notes on its way, such as that something is being compiled for the first time."""
    logger = logging.getLogger("draisine")
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("draisine: %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
