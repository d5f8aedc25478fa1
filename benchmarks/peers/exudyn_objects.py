"""The mechanisms of Exudyn's own objects, in its fast build: plane rigid bodies with revolute joints, mass points with distances.

With constraints it integrates by the implicit trapezoidal rule at velocity level or by generalized α, both of second order
with a fixed step; the former has the smaller error at the same step, and a step of either costs the same. Its explicit
methods take no multipliers, but a chain is a tree: in joint coordinates (`KinematicTree`) they apply, and DOPRI5 with step
control is the best that Exudyn has for it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from equal_accuracy import TOLERANCES, Solve, SolverSettings, Vector
from peers.planar import GRAVITY, Bars

STEPS = tuple(round(100 * 2 ** (k / 2)) for k in range(24))  # in the whole run
SPARSE_FROM = 20  # masses
Built = tuple[Any, Any, Callable[[], Vector]]  # the container, which must live on, its system, and the coordinates at the end


def _exudyn() -> Any:
    """The module without range checks. It says so on the standard output, which belongs to the table."""
    sys.exudynFast = True  # type: ignore[attr-defined]
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        import exudyn
        import exudyn.itemInterface
    return exudyn


def four_bar_solvers(bars: Bars, q_start: Vector, v_start: Vector, until: float) -> list[SolverSettings]:
    ready = partial(_constrained, _four_bar(bars, q_start, v_start), until, False)
    return [SolverSettings("Exudyn, trapezoidal", STEPS, "{:,} steps", ready)]


def chain_solvers(masses: int, until: float) -> list[SolverSettings]:
    return [
        SolverSettings("Exudyn tree, DOPRI5", TOLERANCES, "tolerance {:.0e}", partial(_explicit, _tree(masses), until)),
        SolverSettings(
            "Exudyn, trapezoidal", STEPS, "{:,} steps", partial(_constrained, _chain(masses), until, masses >= SPARSE_FROM)
        ),
    ]


# ------------------------------------------------------------------------------------------------ objects


def _four_bar(bars: Bars, q_start: Vector, v_start: Vector) -> Built:
    exudyn = _exudyn()
    items = exudyn.itemInterface
    container = exudyn.SystemContainer()
    system = container.AddSystem()
    lengths = (bars.crank, bars.coupler, bars.rocker)
    along = np.column_stack([np.cos(q_start), np.sin(q_start)])
    swing = np.column_stack([-np.sin(q_start), np.cos(q_start)]) * v_start[:, None]
    foots = ((0.0, 0.0), bars.crank * along[0], (bars.ground, 0.0))
    moves = ((0.0, 0.0), bars.crank * swing[0], (0.0, 0.0))
    nodes, bodies = [], []
    for k, length in enumerate(lengths):
        middle, velocity = foots[k] + length / 2 * along[k], moves[k] + length / 2 * swing[k]
        mass = bars.density * length
        nodes.append(
            system.AddNode(
                items.Rigid2D(referenceCoordinates=[*middle, q_start[k]], initialVelocities=[*velocity, float(v_start[k])])
            )
        )
        bodies.append(system.AddObject(items.RigidBody2D(mass=mass, inertia=mass * length**2 / 12, nodeNumber=nodes[-1])))
        marker = system.AddMarker(items.MarkerBodyPosition(bodyNumber=bodies[-1], localPosition=[0, 0, 0]))
        system.AddLoad(items.LoadForceVector(markerNumber=marker, loadVector=[0, mass * GRAVITY, 0]))  # angles count downwards
    ground = system.AddObject(items.ObjectGround())
    crank, coupler, rocker = bodies
    for one, at, other, there in (
        (ground, 0.0, crank, -bars.crank / 2),
        (crank, bars.crank / 2, coupler, -bars.coupler / 2),
        (coupler, bars.coupler / 2, rocker, bars.rocker / 2),
        (ground, bars.ground, rocker, -bars.rocker / 2),
    ):
        markers = [
            system.AddMarker(items.MarkerBodyPosition(bodyNumber=body, localPosition=[x, 0, 0]))
            for body, x in ((one, at), (other, there))
        ]
        system.AddObject(items.RevoluteJoint2D(markerNumbers=markers))
    system.Assemble()
    kind = exudyn.OutputVariableType.Coordinates  # beyond the reference
    return container, system, lambda: q_start + np.array([system.GetNodeOutput(node, kind)[2] for node in nodes])


def _chain(masses: int) -> Built:
    exudyn = _exudyn()
    items = exudyn.itemInterface
    container = exudyn.SystemContainer()
    system = container.AddSystem()
    above = system.AddMarker(items.MarkerBodyPosition(bodyNumber=system.AddObject(items.ObjectGround()), localPosition=[0, 0, 0]))
    nodes = []
    for k in range(masses):
        nodes.append(system.AddNode(items.NodePoint2D(referenceCoordinates=[k + 1, 0])))
        system.AddObject(items.MassPoint2D(mass=1.0, nodeNumber=nodes[-1]))
        marker = system.AddMarker(items.MarkerNodePosition(nodeNumber=nodes[-1]))
        system.AddLoad(items.LoadForceVector(markerNumber=marker, loadVector=[0, -GRAVITY, 0]))
        system.AddObject(items.DistanceConstraint(markerNumbers=[above, marker], distance=1.0))
        above = marker
    system.Assemble()
    kind = exudyn.OutputVariableType.Position
    return container, system, lambda: np.concatenate([system.GetNodeOutput(node, kind)[:2] for node in nodes])


def _tree(masses: int) -> Built:
    """In the angles of each rod against the one before it."""
    exudyn = _exudyn()
    items = exudyn.itemInterface
    container = exudyn.SystemContainer()
    system = container.AddSystem()
    rest = [0.0] * masses
    node = system.AddNode(
        items.NodeGenericODE2(
            referenceCoordinates=rest, initialCoordinates=rest, initialCoordinates_t=rest, numberOfODE2Coordinates=masses
        )
    )
    turns, inertias, offsets, centers = exudyn.Matrix3DList(), exudyn.Matrix3DList(), exudyn.Vector3DList(), exudyn.Vector3DList()
    for k in range(masses):
        turns.Append(np.eye(3))
        inertias.Append(np.zeros((3, 3)))
        offsets.Append([1.0 if k else 0.0, 0, 0])
        centers.Append([1.0, 0, 0])
    system.AddObject(
        items.ObjectKinematicTree(
            **{
                "nodeNumber": node,
                "jointTypes": [exudyn.JointType.RevoluteZ] * masses,
                "linkParents": list(range(-1, masses - 1)),
            },
            **{"jointTransformations": turns, "jointOffsets": offsets, "baseOffset": [0, 0, 0], "gravity": [0, -GRAVITY, 0]},
            **{"linkInertiasCOM": inertias, "linkCOMs": centers, "linkMasses": [1.0] * masses},
        )
    )
    system.Assemble()

    def places() -> Vector:
        angles = np.cumsum(system.GetNodeOutput(node, exudyn.OutputVariableType.Coordinates))
        return np.column_stack([np.cumsum(np.cos(angles)), np.cumsum(np.sin(angles))]).ravel()

    return container, system, places


# ------------------------------------------------------------------------------------------------ methods


def _settings(exudyn: Any, until: float, steps: int) -> Any:
    """Nothing is written and nothing is shown."""
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.endTime = until
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.verboseMode = 0
    settings.solution.file.write = False
    return settings


def _constrained(built: Built, until: float, sparse: bool, steps: float) -> Solve:
    exudyn = _exudyn()
    settings = _settings(exudyn, until, int(steps))
    settings.timeIntegration.newton.useModifiedNewton = True
    if sparse:
        settings.linearSolver.solverType = exudyn.LinearSolverType.EigenSparse
    return _solve(built, settings, exudyn.DynamicSolverType.TrapezoidalIndex2)


def _explicit(built: Built, until: float, tolerance: float) -> Solve:
    exudyn = _exudyn()
    settings = _settings(exudyn, until, 1)  # as large a step as the tolerance allows
    settings.timeIntegration.automaticStepSize = True
    settings.timeIntegration.initialStepSize = 1e-3
    settings.timeIntegration.absoluteTolerance = settings.timeIntegration.relativeTolerance = tolerance
    return _solve(built, settings, exudyn.DynamicSolverType.DOPRI5)


def _solve(built: Built, settings: Any, method: Any) -> Solve:
    _, system, end = built

    def solve() -> Vector:
        system.SolveDynamic(settings, solverType=method)  # from the initial values, every time
        return end()

    return solve
