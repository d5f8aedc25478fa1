"""The parser of the command line, made of what each command's file adds to it."""

from __future__ import annotations

import argparse
from importlib import import_module

from draisine.cli.terminal import EXIT_CODES

# command → the file of this folder that adds it, in the order of the help
COMMANDS = {
    "list": "gallery",
    "run": "gallery",
    "show": "show",
    "simulate": "simulate",
    "certify": "certify",
    "doctor": "doctor",
    "compare-drift": "compare_drift",
    "export": "export",
    "equations": "equations",
    "draw": "draw",
    "modes": "stability",
    "critical": "stability",
    "steady": "stability",
    "linearize": "stability",
    "map": "stability",
    "lqr": "lqr",
    "continue": "continuation",
    "turns": "continuation",
    "atlas": "continuation",
    "uncertainty": "uncertainty",
    "ensemble": "ensemble",
    "estimate": "estimate",
    "filter": "filter",
    "optimize": "optimize",
    "studio": "studio",
    "report": "report",
    "completion": "completion",
    "warm": "warm",
}


def parser(wanted: str | None = None) -> argparse.ArgumentParser:
    """The parser of one command; of all of them if none is named, or none of that name is known.

    Only the files of the commands it knows are loaded: loading all of them takes as long as a run.

    >>> parser("simulate").parse_args(["simulate", "bicycle", "--until", "2"]).until
    2.0
    """
    one = wanted in COMMANDS
    made = argparse.ArgumentParser(
        prog="draisine",
        description="Constrained mechanical systems: describe, derive, simulate, look.",
        epilog=None if one else _exit_codes(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action=_Version, nargs=0, help="print the version and leave")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND", prog="draisine")
    for file in [COMMANDS[wanted]] if wanted is not None and one else dict.fromkeys(COMMANDS.values()):
        import_module(f"draisine.cli.{file}").add(commands)
    return made


def guesses(command: str) -> list[str]:
    """Commands that may be meant by a word that is none.

    >>> guesses("simulat")
    ['simulate', 'estimate']
    """
    from difflib import get_close_matches

    return get_close_matches(command, COMMANDS, n=3, cutoff=0.6)


class _Version(argparse.Action):
    """The version is looked up when it is asked for: that takes as long as parsing all words."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from draisine import __version__

        print(f"draisine {__version__}")
        parser.exit()


def _exit_codes() -> str:
    import textwrap

    reported = [textwrap.fill(f"{code:>5}  {what}", 100, subsequent_indent=" " * 7) for code, what in EXIT_CODES.items()]
    return "\n".join(["exit status:", *reported])
