"""The parser of the command line, and the table that says where each command lives."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from draisine.cli.terminal import EXIT_CODES

# command → module with its options (`add_COMMAND`), module with its action (`run_COMMAND`); in the order of the help
COMMANDS = {
    "list": ("model_options", "gallery"),
    "run": ("model_options", "gallery"),
    "show": ("model_options", "documents"),
    "simulate": ("model_options", "simulate"),
    "certify": ("model_options", "diagnostics"),
    "doctor": ("model_options", "diagnostics"),
    "compare-drift": ("model_options", "diagnostics"),
    "export": ("model_options", "documents"),
    "equations": ("model_options", "documents"),
    "draw": ("model_options", "documents"),
    "modes": ("motion_options", "stability"),
    "critical": ("motion_options", "stability"),
    "steady": ("motion_options", "stability"),
    "linearize": ("motion_options", "stability"),
    "map": ("motion_options", "stability"),
    "lqr": ("motion_options", "stability"),
    "continue": ("motion_options", "continuation"),
    "turns": ("motion_options", "continuation"),
    "atlas": ("motion_options", "continuation"),
    "uncertainty": ("motion_options", "stability"),
    "ensemble": ("data_options", "ensemble"),
    "estimate": ("data_options", "estimation"),
    "filter": ("data_options", "estimation"),
    "optimize": ("data_options", "optimize"),
    "studio": ("model_options", "studio"),
    "report": ("model_options", "report"),
    "completion": ("model_options", "completion"),
    "warm": ("model_options", "warm"),
}

Action = Callable[[argparse.Namespace, list[str]], int]


def parser(command: str | None = None) -> argparse.ArgumentParser:
    """The parser of one command; of all commands without a name, or with an unknown one.

    Options are light modules that import nothing heavy, so that help and completion are immediate.

    >>> parser("simulate").parse_args(["simulate", "bicycle", "--until", "2"]).until
    2.0
    """
    chosen = [command] if command in COMMANDS else list(COMMANDS)
    found = _Parser(
        prog="draisine",
        description="Constrained mechanical systems: describe, derive, simulate, view.",
        epilog=None if command in COMMANDS else _exit_codes(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = found.add_subparsers(dest="command", required=True, metavar="COMMAND", prog="draisine")
    for name in chosen:
        _function(COMMANDS[name][0], "add", name)(commands)
    return found


def action(command: str) -> Action:
    """What a command does. This is where its module is loaded, with all that it imports."""
    run: Action = _function(COMMANDS[command][1], "run", command)
    return run


def _function(module: str, prefix: str, command: str) -> Callable[..., int]:
    found: Callable[..., int] = getattr(import_module(f"draisine.cli.{module}"), f"{prefix}_{command.replace('-', '_')}")
    return found


def similar_commands(word: str) -> list[str]:
    """Commands that are spelled like a word.

    >>> similar_commands("simulat")
    ['simulate', 'estimate']
    """
    import difflib

    return difflib.get_close_matches(word, COMMANDS, n=3, cutoff=0.6)


def shortened_options(command: str, words: Sequence[str], problem: str) -> list[str]:
    """Options of a command of which a word is a beginning that the problem names; they must be written in full.

    >>> shortened_options("simulate", ["--unt", "2", "--speed", "3"], "unknown name 'unt'")
    ['--until']
    """
    commands = next(a for a in parser(command)._actions if isinstance(a, argparse._SubParsersAction))
    known = commands.choices[command]._option_string_actions
    begun = [word.partition("=")[0] for word in words if word.startswith("--") and len(word) > 2]
    begun = [word for word in begun if f"{word} " in problem or repr(word[2:].replace("-", "_")) in problem]
    return [option for option in known if any(option.startswith(word) for word in begun)]


class _Parser(argparse.ArgumentParser):
    """A parser, also of each command, that refuses an option given twice unless it may repeat.

    Options are written in full: `--th 2` is an initial condition of a model with a coordinate `th`, not `--threads 2`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})
        for name in (None, "store"):
            self.register("action", name, _Once)

    def _get_formatter(self) -> argparse.HelpFormatter:
        """The formatter, which every argument is checked by, with the width of the terminal: argparse would ask `shutil` for it,
        which imports all of Python's compression."""
        return self.formatter_class(prog=self.prog, width=_columns() - 2)  # type: ignore[call-arg]  # its own parameter


def _columns() -> int:
    """The width of the terminal, as `shutil.get_terminal_size` has it."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]  # may be None
    except (AttributeError, ValueError, OSError):
        return 80  # closed, or no terminal


class _Once(argparse._StoreAction):
    """Stores a value, once in a command line; the value of a second time would replace the first without a word."""

    def __call__(
        self, parser: argparse.ArgumentParser, given: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        if option is not None and getattr(given, self.dest, self.default) is not self.default:
            parser.error(f"{self.option_strings[0]} is given twice; give it once")
        super().__call__(parser, given, values, option)


class _Version(argparse.Action):
    """Reads the version only when it is printed: that takes as long as parsing a call."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"draisine {version('draisine')}")
        parser.exit()


def _exit_codes() -> str:
    import textwrap

    lines = [textwrap.fill(f"{code:>5}  {text}", 80, subsequent_indent=" " * 7) for code, text in EXIT_CODES.items()]
    return "\n".join(["exit status:", *lines])
