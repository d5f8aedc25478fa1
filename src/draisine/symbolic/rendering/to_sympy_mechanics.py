"""A small model as a `LagrangesMethod` of `sympy.physics.mechanics`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sympy.physics.mechanics import LagrangesMethod

    from draisine.symbolic.rendering.symbolic import SymbolicEquations


def lagranges_method(found: SymbolicEquations) -> LagrangesMethod:
    """Energies, constraints and forces of a model in SymPy's functions of time.

    SymPy's forces act at points: for each coordinate q there is a point that moves at q̇ along x of a frame, and the generalized
    force Q acts on it, so that its power is Q q̇.
    """
    import sympy
    from sympy.physics.mechanics import LagrangesMethod, Point, ReferenceFrame, dynamicsymbols

    coordinates = [dynamicsymbols(symbol.name) for symbol in found.coordinates]
    rates = [q.diff(dynamicsymbols._t) for q in coordinates]
    moving: dict[Any, Any] = {sympy.Symbol("t", real=True): dynamicsymbols._t}
    moving |= dict(zip(found.coordinates, coordinates, strict=True)) | dict(zip(found.velocities, rates, strict=True))

    def crossed(matrix: Any) -> list[Any]:
        return [entry.xreplace(moving) for entry in matrix]

    frame = ReferenceFrame("world")
    loads = []
    for q, rate, force in zip(coordinates, rates, crossed(found.Q), strict=True):
        point = Point(f"{q.func}_moved")
        point.set_vel(frame, rate * frame.x)
        loads += [(point, force * frame.x)] if force != 0 else []
    (energy,) = crossed(found.kinetic - found.potential)
    holonomic, nonholonomic = crossed(found.position_residuals), crossed(found.velocity_residuals)
    return LagrangesMethod(energy, coordinates, forcelist=loads, frame=frame, hol_coneqs=holonomic, nonhol_coneqs=nonholonomic)
