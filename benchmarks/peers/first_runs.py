"""The bicycle's free run as the only thing that a new process does, once per peer: from nothing to its end.

As a program it takes the peer's name and our values of the parameters as JSON, and prints |lean| and |steer| at the end and
the most memory it had, in MiB, compilers it started included. All of them start upright, where no constraint has to be solved.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SPEED, LEAN_RATE, UNTIL, TOLERANCE, SAMPLES = 4.6, 0.5, 5.0, 1e-8, 501
Ends = tuple[float, float]  # lean and steer


def pydy(values: dict[str, float]) -> Ends:
    """Kane's method, Cython, odeint."""
    from peers import pydy_bicycle as made

    rhs, known = made.generate(made.derive()), made.constants()
    found = _odeint(rhs, made.upright(SPEED, LEAN_RATE), [known[name] for name in made.CONSTANTS])
    return float(found[-1, made.COORDINATES.index("lean")]), float(found[-1, made.COORDINATES.index("steer")])


def symbrim(values: dict[str, float]) -> Ends:
    """SymBRiM's parts, Kane's method, Cython, odeint."""
    from peers import symbrim_bicycle as made

    bicycle = made.derive()
    places = made.places(bicycle)
    found = _odeint(made.generate(bicycle), made.upright(bicycle, SPEED, LEAN_RATE), made.values())
    return float(found[-1, places[made.LEAN]]), float(found[-1, places[made.STEER]])


def casadi(values: dict[str, float]) -> Ends:
    """Written out by hand in CasADi, CVODES, interpreted: compiling takes it longer than a run."""
    from peers import casadi_bicycle as made

    lean, steer = made.cvodes(made.written(list(values)), values, SPEED, LEAN_RATE, UNTIL, TOLERANCE)()
    return float(lean), float(steer)


def _odeint(rhs: Callable[..., Any], begin: Any, constants: Any) -> Any:
    import numpy as np
    from scipy.integrate import odeint

    times, given = np.linspace(0.0, UNTIL, SAMPLES), (np.array(constants),)
    return odeint(rhs, np.array(begin), times, args=given, rtol=TOLERANCE, atol=TOLERANCE, mxstep=5000)


def memory() -> float:
    """The peak since this program began, or of a compiler it started; what getrusage reports includes the parent's."""
    import resource

    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    own = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return max(*own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024 if own else float("nan")


if __name__ == "__main__":
    ways = {"pydy": pydy, "symbrim": symbrim, "casadi": casadi}
    lean, steer = ways[sys.argv[1]](json.loads(sys.argv[2]))
    print(json.dumps({"end": [abs(lean), abs(steer)], "memory": memory()}))
