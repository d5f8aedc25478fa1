"""Angular velocities and velocities of SymPy's frames and points against their orientations and positions.

SymPy takes an angular velocity set by hand, and a velocity, as they are: a sign or a factor that does not belong to the
orientation gives equations of another mechanism. At random states that satisfy the constraints,

    ω× = Ṙ Rᵀ   of every frame of a body or torque, and   v_P = v_O + d/dt r   or   v_P = v_O + ω × r

of every mass center and point of a force, with a point O from which its position is given. The second form is that of two points
of one body, where O is not a fixed point of it: the contact point of a wheel. What has no orientation or position is not checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from draisine.dynamics.augmented.second_order import SecondOrder
from draisine.errors import ModelError
from draisine.symbolic.kane import BodySums, Mechanics, State, frame_of_dyadic
from draisine.symbolic.symbol_table import MechanicsSymbols

Reals = NDArray[np.float64]

SAME = 1e-8  # relative, between two velocities


def check_kinematics(m: Mechanics, system: SecondOrder, symbols: MechanicsSymbols, sampled: Sequence[State]) -> None:
    """Raise ModelError for frames and points whose velocities are not those of their orientations and positions."""
    found = _Kinematics(m, system, symbols, sampled)
    for frame in found.frames():
        found.check_frame(frame)
    for point in found.points():
        found.check_point(point)


class _Kinematics:
    def __init__(self, m: Mechanics, system: SecondOrder, symbols: MechanicsSymbols, sampled: Sequence[State]) -> None:
        self._m, self._system, self._symbols, self._sampled = m, system, symbols, sampled
        self._sums = BodySums(m.frame, symbols, system.q_rate)

    def frames(self) -> Iterator[Any]:
        """Frames of bodies, of their inertias and of torques."""
        from sympy.physics.mechanics import ReferenceFrame, RigidBody

        rigid = [body for body in self._m.bodies if isinstance(body, RigidBody)]
        listed = [*(b.frame for b in rigid), *(frame_of_dyadic(b.central_inertia) for b in rigid)]
        listed += [target for target, _ in self._m.loads if isinstance(target, ReferenceFrame)]
        yield from (f for f in dict.fromkeys(listed) if f is not None and f != self._m.frame)

    def points(self) -> Iterator[Any]:
        """Mass centers, and points of forces. The ground as a body rests, also where points that move are placed from it."""
        from sympy.physics.mechanics import Point

        centers = {getattr(body, "masscenter", None) or body.point: body for body in self._m.bodies}
        resting = [point for point, body in centers.items() if getattr(body, "frame", None) == self._m.frame]
        loaded = [target for target, _ in self._m.loads if isinstance(target, Point)]
        yield from (point for point in dict.fromkeys([*centers, *loaded]) if point not in resting)

    def check_frame(self, frame: Any) -> None:
        ground, what = self._m.frame, f"the frame {frame.name!r}"
        try:
            rotation = self._sums.rotation(ground, frame, what)
        except ModelError:  # no orientation
            return
        change = ca.reshape(self._sums.rate(ca.vec(rotation)), 3, 3) @ rotation.T
        turning = ca.vertcat(change[2, 1], change[0, 2], change[1, 0])
        given = self._sums.components(frame.ang_vel_in(ground), ground, what)
        if not self._agree(given, turning):
            raise ModelError(
                f"{self._symbols.name}: the angular velocity of {what} is not that of its orientation; correct set_ang_vel or "
                "the kinematic differential equations, or orient the frame by a coordinate that turns with it"
            )

    def check_point(self, point: Any) -> None:
        ground, what = self._m.frame, f"the point {point.name!r}"
        velocity = self._sums.components(point.vel(ground), ground, what)
        checked = False
        known = [other for other in point._pos_dict if ground in other._vel_dict]  # `vel` of others would define it
        for other in known:
            try:
                base = self._sums.components(other.vel(ground), ground, what)
                way = self._sums.components(point.pos_from(other), ground, what)
            except ModelError:  # no orientation of a frame
                continue
            checked = True
            relative = velocity - base
            if self._agree(relative, self._sums.rate(way)) or any(self._agree(relative, turned) for turned in self._turned(way)):
                return
        if checked:
            raise ModelError(
                f"{self._symbols.name}: the velocity of {what} is not the derivative of its position, nor that of a body on "
                "which it is fixed; correct set_vel or set_pos, or the kinematic differential equations"
            )

    def _turned(self, way: ca.SX) -> Iterator[ca.SX]:
        """ω × r for the frames of the bodies."""
        for frame in self.frames():
            spin = self._sums.components(frame.ang_vel_in(self._m.frame), self._m.frame, f"the frame {frame.name!r}")
            yield ca.cross(spin, way)

    def _agree(self, given: ca.SX, expected: ca.SX) -> bool:
        """At all sampled states, with random values of constants that have none."""
        s, loose = self._system, self._symbols.without_value
        symbols = [s.t, s.q, s.v, s.u, s.p, ca.vertcat(ca.SX(0, 1), *loose.values())]
        evaluate = ca.Function("velocities", symbols, [given, expected])
        p, values = np.array([q.default for q in s.parameters]), np.random.default_rng(2).uniform(0.5, 1.5, len(loose))
        for state in self._sampled:
            first, second = (part.full() for part in evaluate(state.t, state.q, state.v, state.u, p, values))
            size = 1e-3 + float(np.abs(first).max() + np.abs(second).max())
            if np.isfinite(first - second).all() and np.abs(first - second).max() > SAME * size:
                return False
        return True
