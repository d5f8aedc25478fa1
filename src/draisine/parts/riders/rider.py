"""A rider as a part: segments of a human body on a machine, with a trunk that moves, hands on the bar, and legs that pedal.

Every segment is a body. Those that do not move relative to each other are joined rigidly, and the equations have one body for
them. In the design position, where all coordinates are zero, the hands are on the grips and the feet on the pedals: the posture
follows in closed form from where hips, hands and feet are, with the parameters' defaults. With other values of parameters that
move the grips, the loops are closed when a motion starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import Expr, evaluate_number, substitute
from draisine.parts.assembly import Assembly, pairs, part
from draisine.parts.design_pose import Pose, local
from draisine.parts.riders.human import DENSITIES, JOINTS, Human
from draisine.parts.riders.measurements import NAMES, Measurements, number_of
from draisine.parts.riders.postures import SIDES, foot_length, hand_length, level_axes, reaching
from draisine.parts.riders.shapes import segment_shapes
from draisine.parts.riders.solids import Array, turn

if TYPE_CHECKING:
    from draisine.model.quantities import Amount
    from draisine.parts.assembly import Mount

TRUNK = {"lean": "x", "pitch": "y", "twist": "z"}
ARMS = ("fixed", "free", "locked")
LEGS = ("fixed", "pedal")
MUSCLES = (*TRUNK, "elbow", "shoulder", "hip", "knee")
_SIGN = {"left": 1.0, "right": -1.0}


@part
def rider(
    own: Assembly,
    on: Mount,
    *,
    height: float | str = 1.75,
    mass: float | str = 75.0,
    measurements: Mapping[str, float] | None = None,
    densities: str = "Dempster",
    posture: Mapping[str, float | str] | None = None,
    bar: Mount | None = None,
    grips: Sequence[float | str] | None = None,
    swivel: float | str = 0.0,
    feet: Sequence[float | str] | None = None,
    trunk: Sequence[str] = (),
    arms: str = "fixed",
    legs: str = "fixed",
    crank: Sequence[float | str] = (0.45, 0.28),
    crank_length: float | str = 0.17,
    stiffness: Mapping[str, Amount] | None = None,
    damping: Mapping[str, Amount] | None = None,
    torques: Sequence[str] = (),
) -> None:
    """A rider whose hips are at the frame it is mounted on.

    - `height`, `mass`: of a person of usual proportions; or `measurements`, the 95 of `Human.read(file)`, in meters. A body that
      has been read is given by `**human.options()`. `densities` of the segments are those of "Chandler", "Clauser" or "Dempster".
    - `posture`: angles in rad by the names of yeadon's configuration files, such as `{"somersault": 0.4}`, which inclines the
      trunk forward. Arms and legs follow from `grips` and `feet`, where these are given.
    - `bar`, `grips`: the body that is held (a fork), and where its left grip is, (x, y, z) in design coordinates; the right one
      is its mirror image. `swivel` turns the elbows outward.
    - `feet`: where the left foot is, if the legs are fixed; the right one is its mirror image.
    - `trunk`: how the trunk moves relative to the machine: any of "lean" (sideways), "pitch" and "twist", in this order.
    - `arms`: "fixed" to the trunk; "free", with shoulders and elbows that let the hands follow the bar; or "locked", with
      elbows that do not move, so that the trunk must pitch and twist.
    - `legs`: "fixed" to the machine, also where the trunk moves; or "pedal", with feet on the pedals of a crank: `crank` is its
      axle (x, z) in design coordinates, `crank_length` its length. The left pedal is ahead where the crank angle is zero.
    - `stiffness`, `damping`: of muscles by joint, {"lean": 400, "elbow": 5}; `torques`: joints that get a torque as an input.
      Joints are lean, pitch, twist, elbow, shoulder, hip and knee.

    Roles: pelvis, chest and the other segments; lean, pitch, twist; left_elbow, right_elbow; crank; inputs by NAME_torque.
    """
    _check(own, trunk, arms, legs, bar, grips)
    human = _human(own, height, mass, measurements, densities)
    pose = own.mount(on)
    hips = np.array(_numbers(own, pose.position))
    build = _Rider(own, human, pose, hips, arms, legs)
    angles = {
        name: _plain(own, name, angle, "rad")
        for name, angle in (pairs(posture, f"posture of part {own.name!r}") if posture else ())
    }
    hold = _both_sides(own, "grips", grips, hips) if grips is not None else {}
    stand = _feet(own, feet, hips) if legs == "fixed" else build.pedals(crank, crank_length)
    try:
        angles = reaching(human, angles, hold, stand, _plain(own, "swivel", swivel, "rad"))
    except ArgumentError as problem:
        raise ModelError(f"part {own.name!r}: {problem}") from None
    build.bodies(own.parameter("mass", human.mass, "kg", "of the rider"))
    build.trunk(angles, tuple(trunk))
    build.arms(angles, bar, hold)
    build.legs(angles)
    build.muscles(stiffness, damping, tuple(torques))


class _Rider:
    """The rider while it is built: bodies by segment, and the joints that have muscles."""

    def __init__(self, own: Assembly, human: Human, pose: Pose, hips: Array, arms: str, legs: str) -> None:
        self.own, self.model, self.human, self.pose, self.hips = own, own.model, human, pose, hips
        self.how_arms, self.how_legs = arms, legs
        self.joints: dict[str, list[str]] = {}  # coordinates by kind of joint
        self.pitch = _numbers(own, (pose.pitch,))[0]

    def bodies(self, mass: Expr) -> None:
        """One body for each segment: its share of the mass is that of the measured body."""
        whole = self.human.mass
        for name, segment in self.human.segments.items():
            own = segment.mass_properties
            inertia = own.inertia / whole
            self.model.body(
                self.own.offer(name, self.own.named(name)),
                mass=float(own.mass / whole) * mass,
                center_of_mass=tuple(float(x) for x in own.center_of_mass),
                inertia={axes: float(inertia[i, i]) * mass for i, axes in enumerate(("xx", "yy", "zz"))},
                shapes=segment_shapes(segment),
            )

    def trunk(self, angles: Mapping[str, float], moves: tuple[str, ...]) -> None:
        """Hinges at the hips, then pelvis, thorax and chest, joined rigidly in the posture."""
        placed = self.human.placed(angles)
        parent, at = self.pose.body, self.pose.at
        orientation = [*self.pose.orientation, ("y", -self.pitch)]
        for k, move in enumerate(moves):
            link = self.own.named("trunk" if k == len(moves) - 1 else f"hips_{k + 1}")
            self.model.body(link, mass=0.0)
            coordinate = self.own.offer(move, self.own.named(move))
            self.model.revolute(coordinate, parent, link, axis=TRUNK[move], at=at, orientation=orientation, span=(-0.5, 0.5))  # type: ignore[arg-type]
            self.joints[move] = [coordinate]
            parent, at, orientation = link, (0, 0, 0), []  # type: ignore[assignment]
        for name in ("pelvis", "thorax", "chest"):
            above = JOINTS[name][0]
            rotation = placed[above].rotation.T @ placed[name].rotation if above else placed[name].rotation
            turns = [*orientation, *level_axes(rotation)]
            place = at if name == "pelvis" else tuple(float(x) for x in placed[name].segment.at)
            self._fixed(name, parent, place, turns)
            parent, orientation = self.own.named(name), []

    def arms(self, angles: Mapping[str, float], bar: Mount | None, hold: Mapping[str, Array]) -> None:
        """Shoulders and elbows, and hands that are held at the grips."""
        placed = self.human.placed(angles)
        moving = self.how_arms != "fixed"
        for side in SIDES:
            upper, fore = f"{side}_upper_arm", f"{side}_forearm"
            turns = level_axes(placed["chest"].rotation.T @ placed[upper].rotation)
            elbow = level_axes(placed[upper].rotation.T @ placed[fore].rotation)
            at, below = (tuple(float(x) for x in placed[name].segment.at) for name in (upper, fore))
            if not moving:
                self._fixed(upper, self.own.named("chest"), at, turns)
                self._fixed(fore, self.own.named(upper), below, elbow)
                continue
            shoulder = self.own.named(f"{side}_shoulder")
            self.model.universal(shoulder, self.own.named("chest"), self.own.named(upper), axes="yx", at=at, orientation=turns)
            self.joints.setdefault("shoulder", []).extend((f"{shoulder}_1", f"{shoulder}_2"))
            if self.how_arms == "locked":
                self._fixed(fore, self.own.named(upper), below, elbow)
            else:
                hinge = self.own.offer(f"{side}_elbow", self.own.named(f"{side}_elbow"))
                self.model.revolute(hinge, self.own.named(upper), self.own.named(fore), axis="y", at=below, orientation=elbow)
                self.joints.setdefault("elbow", []).append(hinge)
            self._hold(side, bar, hold[side])
        if moving:
            self._draw_bar(bar, hold)

    def _hold(self, side: str, bar: Mount | None, place: Array) -> None:
        assert bar is not None
        pose = self.own.mount(bar)
        values = [float(x) for x in place + self.hips]
        position = self.own.position(f"{side}_grip", values, f"{side} grip")
        grip = self.own.named(f"{side}_grip")
        self.model.point(self.own.offer(f"{side}_grip", grip), pose.body, local(_of_body(pose), position))
        hand = self.own.named(f"{side}_hand")
        self.model.point(hand, self.own.named(f"{side}_forearm"), (0, 0, -hand_length(self.human, side)))
        self.model.close_point(self.own.named(f"{side}_holds"), grip, hand)

    def _draw_bar(self, bar: Mount | None, hold: Mapping[str, Array]) -> None:
        """A tube from grip to grip, on a body without mass: what the hands hold is seen."""
        assert bar is not None
        pose = self.own.mount(bar)
        base, pitch = np.array(_numbers(self.own, pose.base)), _numbers(self.own, (pose.base_pitch,))[0]
        ends = [turn("y", -pitch) @ (hold[side] + self.hips - base) for side in SIDES]
        path = [[float(x) for x in end] for end in ends]
        grip = {"kind": "tube", "path": path, "radius": 0.012, "color": "#A9B0B7"}
        self.model.fixed(self.own.named("bar_joint"), pose.body, self.model.body(self.own.named("bar"), mass=0.0, shapes=[grip]))

    def pedals(self, crank: Sequence[float | str], length: float | str) -> dict[str, Array]:
        """Where the feet are when the left pedal is ahead: from the hips."""
        if not hasattr(crank, "__len__") or len(crank) != 2:
            raise ModelError(f"crank of part {self.own.name!r}: give the position (x, z) of its axle, got {crank!r}")
        x, z = (_plain(self.own, "crank", value, "m") for value in crank)
        self.axle = np.array([x, 0.0, z]) - self.hips
        self.crank_length = _plain(self.own, "crank_length", length, "m")
        side = float(self.human.segments["left_thigh"].at[1])
        far = float(np.linalg.norm(self.axle)) + self.crank_length
        reach = min(self.human.segments[f"{s}_thigh"].length + foot_length(self.human, s) for s in SIDES)
        if far >= reach:
            raise ModelError(
                f"part {self.own.name!r}: the lowest pedal is {far:.3f} m from the hips, but the legs reach {reach:.3f} m; "
                "the crank cannot turn; lower the hips, or shorten the crank"
            )
        return {s: self.axle + np.array([_SIGN[s] * self.crank_length, _SIGN[s] * side, 0.0]) for s in SIDES}

    def legs(self, angles: Mapping[str, float]) -> None:
        """Thighs and shanks: rigid on the machine, or hinged, with the feet on the pedals."""
        placed = self.human.placed(angles)
        level = [*self.pose.orientation, ("y", -self.pitch)]
        if self.how_legs == "pedal":
            self._crank(level)
        for side in SIDES:
            thigh, shank = f"{side}_thigh", f"{side}_shank"
            knee = level_axes(placed[thigh].rotation.T @ placed[shank].rotation)
            at = self._at(placed[thigh].position)
            below = tuple(float(x) for x in placed[shank].segment.at)
            turns = [*level, *level_axes(placed[thigh].rotation)]
            if self.how_legs == "fixed":
                self._fixed(thigh, self.pose.body, at, turns)
                self._fixed(shank, self.own.named(thigh), below, knee)
                continue
            for joint, parent, child, place, orientation in (
                ("hip", self.pose.body, thigh, at, turns),
                ("knee", self.own.named(thigh), shank, below, knee),
            ):
                name = self.own.offer(f"{side}_{joint}", self.own.named(f"{side}_{joint}"))
                self.model.revolute(name, parent, self.own.named(child), axis="y", at=place, orientation=orientation)  # type: ignore[arg-type]
                self.joints.setdefault(joint, []).append(name)
            foot = self.own.named(f"{side}_foot")
            self.model.point(foot, self.own.named(shank), (0, 0, -foot_length(self.human, side)))
            pedal = self.own.named(f"{side}_pedal")
            y = float(placed[thigh].segment.at[1])
            self.model.point(pedal, self.own.named("cranks"), (_SIGN[side] * self.crank_length, y, 0))
            self.model.close_point(self.own.named(f"{side}_pedals"), pedal, foot, axes="xz")

    def _crank(self, level: list[Any]) -> None:
        body = self.model.body(self.own.named("cranks"), mass=0.0)
        crank = self.own.offer("crank", self.own.named("crank"))
        self.model.revolute(crank, self.pose.body, body, axis="y", at=self._at(self.axle), orientation=level)
        self.joints["crank"] = [crank]

    def muscles(self, stiffness: Any, damping: Any, torques: tuple[str, ...]) -> None:
        """Springs, dampers and torques of joints."""
        elastic = dict(pairs(stiffness, f"stiffness of part {self.own.name!r}")) if stiffness else {}
        viscous = dict(pairs(damping, f"damping of part {self.own.name!r}")) if damping else {}
        for kind in dict.fromkeys((*elastic, *viscous, *torques)):
            if kind not in self.joints:
                moving = ", ".join(self.joints) or "none"
                raise ModelError(f"part {self.own.name!r}: {kind!r} is no joint that moves; those are {moving}")
            k = self.own.parameter(f"{kind}_stiffness", elastic.get(kind, 0.0), "N*m/rad", f"of the muscles at {kind}")
            c = self.own.parameter(f"{kind}_damping", viscous.get(kind, 0.0), "N*m*s/rad", f"of the muscles at {kind}")
            for coordinate in self.joints[kind]:
                if elastic.get(kind, 0.0) != 0 or viscous.get(kind, 0.0) != 0:
                    self.model.spring(coordinate, k, damping=c, name=f"{coordinate}_muscles")
                if kind in torques:
                    name = f"{coordinate}_torque"
                    text = f"on what {coordinate} moves, by what carries it"
                    self.model.generalized_force(coordinate, self.model.input(self.own.offer(name, name), "N*m", text))

    def _fixed(self, name: str, parent: str, at: Any, orientation: Sequence[Any]) -> None:
        body = self.own.named(name)
        self.model.fixed(f"{body}_joint", parent, body, at=at, orientation=orientation)

    def _at(self, place: Array) -> tuple[Any, ...]:
        """A place from the hips in design axes, in the axes of the body that carries the rider."""
        mounted = turn("y", -_numbers(self.own, (self.pose.base_pitch,))[0]) @ place
        return tuple(a + float(d) if d else a for a, d in zip(self.pose.at, mounted, strict=True))


def _of_body(pose: Pose) -> Pose:
    """The pose of the body of a frame."""
    return Pose(pose.body, pose.base, (), pose.base, pose.base_pitch, pose.base, pose.base_pitch)


def _feet(own: Assembly, feet: Sequence[float | str] | None, hips: Array) -> dict[str, Array]:
    if feet is None:
        return {}
    if not hasattr(feet, "__len__") or len(feet) != 3:
        raise ModelError(f"feet of part {own.name!r}: give the position (x, y, z) of the left foot, got {feet!r}")
    return _both_sides(own, "feet", feet, hips)


def _both_sides(own: Assembly, what: str, left: Sequence[Any], hips: Array) -> dict[str, Array]:
    """A place on the left in design coordinates and its mirror image, from the hips."""
    x, y, z = (_plain(own, what, value, "m") for value in left)
    return {side: np.array([x, _SIGN[side] * y, z]) - hips for side in SIDES}


def _check(own: Assembly, trunk: Any, arms: str, legs: str, bar: Any, grips: Any) -> None:
    where = f"part {own.name!r}"
    if not isinstance(trunk, list | tuple) or list(trunk) != [move for move in TRUNK if move in trunk]:
        raise ModelError(f"{where}: trunk = {trunk!r}: give a list of {', '.join(TRUNK)}, in this order, such as ['lean']")
    for what, given, known in (("arms", arms, ARMS), ("legs", legs, LEGS)):
        if given not in known:
            raise ModelError(f"{where}: {what} = {given!r} must be one of {', '.join(known)}")
    if grips is not None and (not hasattr(grips, "__len__") or len(grips) != 3):
        raise ModelError(f"{where}: grips = {grips!r}: give the position (x, y, z) of the left grip, such as (0.75, 0.3, 1.0)")
    if arms != "fixed" and (bar is None or grips is None):
        raise ModelError(
            f"{where}: arms that are {arms} hold a bar; give the body that is steered as bar, and the left grip as grips"
        )
    if arms == "locked" and not {"pitch", "twist"} <= set(trunk):
        raise ModelError(f"{where}: with locked elbows the bar turns only if the trunk moves; give trunk = ['pitch', 'twist']")


def _human(own: Assembly, height: Any, mass: Any, measurements: Any, densities: str) -> Human:
    weight = _mass(own, mass)
    if densities not in DENSITIES:
        raise ModelError(f"part {own.name!r}: densities = {densities!r} must be one of {', '.join(DENSITIES)}")
    if measurements is None:
        return Human.of(_plain(own, "height", height, "m"), weight, own.name)
    values = dict(pairs(measurements, f"measurements of part {own.name!r}"))
    wrong = [name for name in values if name not in NAMES] or [name for name in NAMES if name not in values]
    if wrong:
        raise ModelError(
            f"part {own.name!r}: measurements must have the {len(NAMES)} names of yeadon's files; check {wrong[0]!r}"
        )
    return Human.measured(Measurements(values), own.name, weight, densities, symmetric=False)


def _mass(own: Assembly, mass: Any) -> float:
    return _plain(own, "mass", mass, "kg")


def _plain(own: Assembly, what: str, value: Any, unit: str) -> float:
    """A number, or a text with a unit: what the posture depends on cannot be a parameter."""
    try:
        return number_of(value, unit, what)
    except ArgumentError as problem:
        raise ModelError(f"part {own.name!r}: {problem}") from None


def _numbers(own: Assembly, amounts: Sequence[Expr]) -> list[float]:
    """Amounts with the defaults of the parameters."""
    items = own.model._items
    values = {p.name: p.default for p in items["parameters"].values()}
    dependent = {d.name: d.expression for d in items["dependent_parameters"].values()}
    found = []
    for amount in amounts:
        for _ in range(len(dependent) + 1):
            amount = substitute(amount, dependent)
        found.append(evaluate_number(amount, values))
    return found
