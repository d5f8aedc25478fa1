"""The command line, `draisine COMMAND …`: parses the arguments, runs the command's action, and turns errors into exit codes.

Arguments are parsed before anything heavy is loaded, so that help is immediate. Results go to stdout, everything else to stderr;
with --json there is one JSON value on stdout and nothing else. `cli/terminal.py` lists the exit codes.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

from draisine.cli.parser import COMMANDS, action, parser, shortened_options, similar_commands
from draisine.cli.terminal import DONE, INTERRUPTED, code_of
from draisine.errors import DraisineError
from draisine.results.control_characters import escaped, fitted


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()  # closed by whoever started the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # characters that the terminal lacks are printed as "?"
    command_line = parser(words[0] if words else None)
    if words and words[0] not in COMMANDS and not words[0].startswith("-"):
        near = " or ".join(similar_commands(words[0]))
        command_line.error(
            f"there is no command {words[0]!r}; {f'did you mean {near}?' if near else 'draisine --help lists them'}"
        )
    given, rest = command_line.parse_known_args(words)
    if rest and not getattr(given, "takes_targets", False):
        command_line.error(f"unrecognized arguments: {' '.join(rest)}")
    _log_to_stderr()
    try:
        return action(given.command)(given, rest)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # the reader of the output has closed it, as `| head` does; this is no error
        sys.stderr.close()
        return DONE
    except (DraisineError, OSError, MemoryError) as problem:
        # errors with a cause and a cure in the message
        logging.getLogger("draisine").debug("raised here", exc_info=True)
        meant = " or ".join(shortened_options(given.command, rest, str(problem)))
        cure = f"; if {meant} is meant, write it in full" if meant else ""
        with suppress(OSError):  # where nothing can be written, the status says it
            print(f"draisine: {fitted(escaped(_said(problem)))}{cure}", file=sys.stderr, flush=True)
        return code_of(problem)


def _said(problem: Exception) -> str:
    if isinstance(problem, MemoryError):
        return f"not enough memory{f' ({problem})' if str(problem) else ''}; ask for fewer values"
    if (
        isinstance(problem, OSError)
        and problem.errno in (errno.ENOSPC, errno.EFBIG)
        and problem.filename is None
        and problem.strerror
    ):
        return f"the output cannot be written: {problem.strerror}"
    return str(problem)


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # until the end of the process


def _log_to_stderr() -> None:
    """Print the package's log messages, such as that something is compiled for the first time."""
    logger = logging.getLogger("draisine")
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("draisine: %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
