"""LLVM in a process beside this one: it compiles the first kernels of a new model while this process writes the text of the next.

A run of a model never seen needs six kernels. The process is started before the equations are derived and is ready when they are;
this one then need not load LLVM at all. Nothing depends on it: where no process can be started, or it ends early, kernels are
compiled here when they are needed, to the same code.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import IO, TYPE_CHECKING

from draisine.codegen.background import start_beside
from draisine.codegen.jit.engine import compile_kernel
from draisine.errors import CompilationError

if TYPE_CHECKING:
    import subprocess

_LOADED = "LLVM is loaded"
_SIZE = 8  # bytes of the length before a text and before its code


class CompilerBeside:
    """A process that makes quick code, from `begin` to the end of a `with` block.

    One thread uses it: others of the process compile by themselves.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._asked: list[str] = []  # keys, in the order of the answers
        self._made: dict[str, bytes] = {}
        self._meanwhile: list[Callable[[], object]] = []

    def __enter__(self) -> CompilerBeside:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if _current.beside is self:
            _current.beside = None
        self._end()
        if kind is None or issubclass(kind, Exception):
            self._do_meanwhile()

    def begin(self) -> None:
        """Start the process, unless this one has LLVM already, or one is started."""
        if "llvmlite.binding" in sys.modules or _current.beside is not None:
            return
        self._process = start_beside(__name__, serve.__name__)
        if self._process is not None:
            _current.beside = self
            self._asked.append(_LOADED)

    def await_llvm(self) -> None:
        """Wait until the process, if there is one, has loaded LLVM: what LLVM says of this machine is then stored."""
        self.take(_LOADED)

    def ask(self, key: str, text: str) -> None:
        """Have a kernel compiled, whose code is `take`n under its key."""
        if self._process is None or self._process.stdin is None:
            return
        try:
            _send(self._process.stdin, text.encode())
        except OSError:
            self._end()
        else:
            self._asked.append(key)

    def meanwhile(self, action: Callable[[], object]) -> None:
        """Do what the run does not need while this process waits for the other one, or at the end of the `with` block."""
        self._meanwhile.append(action)

    def _do_meanwhile(self) -> None:
        while self._meanwhile:
            self._meanwhile.pop(0)()

    def take(self, key: str) -> bytes | None:
        """The code of a kernel that was asked for; None if it must be compiled here."""
        while key not in self._made and key in self._asked:
            if key != _LOADED:
                self._do_meanwhile()
            answer = None if self._process is None or self._process.stdout is None else _receive(self._process.stdout)
            if answer is None:
                self._end()
                return None
            self._made[self._asked.pop(0)] = answer
        return self._made.pop(key, None) or None  # without content: LLVM refused it, and will say why here

    def _end(self) -> None:
        process, self._process = self._process, None
        self._asked.clear()
        if process is None or process.stdin is None or process.stdout is None:
            return
        process.stdout.close()
        with suppress(OSError):  # it has ended before it has read all
            process.stdin.close()
        process.terminate()  # it has nothing to finish
        process.wait()


class _Current(threading.local):
    beside: CompilerBeside | None = None


_current = _Current()


def compiler_beside() -> CompilerBeside | None:
    """The process that was begun in this thread, if there is one."""
    return _current.beside


def compile_quick(key: str, text: str) -> bytes:
    """Quick code, by the process beside this one if there is one."""
    compiler = compiler_beside()
    if compiler is not None:
        compiler.ask(key, text)
        made = compiler.take(key)
        if made is not None:
            return made
    return compile_kernel(text, quick=True)


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """What the process does: compile text by text. They are read by a thread, so that who writes them never waits for LLVM."""
    import queue  # this process alone needs it

    waiting: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def read() -> None:
        while (text := _receive(requests)) is not None:
            waiting.put(text)
        waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    _send(answers, compile_kernel("", quick=True))
    while (text := waiting.get()) is not None:
        try:
            code = compile_kernel(text.decode(), quick=True)
        except CompilationError:
            code = b""
        _send(answers, code)


def _send(pipe: IO[bytes], content: bytes) -> None:
    pipe.write(len(content).to_bytes(_SIZE, "little") + content)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    """The next content; None at the end, and where it is cut off."""
    size = pipe.read(_SIZE)
    if len(size) < _SIZE:
        return None
    content = pipe.read(int.from_bytes(size, "little"))
    return content if len(content) == int.from_bytes(size, "little") else None
