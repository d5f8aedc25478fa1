"""Where the bodies are: poses as a program, for those who draw or measure and derive nothing."""

from __future__ import annotations

import casadi as ca

from draisine.dynamics.kinematics.tree import grow
from draisine.dynamics.kinematics.twists import poses
from draisine.dynamics.lowering import Scope
from draisine.model.items import System
from draisine.model.model import Model
from draisine.program.program import Program


def places(model: Model | System) -> Program:
    """(t, q, p) → for each body, by its name, the 3 × 4 matrix [R | r]: rotation to the world's axes, and its origin.

    >>> from draisine.model import Model
    >>> m = Model("pendulum")
    >>> _ = m.revolute("swing", "ground", m.body("bob", mass=1.0), axis="y", at=(0, 0, 2.0))
    >>> (places(m)([0.0], [0.0], [])[0] + 0.0).tolist()
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]]
    """
    system = model.freeze() if isinstance(model, Model) else model
    scope = Scope(system)
    found = poses(grow(system, scope))
    matrices = {
        name: ca.densify(ca.vertcat(*[ca.horzcat(*pose.rotation[k], pose.position[k]) for k in range(3)]))
        for name, pose in found.items()
    }
    arguments = {"t": (scope.t, ["t"]), "q": (scope.q, scope.coordinates), "p": (scope.p, scope.parameters)}
    return Program.build(f"{system.name}_places", arguments, matrices)
