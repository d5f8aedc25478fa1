"""What is found about the index of a system, for people and programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from draisine.dynamics.dae.index_report import Step
from draisine.results.base import Result


@dataclass(frozen=True)
class Elsewhere:
    """Another consistent point, and the differential index there."""

    differential: int
    point: dict[str, float] = field(repr=False)


@dataclass(frozen=True)
class Progress:
    """All equations differentiated so many times: how many conditions on the unknowns they hold, and which rates stay open."""

    times: int
    conditions: int
    open: tuple[str, ...]

    def __str__(self) -> str:
        rates = f"rates of {', '.join(self.open)} open" if self.open else "all rates determined"
        return f"{self.times} differentiations of all equations: {self.conditions} conditions on the unknowns, {rates}"


@dataclass(frozen=True)
class IndexReport(Result):
    """What the index of a system is, at a consistent point, and why.

    - `structural`: by the Σ-method, on the system as posed; `differential`: by ranks at `point`, None if none was found.
    - `perturbation`: as far as it follows; otherwise None, and a sentence gives what is known.
    - `freedoms`: how many numbers a start may choose; `unknowns`: index of each unknown by structure.
    - `steps`: what each differentiation of each equation removes, by structure; `progress`: what differentiations of all of them
      leave, by numbers; `elsewhere`: consistent points where the index differs.
    - `margin`: smallest singular value that counted and largest that did not, as fractions of the largest.
    """

    name: str
    structural: int
    differential: int | None
    perturbation: int | None
    freedoms: int | None
    unknowns: dict[str, int]
    steps: tuple[Step, ...]
    progress: tuple[Progress, ...]
    elsewhere: tuple[Elsewhere, ...]
    point: dict[str, float]
    margin: tuple[float, float] | None
    sentences: tuple[str, ...]

    def _table(self) -> Mapping[str, Any]:
        return {"unknown": list(self.unknowns), "index": list(self.unknowns.values())}

    def as_data(self) -> dict[str, Any]:
        """Plain numbers, texts and lists, for JSON."""
        data = asdict(self)
        data["steps"] = [asdict(step) | {"said": str(step)} for step in self.steps]
        return data

    def __str__(self) -> str:
        lines = [*self.sentences, *(str(step) for step in self.steps or self.progress)]
        return "\n".join([f"index of {self.name}", *(f"  {line}" for line in lines)])
