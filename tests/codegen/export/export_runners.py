"""Generated files compiled or interpreted by the real tools, over samples of arguments.

A runner takes the file of a program and rows of numbers (all arguments end to end, matrices by columns); it gives rows of
results. Numbers pass through text of 17 digits, which is exact.
"""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from draisine.codegen.export.language import Argument

TOOLS = {
    "c": "gcc",
    "fortran": "gfortran",
    "julia": "julia",
    "octave": "octave-cli",
    "javascript": "node",
    "script": "node",
    "rust": "rustc",
    "python": None,
}
_SECONDS = 300


def run(language, path: Path, program, rows: np.ndarray) -> np.ndarray:
    """Results of the function in the file, one row per row of arguments."""
    rows = np.ascontiguousarray(rows, dtype=float)
    if not present(language):
        pytest.skip(f"{TOOLS[language]} is not installed: {language} is checked against golden files only")
    return _RUNNERS[language](path, program, rows)


def present(language: str) -> bool:
    """Whether the tool that runs the language is installed."""
    return TOOLS[language] is None or shutil.which(TOOLS[language]) is not None


def arguments(program) -> tuple[list[Argument], list[Argument]]:
    return [Argument(s.name, s) for s in program.inputs], [Argument(s.name, s) for s in program.outputs]


def _tool(*command: object, text: str | None = None, cwd: Path | None = None) -> str:
    done = subprocess.run([str(c) for c in command], input=text, capture_output=True, text=True, timeout=_SECONDS, cwd=cwd)
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def _sizes(slots) -> list[int]:
    return [slot.size for slot in slots]


def _as_text(rows: np.ndarray, infinity: str = "Infinity", nan: str = "NaN") -> str:
    words = [f"{v:.17g}" for v in rows.ravel()]
    return "\n".join(w.replace("inf", infinity).replace("nan", nan) for w in words) + "\n"


def _from_text(text: str, rows: np.ndarray, program) -> np.ndarray:
    return np.array([float(w) for w in text.split()]).reshape(len(rows), sum(_sizes(program.outputs)))


def _split(row: np.ndarray, slots) -> list[np.ndarray]:
    ends = np.cumsum(_sizes(slots))[:-1]
    return np.split(row, ends) if len(slots) else []


# ---------------------------------------------------------------- one function per language


def _c(path: Path, program, rows: np.ndarray) -> np.ndarray:
    library = path.with_suffix(".so")
    level = (
        "-O1" if path.stat().st_size < 200_000 else "-O0"
    )  # -O1 finds more to warn of, but takes seconds for thousands of lines
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Werror", level]
    _tool("gcc", *strict, "-shared", "-fPIC", "-o", library, path, "-lm")
    function = getattr(ctypes.CDLL(str(library)), path.stem)
    function.restype = None
    inputs, outputs = arguments(program)
    made = []
    for row in rows:
        given = [
            ctypes.c_double(part[0]) if a.is_number else np.ascontiguousarray(part)
            for a, part in zip(inputs, _split(row, program.inputs), strict=True)
        ]
        taken = [np.full(max(a.slot.size, 1), -77.0) for a in outputs]
        pointers = [g if isinstance(g, ctypes.c_double) else ctypes.c_void_p(g.ctypes.data) for g in given]
        function(*pointers, *[ctypes.c_void_p(t.ctypes.data) for t in taken])
        made.append(np.concatenate([t[: a.slot.size] for a, t in zip(outputs, taken, strict=True)]))
    return np.array(made)


def _python(path: Path, program, rows: np.ndarray) -> np.ndarray:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    inputs, outputs = arguments(program)
    given, begin = [], 0
    for a in inputs:
        block = rows[:, begin : begin + a.slot.size]
        begin += a.slot.size
        if a.is_number:
            block = block[:, 0]
        elif a.is_matrix:
            block = block.reshape(len(rows), *a.slot.shape[::-1]).swapaxes(1, 2)
        given.append(block)
    results = getattr(module, path.stem)(*given)
    results = results if isinstance(results, tuple) else (results,)
    shapes = [() if a.is_number else a.slot.shape if a.is_matrix else (a.slot.size,) for a in outputs]
    assert [r.shape for r in results] == [(len(rows), *shape) for shape in shapes]
    flat = [np.swapaxes(r, 1, 2) if a.is_matrix else r for a, r in zip(outputs, results, strict=True)]
    return np.concatenate([r.reshape(len(rows), -1) for r in flat], axis=1)


def _javascript(path: Path, program, rows: np.ndarray) -> np.ndarray:
    inputs, _ = arguments(program)
    lines = [
        f'import {{ {path.stem} as f }} from "./{path.name}";',
        'import { readFileSync } from "node:fs";',
        'const words = readFileSync(0, "utf8").split("\\n").filter((w) => w).map(Number);',
        "const take = (n) => Float64Array.from(words.splice(0, n));",
        f"for (let k = 0; k < {len(rows)}; k++) {{",
        f"  const result = f({', '.join(f'take({a.slot.size})' + ('[0]' if a.is_number else '') for a in inputs)});",
        "  for (const slot of Object.values(result)) {",
        '    for (const v of typeof slot === "number" ? [slot] : slot) console.log(String(v));',
        "  }",
        "}",
    ]
    driver = path.with_name("driver.mjs")
    driver.write_text("\n".join(lines))
    return _from_text(_tool("node", driver, text=_as_text(rows)), rows, program)


def _script(path: Path, program, rows: np.ndarray) -> np.ndarray:
    inputs, outputs = arguments(program)
    given = [f"take({a.slot.size})" + ("[0]" if a.is_number else "") for a in inputs] + [f"r{k}" for k in range(len(outputs))]
    lines = [
        'const { readFileSync } = require("node:fs");',
        f'(0, eval)(readFileSync("{path}", "utf8"));  // as a page runs it: no module',
        'const words = readFileSync(0, "utf8").split("\\n").filter((w) => w).map(Number);',
        "const take = (n) => Float64Array.from(words.splice(0, n));",
        *(f"const r{k} = new Float64Array({a.slot.size});" for k, a in enumerate(outputs)),
        f"for (let k = 0; k < {len(rows)}; k++) {{",
        f"  Draisine.programs.{path.stem}({', '.join(given)});",
        f"  for (const slot of [{', '.join(f'r{k}' for k in range(len(outputs)))}]) {{",
        "    for (const v of slot) console.log(String(v));",
        "  }",
        "}",
    ]
    driver = path.with_name("driver.cjs")
    driver.write_text("\n".join(lines))
    return _from_text(_tool("node", driver, text=_as_text(rows)), rows, program)


def _rust(path: Path, program, rows: np.ndarray) -> np.ndarray:
    inputs, outputs = arguments(program)
    reads = [
        f"        let a{k} = [{', '.join(['next()'] * a.slot.size)}];" if not a.is_number else f"        let a{k} = next();"
        for k, a in enumerate(inputs)
    ]
    makes = [f"        let mut r{k} = {'0.0' if a.is_number else f'[0.0_f64; {a.slot.size}]'};" for k, a in enumerate(outputs)]
    given = [f"a{k}" if a.is_number else f"&a{k}" for k, a in enumerate(inputs)] + [f"&mut r{k}" for k in range(len(outputs))]
    show = ['println!("{:?}", RESULT);', 'for v in RESULT { println!("{:?}", v); }']
    shows = [" " * 8 + show[not a.is_number].replace("RESULT", f"r{k}") for k, a in enumerate(outputs)]
    lines = [
        "#![deny(warnings)]",
        f'#[path = "{path.name}"] mod exported;',
        "use std::io::Read;",
        "fn main() {",
        "    let mut text = String::new();",
        "    std::io::stdin().read_to_string(&mut text).unwrap();",
        "    let mut words = text.split_whitespace();",
        "    #[allow(unused)] let mut next = || words.next().unwrap().parse::<f64>().unwrap();",
        f"    for _ in 0..{len(rows)} {{",
        *reads,
        *makes,
        f"        exported::{path.stem}({', '.join(given)});",
        *shows,
        "    }",
        "}",
    ]
    driver = path.with_name("driver.rs")
    driver.write_text("\n".join(lines))
    program_file = path.with_name("driver")
    _tool("rustc", "--edition", "2021", "-o", program_file, driver)
    return _from_text(_tool(program_file, text=_as_text(rows, "inf", "NaN")), rows, program)


def _fortran(path: Path, program, rows: np.ndarray) -> np.ndarray:
    inputs, outputs = arguments(program)

    def shape(a: Argument) -> str:
        return "" if a.is_number else f"({a.slot.shape[0]}, {a.slot.shape[1]})" if a.is_matrix else f"({a.slot.size})"

    names = [f"a{k}" for k in range(len(inputs))], [f"r{k}" for k in range(len(outputs))]
    lines = [
        "program driver",
        "    use, intrinsic :: iso_fortran_env, only: dp => real64",
        f"    use {path.stem}_module, only: {path.stem}",
        "    implicit none",
        "    integer :: turn_of_driver",
        *(f"    real(dp) :: {n}{shape(a)}" for n, a in zip(names[0] + names[1], inputs + outputs, strict=True)),
        f"    do turn_of_driver = 1, {len(rows)}",
        *(f"        read (*, *) {n}" for n, a in zip(names[0], inputs, strict=True) if a.slot.size),
        f"        call {path.stem}({', '.join(names[0] + names[1])})",
        *(f"        write (*, '(es26.17e3)') {n}" for n, a in zip(names[1], outputs, strict=True) if a.slot.size),
        "    end do",
        "end program",
    ]
    driver = path.with_name("driver.f90")
    driver.write_text("\n".join(lines))
    program_file = path.with_name("driver_f")
    strict = ["-std=f2008", "-pedantic", "-Wall", "-Wno-unused-dummy-argument", "-Werror", "-O0"]
    _tool("gfortran", *strict, "-o", program_file, path, driver, cwd=path.parent)
    return _from_text(_tool(program_file, text=_as_text(rows)), rows, program)


def _octave(path: Path, program, rows: np.ndarray) -> np.ndarray:
    inputs, outputs = arguments(program)
    begins = np.concatenate([[0], np.cumsum(_sizes(program.inputs))])
    given = [f"reshape(row({begins[k] + 1}:{begins[k + 1]}), {a.slot.shape[0]}, {a.slot.shape[1]})" for k, a in enumerate(inputs)]
    taken = [f"r{k}" for k in range(len(outputs))]
    path.with_name("numbers.txt").write_text(_as_text(rows, "Inf", "NaN"))
    lines = [
        "1;",
        'words = strsplit(strtrim(fileread("numbers.txt")), "\\n");',
        f"numbers = reshape(str2double(words), [], {len(rows)});",
        f"for turn_of_driver = 1:{len(rows)}",
        "  row = numbers(:, turn_of_driver);",
        f"  [{', '.join(taken)}] = {path.stem}({', '.join(given)});",
        f'  printf("%.17g\\n", [{"; ".join(t + "(:)" for t in taken)}]);',
        "end",
    ]
    driver = path.with_name("octave_driver.m")
    driver.write_text("\n".join(lines))
    text = _tool("octave-cli", "--norc", "--quiet", driver.name, cwd=path.parent)
    return _from_text(text, rows, program)


def _julia(path: Path, program, rows: np.ndarray) -> np.ndarray:
    inputs, outputs = arguments(program)
    given = [
        "take(1)[1]"
        if a.is_number
        else f"reshape(take({a.slot.size}), {', '.join(map(str, a.slot.shape))})"
        if a.is_matrix
        else f"take({a.slot.size})"
        for a in inputs
    ]
    lines = [
        f'include("{path.name}")',
        "words = parse.(Float64, split(read(stdin, String)))",
        "take(n) = [popfirst!(words) for _ in 1:n]",
        f"for _ in 1:{len(rows)}",
        f"    result = {path.stem}({', '.join(given)})",
        f"    for slot in {'result' if len(outputs) != 1 else '(result,)'}, v in slot",
        "        println(v)",
        "    end",
        "end",
    ]
    driver = path.with_name("driver.jl")
    driver.write_text("\n".join(lines))
    return _from_text(_tool("julia", "--startup-file=no", driver, text=_as_text(rows, "Inf", "NaN")), rows, program)


_RUNNERS: dict[str, Callable[[Path, object, np.ndarray], np.ndarray]] = {
    "c": _c,
    "fortran": _fortran,
    "julia": _julia,
    "octave": _octave,
    "javascript": _javascript,
    "script": _script,
    "rust": _rust,
    "python": _python,
}
