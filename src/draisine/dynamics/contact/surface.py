"""The ground as a surface z = s(x, y, t)."""

from __future__ import annotations

import casadi as ca

from draisine.dynamics.constraints.smoothness import check_smooth, may_switch
from draisine.dynamics.linear_algebra import UNIT, Vec, fold_constant, is_zero
from draisine.dynamics.lowering import Scope


class GroundSurface:
    """The ground z = s(x, y, t) of a description: point, normal and velocity of its material at (x, y).

    `without_slip`: whether a wheel rolls, a blade glides or a point sticks on it, whose slip would jump with its velocity."""

    def __init__(self, scope: Scope, without_slip: bool) -> None:
        ground = scope.system.ground
        self._place = ca.SX.sym("x"), ca.SX.sym("y")
        x, y = self._place
        at = {"x": x, "y": y}
        slope, bank = scope.value(ground.slope), scope.value(ground.bank)
        height = scope.value(ground.height, at)
        if may_switch(scope, ground.height):
            check_smooth(scope, "the height of the ground", height, variables=ca.vertcat(x, y))
        self._height = height + x * ca.tan(slope) + y * ca.tan(bank)
        self._jacobian = tuple(fold_constant(ca.jacobian(self._height, c)) for c in self._place)
        self._hessian = tuple(fold_constant(ca.jacobian(self._jacobian[i], self._place[j])) for i, j in ((0, 0), (0, 1), (1, 1)))
        along, across = (scope.value(v, at) for v in ground.velocity)
        if without_slip and may_switch(scope, *ground.velocity):
            check_smooth(scope, "the velocity of the ground", ca.vertcat(along, across), "velocity", ca.vertcat(x, y))
        # material points stay on the surface: dz = s_t dt + s_x dx + s_y dy
        lifted = ca.jacobian(self._height, scope.t) + self._jacobian[0] * along + self._jacobian[1] * across
        self._velocity = (along, across, lifted)
        self._friction = scope.value(ground.friction, at)

    def point(self, x: ca.SX, y: ca.SX) -> Vec:
        return x, y, self._at(self._height, x, y)

    def normal(self, x: ca.SX, y: ca.SX) -> Vec:
        """The unit normal, upwards."""
        if all(is_zero(s) for s in self._jacobian):
            return UNIT[2]
        size = ca.sqrt(1 + self._jacobian[0] ** 2 + self._jacobian[1] ** 2)
        return tuple(self._at(c / size, x, y) for c in (-self._jacobian[0], -self._jacobian[1], ca.SX(1)))  # type: ignore[return-value]

    @property
    def bent(self) -> bool:
        """Whether its normal depends on the position."""
        return not all(is_zero(c) for c in self._hessian)

    def curvature(self, x: ca.SX, y: ca.SX, a: Vec, b: Vec) -> ca.SX:
        """The second fundamental form II(a, b) of tangent vectors, of which x and y matter; positive in a hollow."""
        xx, xy, yy, rise_x, rise_y = self._derivatives(x, y)
        bent = xx * a[0] * b[0] + xy * (a[0] * b[1] + a[1] * b[0]) + yy * a[1] * b[1]
        return fold_constant(bent / ca.sqrt(1 + rise_x**2 + rise_y**2))

    def normal_curvature(self, x: ca.SX, y: ca.SX, along: Vec) -> ca.SX:
        """The curvature of the section above a horizontal direction, of which the length does not matter."""
        *_, rise_x, rise_y = self._derivatives(x, y)
        rise = fold_constant(rise_x * along[0] + rise_y * along[1])
        return self.curvature(x, y, along, along) / (along[0] ** 2 + along[1] ** 2 + rise**2)

    def _derivatives(self, x: ca.SX, y: ca.SX) -> list[ca.SX]:
        """Second derivatives s_xx, s_xy, s_yy and slopes s_x, s_y. Directions are multiplied to them afterwards: CasADi copies
        everything that it substitutes in, and a direction may be a long expression."""
        return list(ca.substitute([*self._hessian, *self._jacobian], [ca.vertcat(*self._place)], [ca.vertcat(x, y)]))

    def velocity(self, x: ca.SX, y: ca.SX) -> Vec:
        """Velocity of the ground's material point."""
        return tuple(self._at(c, x, y) for c in self._velocity)  # type: ignore[return-value]

    def friction(self, x: ca.SX, y: ca.SX) -> ca.SX:
        """Relative coefficient of friction."""
        return self._at(self._friction, x, y)

    def _at(self, quantity: ca.SX, x: ca.SX, y: ca.SX) -> ca.SX:
        return fold_constant(ca.substitute(ca.SX(quantity), ca.vertcat(*self._place), ca.vertcat(x, y)))
