"""Scenes in Siconos, time stepping by Moreau and Jean: `python siconos_scenes.py < scene.json` prints the last state as JSON.

Siconos is a Debian package (`python3-siconos`) for the system's interpreter: this file imports nothing of ours, and runs there.
A scene has a diagonal mass matrix, forces, initial q and v, contacts with constant rows (gap = rows[0]·q + offset, slip =
rows[1]·q̇), friction and restitution, the time and the number of steps.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import siconos.kernel as sk


def run(scene: dict[str, Any]) -> dict[str, list[float]]:
    q, v, force = (np.array(scene[name], dtype=float) for name in ("q", "v", "force"))
    bodies = sk.LagrangianLinearTIDS(q, v, np.diag(scene["mass"]))
    bodies.setFExtPtr(force)
    system = sk.NonSmoothDynamicalSystem(0.0, scene["until"])
    system.insertDynamicalSystem(bodies)
    keep = []
    for contact in scene["contacts"]:
        relation = sk.LagrangianLinearTIR(np.array(contact["rows"], dtype=float), np.array([contact["offset"], 0.0]))
        law = sk.NewtonImpactFrictionNSL(contact["restitution"], 0.0, contact["friction"], 2)
        keep.append((relation, law, sk.Interaction(law, relation)))
        system.link(keep[-1][2], bodies)
    problem = sk.FrictionContact(2)
    problem.setNumericsVerboseMode(False)
    problem.numericsSolverOptions().dparam[0] = 1e-12
    problem.numericsSolverOptions().iparam[0] = 10000
    steps = sk.TimeDiscretisation(0.0, scene["until"] / scene["steps"])
    simulation = sk.TimeStepping(system, steps, sk.MoreauJeanOSI(0.5), problem)
    for _ in range(scene["steps"]):
        simulation.computeOneStep()
        simulation.nextStep()
    return {"q": [float(c) for c in bodies.q()], "v": [float(c) for c in bodies.velocity()]}


if __name__ == "__main__":
    print(json.dumps(run(json.load(sys.stdin))))
