"""opty's countersteering problem, solved by opty: 201 nodes, backward Euler, from opty's own guess.

The equations are those of the gallery's `simple_bicycle(as_printed=True)`, lean to the other side. As a program it takes the
backend ("numpy" or "cython") and prints seconds of set-up, seconds of solving, and the duration of the turn as JSON.
"""

from __future__ import annotations

import json
import sys
import time

NODES = 201


def main(backend: str) -> None:
    import numpy as np
    import sympy as sp
    from opty import Problem
    from sympy.physics.mechanics import dynamicsymbols

    names = "lean roll_rate x y heading steer"
    states = lean, roll_rate, x, y, heading, steer = [dynamicsymbols(name) for name in names.split()]
    steer_rate, t, step = dynamicsymbols("steer_rate"), dynamicsymbols._t, sp.Symbol("step")
    constants = {"I_roll": 9.2, "I_pitch": 11.0, "I_yaw": 2.8, "a": 0.5, "b": 1.0, "g": 9.81, "h": 1.0, "m": 87.0, "v": 5.0}
    symbols = {name: sp.Symbol(name) for name in constants}
    i_roll, i_pitch, i_yaw, a, b, g, h, m, v = symbols.values()
    turn = v * sp.tan(steer) / b
    inward = a * v / b / sp.cos(steer) ** 2 * steer_rate + v * sp.tan(steer)
    began = time.perf_counter()
    residuals = sp.Matrix(
        [
            lean.diff(t) - roll_rate,
            (i_roll + m * h**2) * roll_rate.diff(t)
            + (i_yaw - i_pitch - m * h**2) * turn**2 * sp.sin(lean) * sp.cos(lean)
            - m * g * h * sp.sin(lean)
            + m * h * sp.cos(lean) * inward,
            x.diff(t) - v * sp.cos(heading),
            y.diff(t) - v * sp.sin(heading),
            heading.diff(t) - turn,
            steer.diff(t) - steer_rate,
        ]
    )
    end = (NODES - 1) * step
    fixed = [s.func(0 * step) for s in states]
    fixed += [lean.func(end), roll_rate.func(end), heading.func(end) - np.pi / 2, steer.func(end)]
    bounds = {
        heading: (-2 * np.pi, 2 * np.pi),
        lean: (-np.pi / 2, np.pi / 2),
        steer: (-np.pi / 2, np.pi / 2),
        steer_rate: (-np.deg2rad(200), np.deg2rad(200)),
        roll_rate: (-np.deg2rad(100), np.deg2rad(100)),
        step: (0.001, 0.5),
    }

    def gradient(free):  # type: ignore[no-untyped-def]
        slope = np.zeros_like(free)
        slope[-1] = 1.0
        return slope

    problem = Problem(
        lambda free: free[-1],
        gradient,
        residuals,
        states,
        NODES,
        step,
        known_parameter_map={symbols[n]: value for n, value in constants.items()},
        instance_constraints=tuple(fixed),
        bounds=bounds,
        time_symbol=t,
        backend=backend,
    )
    problem.add_option("print_level", 0)
    ready = time.perf_counter()
    solution, reported = problem.solve(0.01 * np.ones(problem.num_free))
    done = time.perf_counter()
    turned = (NODES - 1) * float(solution[-1])
    print(json.dumps({"set_up": ready - began, "solve": done - ready, "duration": turned, "status": int(reported["status"])}))


if __name__ == "__main__":
    main(*sys.argv[1:])
