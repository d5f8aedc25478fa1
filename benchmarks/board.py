"""The scoreboard: figures by part, with the machine, the versions and the source they belong to, kept on disk and read again."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from figure import Figure, of_json

PEERS = ("sympy", "pydy", "cython", "symbrim", "casadi", "opty", "cyipopt", "exudyn", "scipy_dae", "pin", "mujoco")
BUSY = 0.25  # cores that others may use during a part before its times say little


class OtherMachine(Exception):
    """Figures that are kept were measured elsewhere, or with other versions."""


@dataclass(frozen=True)
class Part:
    """Figures that were measured together, and how that went."""

    title: str
    about: str  # what is measured, and how
    figures: Sequence[Figure]
    source: str  # which code: `source` below
    when: str  # the day
    seconds: float  # that measuring took
    load: float  # processes that wanted to run when it began, as the system counts them; ours are about one
    failure: str = ""  # why figures are missing
    load_after: float = 0.0  # the same when it ended, with whatever processes it used
    others: float = 0.0  # cores that other processes used meanwhile, on average

    def as_data(self) -> dict[str, Any]:
        return {**vars(self), "figures": [figure.as_json() for figure in self.figures]}

    @staticmethod
    def of_data(reported: Mapping[str, Any]) -> Part:
        return Part(**{**reported, "figures": [of_json(figure) for figure in reported["figures"]]})


@dataclass
class Board:
    """Parts as they are measured; what is measured is on disk at once."""

    machine: Mapping[str, str]
    parts: dict[str, Part] = field(default_factory=dict)

    def figures(self) -> Iterator[tuple[Part, Figure]]:
        for part in self.parts.values():
            for figure in part.figures:
                yield part, figure

    @property
    def losses(self) -> list[tuple[Part, Figure]]:
        """Where a peer's figure is better than ours, the worst first."""
        lost = [(part, figure) for part, figure in self.figures() if figure.loses]
        return sorted(lost, key=lambda found: found[1].ratio or 0.0)

    @property
    def unmet(self) -> list[tuple[Part, Figure]]:
        return [(part, figure) for part, figure in self.figures() if figure.met is False]

    @property
    def failures(self) -> dict[str, str]:
        return {name: part.failure for name, part in self.parts.items() if part.failure}

    @property
    def sources(self) -> set[str]:
        return {part.source for part in self.parts.values()}

    @property
    def disturbed(self) -> list[Part]:
        """Parts that began when more processes wanted to run than there are cores, or met others: their times say little."""
        cores = int(self.machine.get("cores", 1))
        return [part for part in self.parts.values() if part.load > cores or part.others > BUSY]

    def done(self, name: str, source: str) -> bool:
        """Whether a part is measured as a whole, with this very code."""
        return name in self.parts and self.parts[name].source == source and not self.parts[name].failure

    def put(self, name: str, part: Part, order: Sequence[str]) -> None:
        """A part in its place among the others, instead of what stood there."""
        parts = {**self.parts, name: part}
        known = [one for one in order if one in parts]
        self.parts = {one: parts[one] for one in (*known, *(one for one in parts if one not in known))}

    def as_data(self) -> dict[str, Any]:
        return {"machine": dict(self.machine), "parts": {name: part.as_data() for name, part in self.parts.items()}}

    @staticmethod
    def of_data(reported: Mapping[str, Any]) -> Board:
        return Board(dict(reported["machine"]), {name: Part.of_data(part) for name, part in reported["parts"].items()})

    def write(self, stem: Path) -> None:
        """`stem`.json, .md and .html, each of them whole at any time."""
        from tables import markdown, page

        stem.parent.mkdir(parents=True, exist_ok=True)
        texts = {
            ".json": json.dumps(self.as_data(), indent=1, ensure_ascii=False) + "\n",
            ".md": markdown(self) + "\n",
            ".html": page(self),
        }
        for suffix, text in texts.items():
            unfinished = stem.with_name(stem.name + suffix + ".unfinished")
            unfinished.write_text(text, encoding="utf-8")
            os.replace(unfinished, stem.with_name(stem.name + suffix))


def kept(stem: Path, machine: Mapping[str, str]) -> Board:
    """What `stem`.json has, to go on with; an empty board where there is none. Figures of two machines never share a table."""
    file = stem.with_name(stem.name + ".json")
    if not file.exists():
        return Board(machine)
    found = Board.of_data(json.loads(file.read_text(encoding="utf-8")))
    names = dict.fromkeys((*found.machine, *machine))
    apart = [f"{n}: {found.machine.get(n, 'unknown')}, now {machine.get(n, 'unknown')}" for n in names]
    apart = [text for n, text in zip(names, apart, strict=True) if found.machine.get(n) != machine.get(n)]
    if apart:
        raise OtherMachine(
            f"{file} was measured elsewhere or with other versions ({'; '.join(apart)}). Measure all parts anew (neither --only "
            "nor --resume), or keep these in another folder."
        )
    return found


# ------------------------------------------------------------------------------------------------ what figures belong to


def machine(draisine: str, peers: bool) -> dict[str, str]:
    """What the figures were measured on, and with."""
    facts = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "draisine": draisine,
    }
    for name in ("numpy", "scipy", "llvmlite", *(PEERS if peers else ())):
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            facts[name] = "absent"
    return facts


def load() -> float:
    """How many processes wanted to run in the last minute; 0 where the system does not report it."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def busy_seconds() -> tuple[float, float]:
    """Seconds that all cores have worked so far: for any process, and for this one with those it waited for.

    Their difference is what others did. Both are 0 where the system does not report it.
    """
    counters = Path("/proc/stat")
    if not counters.exists():
        return 0.0, 0.0
    user, nice, system, _, _, interrupts, soft = (int(n) for n in counters.read_text().split("\n", 1)[0].split()[1:8])
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK"), sum(os.times()[:4])


def source(folders: Iterable[Path]) -> str:
    """A short name for the code of some folders: it changes with every change of theirs."""
    found = hashlib.sha256()
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            found.update(f"{file.relative_to(folder).as_posix()}\0".encode())
            found.update(file.read_bytes())
    return found.hexdigest()[:12]


def _processor() -> str:
    """The model's name where the system reports it."""
    listed = Path("/proc/cpuinfo")
    names = (
        [line.partition(":")[2].strip() for line in listed.read_text().splitlines() if "model name" in line]
        if listed.exists()
        else []
    )
    return names[0] if names else platform.processor() or platform.machine()
