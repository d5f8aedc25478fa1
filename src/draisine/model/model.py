"""`Model`: an editable description of a mechanism, by names.

    >>> from draisine.model import Model
    >>> m = Model("pendulum")
    >>> length = m.parameter("length", 2.0, "m")
    >>> bob = m.body("bob", mass=1.0, centre=(0, 0, -length))
    >>> _ = m.revolute("swing", "ground", bob, axis="y")
    >>> m.freeze().coordinates[0].name
    'swing'

Anything that takes an amount takes a number, a text with a unit ("5 cm") or an expression of parameters, as text
("wheelbase - trail") or made with Python operators. Bodies, joints, points … are referred to by name or by the object
returned. Nothing is derived here; `freeze()` checks the whole and gives an immutable `System`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from draisine.model import joints
from draisine.model.amounts import amount_in
from draisine.model.items import (
    GROUND,
    Body,
    Coordinate,
    Displacement,
    Effort,
    Ground,
    Inertia,
    Input,
    Joint,
    KnifeEdge,
    Output,
    Parameter,
    Point,
    Potential,
    Rotate,
    System,
    Translate,
    Vector,
    Watch,
    Wheel,
    Wrench,
)
from draisine.model.reference import referred_to
from draisine.model.units import UnitError, si_text
from draisine.model.validate import ModelError, check_name, check_system
from draisine.program.expression import Call, Expr, Name, Number
from draisine.program.tables import Kind, Outside, Table

Amount = Expr | str | float | int
Named = TypeVar("Named", Body, Point, Joint, Wheel, KnifeEdge)
Turns = Sequence[tuple[str, Amount]]  # constant turns before a joint, e.g. [("y", tilt)]


@dataclass
class Model:
    """An editable description; see the module's example."""

    name: str
    about: str = ""

    def __post_init__(self) -> None:
        check_name("model", self.name)
        self._items: dict[str, dict[str, Any]] = {kind: {} for kind in _KINDS}
        self._gravity: Expr = Number(9.81)
        self._ground = Ground()
        self._independent: tuple[str, ...] = ()
        self._last: System | None = None  # as frozen before

    # ------------------------------------------------------------ parameters, inputs, surroundings

    def parameter(self, name: str, default: float | str, unit: str = "", about: str = "") -> Expr:
        """A named constant with a default value, in the unit given or in one of its own ("18 deg"); it is kept in SI."""
        try:
            si = si_text(unit) if unit else unit
        except UnitError as problem:
            raise ModelError(f"unit of parameter {name!r}: {problem}") from None
        if si != unit and isinstance(default, int | float):
            default = f"{default!r} {unit}"
        unit = si
        value = amount_in(default, unit, f"parameter {name!r}")
        if not isinstance(value, Number):
            raise ModelError(f"parameter {name!r}: its default must be a number, got {default!r}")
        self._add("parameters", Parameter(name, value.value, unit, about))
        return Name(name)

    def input(self, name: str, unit: str = "", about: str = "") -> Expr:
        """A quantity given from outside at run time; zero unless somebody gives it."""
        self._add("inputs", Input(name, unit, about))
        return Name(name)

    def table(self, name: str, knots: Sequence[Any], values: Any, kind: Kind = "spline", outside: Outside = "slope") -> Table:
        """A tabulated function of one or two variables, to be called by name in expressions."""
        return self._add("tables", Table(name, knots, values, kind, outside))

    def gravity(self, amount: Amount) -> None:
        """Gravity along −z; 9.81 m/s² unless set."""
        self._gravity = amount_in(amount, "m/s^2", "gravity")

    def ground(self, slope: Amount = 0.0, bank: Amount = 0.0) -> None:
        """Tilt the ground: `slope` rises along +x, `bank` rises along +y; gravity stays vertical."""
        self._ground = Ground(amount_in(slope, "rad", "slope of the ground"), amount_in(bank, "rad", "bank of the ground"))

    # ------------------------------------------------------------ bodies and points

    def body(
        self,
        name: str,
        mass: Amount,
        centre: Sequence[Amount] = (0, 0, 0),
        inertia: Inertia | Mapping[str, Amount] | Sequence[Amount] | None = None,
        about: str = "",
    ) -> Body:
        """A rigid body. `inertia` about its centre of mass: a mapping xx, yy, zz, xy, yz, zx, or (xx, yy, zz)."""
        where = f"body {name!r}"
        if isinstance(inertia, Inertia):
            tensor = inertia
        else:
            given = (
                dict(inertia)
                if isinstance(inertia, Mapping)
                else dict(zip(("xx", "yy", "zz"), inertia or (0, 0, 0), strict=True))
            )
            unknown = set(given) - {"xx", "yy", "zz", "xy", "yz", "zx"}
            if unknown:
                raise ModelError(f"{where}: inertia has no entry {sorted(unknown)[0]!r}; use xx, yy, zz, xy, yz, zx")
            tensor = Inertia(
                **{
                    k: amount_in(given.get(k, 0), "kg*m^2", f"inertia {k} of {where}")
                    for k in ("xx", "yy", "zz", "xy", "yz", "zx")
                }
            )
        return self._add(
            "bodies",
            Body(name, amount_in(mass, "kg", f"mass of {where}"), self._vector(centre, "m", f"centre of {where}"), tensor, about),
        )

    def point(self, name: str, body: Body | str, at: Sequence[Amount] = (0, 0, 0)) -> Point:
        """A named point of a body, in the body's axes."""
        return self.frame(name, body, at)

    def frame(self, name: str, body: Body | str, at: Sequence[Amount] = (0, 0, 0), turned: Turns = ()) -> Point:
        """A named frame of a body: a point with its own axes, turned from the body's, for measures and wrenches."""
        turns = tuple(Rotate(axis, amount_in(angle, "rad", f"turn of frame {name!r}")) for axis, angle in turned)
        return self._add("points", Point(name, _name(body), self._vector(at, "m", f"point {name!r}"), turns))

    # ------------------------------------------------------------ joints

    def joint(
        self,
        name: str,
        parent: Body | str,
        child: Body | str,
        chain: Sequence[Displacement],
        coordinates: Sequence[Coordinate] = (),
    ) -> Joint:
        """Any joint: a chain of displacements from the parent's frame to the child's."""
        return self._add("joints", Joint(name, _name(parent), _name(child), tuple(chain), tuple(coordinates)))

    def free(self, body: Body | str, name: str | None = None) -> Joint:
        """Let a body move freely: position, unit quaternion, and its own twist as velocities."""
        label = _name(body)
        return self.joint(name or f"{label}_motion", GROUND, label, *joints.free(label))

    def free_euler(
        self, body: Body | str, order: str = "zxy", angles: Sequence[str] | None = None, name: str | None = None
    ) -> Joint:
        """Let a body move freely by position and three elementary turns; singular when the middle one reaches ±90°."""
        label = _name(body)
        if sorted(set(order) | set("xyz")) != ["x", "y", "z"] or len(order) != 3 or order[0] == order[1] or order[1] == order[2]:
            raise ModelError(
                f"free_euler of {label!r}: order {order!r} must be three of x, y, z with no axis twice in a row, such as 'zxy'"
            )
        names = tuple(angles or (f"{label}_turn{i + 1}" for i in range(3)))
        if len(names) != 3:
            raise ModelError(f"free_euler of {label!r}: give three names of angles, got {len(names)}")
        position = tuple(joints.length(f"{label}_{a}") for a in joints.AXES)
        turns = tuple(joints.angle(n, span=(-1.2, 1.2)) for n in names)
        return self.joint(name or f"{label}_motion", GROUND, label, *joints.euler(position, turns, order))  # type: ignore[arg-type]

    def planar(self, body: Body | str, name: str | None = None, parent: Body | str = GROUND) -> Joint:
        """Let a body slide in the x–y plane and turn about z: coordinates <body>_x, <body>_y, <body>_heading.

        On the ground its velocities are <body>_vx, <body>_vy along its own axes and <body>_heading_rate; on another body they are
        the rates of the coordinates.
        """
        label = _name(body)
        if _name(parent) == GROUND:
            return self.joint(name or f"{label}_motion", GROUND, label, *joints.glide(label))
        chain = joints.planar(joints.length(f"{label}_x"), joints.length(f"{label}_y"), joints.angle(f"{label}_heading"))
        return self.joint(name or f"{label}_motion", parent, label, *chain)

    def revolute(
        self,
        name: str,
        parent: Body | str,
        child: Body | str,
        axis: str = "z",
        at: Sequence[Amount] = (0, 0, 0),
        turned: Turns = (),
        rate: str | None = None,
        default: float = 0.0,
        span: tuple[float, float] | None = None,
    ) -> Joint:
        """A hinge about an axis; its coordinate bears the joint's name."""
        return self._placed(name, parent, child, at, turned, joints.revolute(joints.angle(name, rate, default, span), axis))

    def prismatic(
        self,
        name: str,
        parent: Body | str,
        child: Body | str,
        axis: str = "x",
        at: Sequence[Amount] = (0, 0, 0),
        turned: Turns = (),
        rate: str | None = None,
        default: float = 0.0,
        span: tuple[float, float] | None = None,
    ) -> Joint:
        """A slider along an axis; its coordinate bears the joint's name."""
        return self._placed(name, parent, child, at, turned, joints.prismatic(joints.length(name, rate, default, span), axis))

    def cylindrical(
        self,
        name: str,
        parent: Body | str,
        child: Body | str,
        axis: str = "z",
        at: Sequence[Amount] = (0, 0, 0),
        turned: Turns = (),
    ) -> Joint:
        """Turn about and slide along one axis: coordinates <name>_turn, <name>_slide."""
        chain = joints.cylindrical(joints.angle(f"{name}_turn"), joints.length(f"{name}_slide"), axis)
        return self._placed(name, parent, child, at, turned, chain)

    def screw(
        self,
        name: str,
        parent: Body | str,
        child: Body | str,
        lead: Amount,
        axis: str = "z",
        at: Sequence[Amount] = (0, 0, 0),
        turned: Turns = (),
    ) -> Joint:
        """Turn about an axis and advance along it by `lead` per full turn."""
        pitch = amount_in(lead, "m", f"lead of screw {name!r}")
        return self._placed(name, parent, child, at, turned, joints.screw(joints.angle(name), axis, pitch))

    def universal(
        self,
        name: str,
        parent: Body | str,
        child: Body | str,
        axes: str = "xy",
        at: Sequence[Amount] = (0, 0, 0),
        turned: Turns = (),
    ) -> Joint:
        """Two crossing hinges: coordinates <name>_1, <name>_2."""
        if len(axes) != 2 or axes[0] == axes[1] or not set(axes) <= set("xyz"):
            raise ModelError(f"universal joint {name!r}: axes must be two different ones of x, y, z, such as 'xy'; got {axes!r}")
        chain = joints.universal(joints.angle(f"{name}_1"), joints.angle(f"{name}_2", span=(-1.2, 1.2)), axes)
        return self._placed(name, parent, child, at, turned, chain)

    def spherical(
        self, name: str, parent: Body | str, child: Body | str, at: Sequence[Amount] = (0, 0, 0), turned: Turns = ()
    ) -> Joint:
        """A ball joint by unit quaternion; velocities are the child's relative rates <name>_wx, _wy, _wz in its own axes."""
        return self._placed(name, parent, child, at, turned, joints.spherical(name))

    def fixed(
        self, name: str, parent: Body | str, child: Body | str, at: Sequence[Amount] = (0, 0, 0), turned: Turns = ()
    ) -> Joint:
        """A rigid connection."""
        return self._placed(name, parent, child, at, turned, ((), ()))

    # ------------------------------------------------------------ contacts

    def wheel(
        self,
        name: str,
        body: Body | str,
        radius: Amount,
        tube: Amount = 0.0,
        centre: Sequence[Amount] = (0, 0, 0),
        axis: str = "y",
    ) -> Wheel:
        """A wheel of the body rolls on the ground without slip: a knife-edge disc, or a torus of the given tube radius."""
        where = f"wheel {name!r}"
        return self._add(
            "wheels",
            Wheel(
                name,
                _name(body),
                self._vector(centre, "m", f"centre of {where}"),
                axis,
                amount_in(radius, "m", f"radius of {where}"),
                amount_in(tube, "m", f"tube of {where}"),
            ),
        )

    def knife_edge(
        self,
        body: Body | str,
        at: Sequence[Amount] = (0, 0, 0),
        along: str = "x",
        name: str | None = None,
        on_ground: bool = False,
    ) -> KnifeEdge:
        """A blade of the body: its point cannot move across the blade; `on_ground` keeps it at the ground's height."""
        label = name or f"{_name(body)}_edge"
        return self._add("edges", KnifeEdge(label, _name(body), self._vector(at, "m", f"knife edge {label!r}"), along, on_ground))

    # ------------------------------------------------------------ forces

    def effort(self, measure: Amount, amount: Amount, name: str | None = None) -> Effort:
        """A force or torque conjugate to a measure: `effort("steer", torque)` turns the hinge `steer`."""
        what = _expression(measure)
        return self._add(
            "efforts", Effort(name or self._fresh("efforts", f"effort_on_{_label(what)}"), what, _expression(amount))
        )

    def spring(
        self, measure: Amount, stiffness: Amount, rest: Amount = 0.0, damping: Amount = 0.0, name: str | None = None
    ) -> None:
        """A linear spring and damper on a coordinate, or on `distance(a, b)` of two points."""
        what = _expression(measure)
        label = name or self._fresh("potentials", f"spring_on_{_label(what)}")
        stretch = what - _expression(rest)
        self._add("potentials", Potential(label, Number(0.5) * _expression(stiffness) * stretch**2))
        if _expression(damping) != Number(0.0):
            self.effort(what, -_expression(damping) * Call("rate", (what,)), name=f"{label}_damper")

    def wrench(
        self,
        point: Point | str,
        force: Sequence[Amount] = (0, 0, 0),
        torque: Sequence[Amount] = (0, 0, 0),
        axes: str = "world",
        name: str | None = None,
    ) -> Wrench:
        """A force and torque at a point, in the axes of the "world" or of the point's "body" (for a frame, its own)."""
        label = name or self._fresh("wrenches", f"wrench_at_{_name(point)}")
        if axes not in ("world", "body"):
            raise ModelError(f"wrench {label!r}: axes must be 'world' or 'body', got {axes!r}")
        vectors = (tuple(_expression(c) for c in force), tuple(_expression(c) for c in torque))
        return self._add("wrenches", Wrench(label, _name(point), *vectors, axes))  # type: ignore[arg-type]

    def potential(self, name: str, energy: Amount) -> Potential:
        """A potential energy, e.g. `"stiffness * height^2 / 2"`, of coordinates and measures of position."""
        return self._add("potentials", Potential(name, _expression(energy)))

    # ------------------------------------------------------------ what to look at

    def output(self, name: str, expression: Amount, unit: str = "", about: str = "") -> Expr:
        """A named quantity of states, inputs, parameters and measures (`lean(frame)`, `velocity_x(hub)`, …)."""
        self._add("outputs", Output(name, _expression(expression), unit, about))
        return Name(name)

    def watch(self, name: str, expression: Amount, action: str = "stop", direction: int = 0, about: str = "") -> Watch:
        """An event that belongs to the model: the expression passes zero, and the run stops or records it."""
        if action not in ("stop", "record"):
            raise ModelError(f"watch {name!r}: action must be 'stop' or 'record', got {action!r}")
        return self._add("watches", Watch(name, _expression(expression), action, direction, about))

    def independent(self, *velocities: str) -> None:
        """Choose the independent velocities by name; without this they are chosen by structure and conditioning."""
        self._independent = tuple(velocities)

    # ------------------------------------------------------------ finishing

    def freeze(self) -> System:
        """Check the whole description and give it as an immutable `System`."""
        system = System(
            name=self.name,
            about=self.about,
            gravity=self._gravity,
            ground=self._ground,
            independent=self._independent,
            **{kind: tuple(items.values()) for kind, items in self._items.items()},
        )
        # The same description again, as every verb asks for it: its parts are the same objects, so this costs next to nothing.
        if system == self._last:
            return self._last
        check_system(system)
        self._last = system
        return system

    @staticmethod
    def of(system: System) -> Model:
        """An editable copy of a frozen description."""
        model = Model(system.name, system.about)
        for kind in _KINDS:
            model._items[kind] = {item.name: item for item in getattr(system, kind)}
        model._gravity, model._ground, model._independent = system.gravity, system.ground, system.independent
        return model

    def referred_to(self, body: Body | str) -> Model:
        """The same mechanism with another reference body: the free joint moves there, hinges on the way turn round."""
        return Model.of(referred_to(self.freeze(), _name(body)))

    def _placed(
        self, name: str, parent: Body | str, child: Body | str, at: Sequence[Amount], turned: Turns, motion: joints.Chain
    ) -> Joint:
        chain: list[Displacement] = []
        place = self._vector(at, "m", f"place of joint {name!r}")
        if any(c != Number(0.0) for c in place):
            chain.append(Translate(place))
        chain += [Rotate(axis, amount_in(angle, "rad", f"turn of joint {name!r}")) for axis, angle in turned]
        return self.joint(name, parent, child, (*chain, *motion[0]), motion[1])

    def _vector(self, components: Sequence[Amount], unit: str, where: str) -> Vector:
        if len(components) != 3:
            raise ModelError(f"{where}: needs three components, got {len(components)}")
        return tuple(amount_in(c, unit, where) for c in components)  # type: ignore[return-value]

    def _add(self, kind: str, item: Any) -> Any:
        check_name(kind, item.name)
        if item.name in self._items[kind]:
            raise ModelError(f"{self.name!r} already has {_KINDS[kind]} {item.name!r}; names must differ")
        self._items[kind][item.name] = item
        return item

    def _fresh(self, kind: str, stem: str) -> str:
        taken = self._items[kind]
        if stem not in taken:
            return stem
        return next(f"{stem}_{i}" for i in range(2, len(taken) + 3) if f"{stem}_{i}" not in taken)


_KINDS = {
    "parameters": "a parameter",
    "inputs": "an input",
    "bodies": "a body",
    "points": "a point",
    "joints": "a joint",
    "wheels": "a wheel",
    "edges": "a knife edge",
    "efforts": "an effort",
    "wrenches": "a wrench",
    "potentials": "a potential",
    "tables": "a table",
    "outputs": "an output",
    "watches": "a watch",
    "ties": "a tie",
}


def _name(item: Any) -> str:
    return item if isinstance(item, str) else item.name


def _expression(value: Amount) -> Expr:
    return amount_in(value, None, "expression")


def _label(expression: Expr) -> str:
    text = str(expression)
    return "".join(c if c.isalnum() else "_" for c in text).strip("_")
