"""`Model`: an editable description of a mechanism, by names.

    >>> from draisine.model.model import Model
    >>> m = Model("pendulum")
    >>> length = m.parameter("length", 2.0, "m")
    >>> bob = m.body("bob", mass=1.0, center_of_mass=(0, 0, -length))
    >>> _ = m.revolute("swing", "ground", bob, axis="y")
    >>> m.freeze().coordinates[0].name
    'swing'

An amount is a number, a text with a unit ("5 cm") or an expression of parameters, as text ("wheelbase - trail") or built with
Python operators. Bodies, joints, points and other items are referred to by name or by the object returned. Nothing is derived
here; `freeze()` validates the description and returns an immutable `System`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draisine.errors import ExpressionError, ModelError, UnitError
from draisine.expr.expression import Call, Expr, Number, did_you_mean, evaluate_number, names
from draisine.expr.tables import Kind, Outside, Table
from draisine.expr.units import si_text, unit_of
from draisine.model import contact as contacts
from draisine.model.builders import ConstraintBuilders, Turns, turns_of
from draisine.model.contact.dry_friction import IMPACT_ORDERS
from draisine.model.contact_builders import ContactBuilders
from draisine.model.contact_items import ContactResistance, JointFriction, PointContact, Stop, SurfaceContact, Wheel
from draisine.model.contact_modes import in_modes
from draisine.model.ground_profile import profile_of
from draisine.model.items import (
    Body,
    DependentParameter,
    GeneralizedForce,
    Ground,
    Inertia,
    Input,
    ModelEvent,
    Output,
    Parameter,
    Point,
    Potential,
    Vector,
    Wrench,
)
from draisine.model.joints import referred_to
from draisine.model.quantities import Amount, amount_in, expression_of, named
from draisine.model.registry import KINDS, in_order, name_of, vector_of, with_checked_texts
from draisine.model.system import System
from draisine.model.validate import check_system, check_system_name

if TYPE_CHECKING:
    from draisine.model.contact.paths import GroundPath
    from draisine.model.shapes import BodyShape, Given


@with_checked_texts
@dataclass
class Model(ContactBuilders, ConstraintBuilders):
    """An editable description of a mechanism; see the example of the module. `JointBuilders` has the methods for joints,
    `ContactBuilders` those for contacts, `ConstraintBuilders` those for loop closures and other constraints. `notes` lists what
    a reader of another format left out."""

    name: str
    description: str = ""

    def __post_init__(self) -> None:
        check_system_name(self.name)
        self._items: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
        self._gravity: Vector = (Number(0.0), Number(0.0), Number(-9.81))
        self._ground = Ground()
        self._independent: tuple[str, ...] = ()
        self._impacts, self._without_collision = IMPACT_ORDERS[0], False
        self._last: System | None = None  # result of the last freeze
        self.notes: tuple[str, ...] = ()  # what the file of another format contains that the model does not

    # ------------------------------------------------------------ parameters, inputs, surroundings

    def parameter(self, name: str, default: Amount, unit: str = "", description: str = "") -> Expr:
        """A named constant with a default value in `unit`, or with a unit of its own ("18 deg"); stored in SI units.

        A text with a unit defines the unit of the parameter: `parameter("arm", "50 cm")` is a length. An expression of other
        parameters, `parameter("trail", "0.1*wheelbase", "m")`, defines a dependent parameter, which follows their values.
        Values given later, `simulate(…, parameters={"k": 2000.0})`, are in SI units whatever `unit` is, or texts: "2 kN/m".
        """
        own = unit_of(default) if isinstance(default, str) and not unit else None
        try:
            si = si_text(own or unit) if own or unit else unit
        except UnitError as problem:
            raise ModelError(f"unit of parameter {name!r}: {problem}") from None
        value = amount_in(default, si, f"parameter {name!r}")
        if not names(value):
            value = _constant(value, f"parameter {name!r}")
        if not isinstance(value, Number):
            if si != unit:
                raise ModelError(
                    f"parameter {name!r}: the default {default!r} is no number; as an expression of other parameters it is in "
                    f"SI units, not in {unit!r}: give the unit {si!r}"
                )
            self._add("dependent_parameters", DependentParameter(name, value, si, description))
            return named(name, "parameter")
        if si != unit and not (isinstance(default, str) and unit_of(default)):  # a plain number is in `unit`, also as text
            value = amount_in(f"{float(value.value)!r} {unit}", si, f"parameter {name!r}")
            assert isinstance(value, Number)
        unit = si
        self._add("parameters", Parameter(name, value.value, unit, description))
        return named(name, "parameter")

    def input(self, name: str, unit: str = "", description: str = "") -> Expr:
        """An external input, given at run time; zero by default."""
        self._add("inputs", Input(name, unit, description))
        return named(name, "input")

    def table(self, name: str, knots: Sequence[Any], values: Any, kind: Kind = "spline", outside: Outside = "slope") -> Table:
        """A tabulated function of one or two variables, called by name in expressions."""
        return self._add("tables", Table(name, knots, values, kind, outside))

    def path(
        self,
        name: str,
        points: Sequence[Sequence[Amount]] | None = None,
        *,
        segments: Sequence[Sequence[Amount]] | None = None,
        curve: Sequence[Amount] | None = None,
        between: Sequence[Amount] = (0.0, 1.0),
        start: Sequence[Amount] = (0.0, 0.0),
        heading: Amount = 0.0,
        closed: bool = False,
        width: Amount | None = None,
        beyond: Amount | None = None,
    ) -> GroundPath:
        """A smooth path on the ground, whose coordinates `path.along` and `path.across` are for the functions of
        `dr.contact.roads`; in expressions they are NAME_along(x, y) and NAME_across(x, y).

        Its shape is one of these: a quintic spline through `points` (x, y); `segments` (length, curvature) or (length, curvature
        at the beginning, at the end), from `start` and `heading` on: straight lines, arcs and clothoids; or a `curve` of
        expressions x, y of p `between` two values. The coordinates hold up to a `width` on both sides, by default half the
        reach of the path and 20 m at most; farther away they are not finite, and a run ends there. A path that is not `closed`
        goes on straight `beyond` both ends, by default for 50 m.
        """
        shape = contacts.GroundPath.described(name, points, segments, curve, between, start, heading, closed, width, beyond)
        return self._add("paths", shape)

    def gravity(self, amount: Amount | Sequence[Amount]) -> None:
        """Set gravity: its magnitude along −z, or the vector of the acceleration of free fall in the axes of the ground.

        The default is 9.81 m/s² along −z, which is (0, 0, -9.81) as a vector.
        """
        if hasattr(amount, "__len__") and not isinstance(amount, str | Expr | float | int):
            self._gravity = vector_of(amount, "m/s^2", "gravity")
            return
        size = amount_in(amount, "m/s^2", "gravity")
        zero = Number(0.0)
        self._gravity = (zero, zero, zero if size == zero else _downward(size))

    def ground(
        self,
        slope: Amount = 0.0,
        bank: Amount = 0.0,
        height: Amount = 0.0,
        velocity: Sequence[Amount] = (0.0, 0.0),
        shapes: Sequence[Given] = (),
        profile: Sequence[Sequence[Amount]] = (),
        friction: Amount = 1.0,
    ) -> None:
        """Define the ground surface z = x tan(slope) + y tan(bank) + height; gravity keeps its direction, along −z by default.

        `height` is an expression of the position x, y, of parameters and t: "0.05*sin(2*pi*x/1.5)". `velocity` is that of the
        ground's material along x and y as a function of position, ("-rate*y", "rate*x") for a turntable. `shapes`: for drawing,
        as for bodies. `friction` multiplies the coefficients of friction of tires and contact laws, as a function of x, y and t:
        "1 - 0.7*exp(-((x - 20)/3)^2)" for a wet patch.

        `profile` takes the place of slope and height: vertices (x, z) of planes with edges between them, for kerbs, steps and
        ramps, [(0, 0), (1, 0), (1, -0.1), (2, -0.1)]. The first and the last plane go on without end. Wheels on it have
        `friction`.
        """
        if isinstance(velocity, str | Mapping | set) or not hasattr(velocity, "__len__") or len(velocity) != 2:
            raise ModelError(f"velocity of the ground: needs two components, along x and y, such as (1, 0), got {velocity!r}")
        first, second = (amount_in(v, "m/s", "velocity of the ground") for v in velocity)
        tilt = (amount_in(slope, "rad", "slope of the ground"), amount_in(bank, "rad", "bank of the ground"))
        height = amount_in(height, "m", "height of the ground")
        vertices = profile_of(profile)
        if vertices and any(part != Number(0.0) for part in (*tilt, height, first, second)):
            raise ModelError("profile of the ground: it takes the place of slope, bank, height and velocity; leave these out")
        share = amount_in(friction, "", "friction of the ground")
        if isinstance(share, Number) and not share.value > 0:
            raise ModelError(f"friction of the ground: a factor of the coefficients of friction, positive, got {share.value:g}")
        self._ground = Ground(*tilt, height, (first, second), _shapes(shapes, "the ground"), vertices, share)

    def impacts(self, order: str = IMPACT_ORDERS[0], *, without_collision: bool = False) -> None:
        """How contacts that collide at the same time share their impulses: "simultaneous" (the default), or "sequential", one
        after the other, the fastest approach first.

        `without_collision` resolves Painlevé's paradox: where no motion satisfies the law of friction of a contact that slips, an
        impact without approach ends its slip. By default the run ends there. See the page on contacts that open.
        """
        if not isinstance(without_collision, bool):
            raise ModelError(f"impacts: without_collision is True or False, got {without_collision!r}")
        if order not in IMPACT_ORDERS:
            raise ModelError(
                f"impacts are 'simultaneous' or 'sequential', got {order!r}{did_you_mean(str(order), IMPACT_ORDERS)}"
            )
        self._impacts, self._without_collision = order, without_collision

    # ------------------------------------------------------------ bodies and points

    def body(
        self,
        name: str,
        mass: Amount,
        center_of_mass: Sequence[Amount] = (0, 0, 0),
        inertia: Inertia | Mapping[str, Amount] | Sequence[Amount] | None = None,
        description: str = "",
        shapes: Sequence[Given] = (),
    ) -> Body:
        """A rigid body. `inertia` is about its center of mass: a mapping xx, yy, zz, xy, yz, zx, or (xx, yy, zz).

        An intermediate link may have `mass=0`.

        `shapes` are for drawing, as in model files: `[{"kind": "box", "size": (0.4, 0.1, 0.2)}]`; see `draisine.model.shapes`.
        """
        where = f"body {name!r}"
        tensor = inertia if isinstance(inertia, Inertia) else _tensor(inertia, where)
        return self._add(
            "bodies",
            Body(
                name,
                amount_in(mass, "kg", f"mass of {where}"),
                vector_of(center_of_mass, "m", f"center_of_mass of {where}"),
                tensor,
                description,
                _shapes(shapes, where),
            ),
        )

    def point(self, name: str, body: Body | str, at: Sequence[Amount] = (0, 0, 0)) -> Point:
        """A named point of a body, in the body's axes."""
        return self.frame(name, body, at)

    def frame(self, name: str, body: Body | str, at: Sequence[Amount] = (0, 0, 0), orientation: Turns = ()) -> Point:
        """A named frame of a body: a point with its own orientation, for measures and wrenches."""
        turns = turns_of(orientation, f"orientation of frame {name!r}")
        return self._add("points", Point(name, name_of(body), vector_of(at, "m", f"point {name!r}"), turns))

    def gyroscope(self, name: str, body: Body | str, orientation: Turns = ()) -> tuple[Expr, Expr, Expr]:
        """A gyroscope on a body: outputs `name_x`, `name_y`, `name_z`, the angular velocity in the axes of its turned triad.

        Angles of the orientation may be parameters, and estimated like these.
        """
        return self._triad(self.frame(name, body, (0, 0, 0), orientation), "rate", "rad/s", "angular velocity")

    def accelerometer(
        self, name: str, body: Body | str, at: Sequence[Amount] = (0, 0, 0), orientation: Turns = ()
    ) -> tuple[Expr, Expr, Expr]:
        """An accelerometer at a point of a body: outputs `name_x`, `name_y`, `name_z`, the specific force (acceleration less that
        of free fall: +9.81 m/s² upward at rest) in the axes of its turned triad.

        Position and angles may be parameters, and estimated like these.
        """
        return self._triad(self.frame(name, body, at, orientation), "specific_force", "m/s^2", "specific force")

    def _triad(self, frame: Point, measure: str, unit: str, what: str) -> tuple[Expr, Expr, Expr]:
        x, y, z = (
            self.output(f"{frame.name}_{axis}", f"{measure}_{axis}({frame.name})", unit, f"{what} along {axis} of {frame.name}")
            for axis in "xyz"
        )
        return x, y, z

    # ------------------------------------------------------------ forces

    def generalized_force(self, measure: Amount, amount: Amount, name: str | None = None) -> GeneralizedForce:
        """A force or torque conjugate to a measure: `generalized_force("steer", torque)` acts on the joint `steer`."""
        what = expression_of(measure, f"measure of generalized force {name!r}" if name else "measure of a generalized force")
        label = name or self._fresh("generalized_forces", f"force_on_{_label(what)}")
        unit, _, _ = _CONJUGATE.get(self._known_unit(what), (None, None, None))
        return self._add(
            "generalized_forces", GeneralizedForce(label, what, amount_in(amount, unit, f"amount of generalized force {label!r}"))
        )

    def spring(
        self, measure: Amount, stiffness: Amount, rest: Amount = 0.0, damping: Amount = 0.0, name: str | None = None
    ) -> None:
        """A linear spring and damper on a coordinate, or on `distance(a, b)` of two points: `spring("lift", "20 kN/m")`."""
        what = expression_of(measure, f"measure of spring {name!r}" if name else "measure of a spring")
        label = name or self._fresh("potentials", f"spring_on_{_label(what)}")
        unit = self._known_unit(what)
        _, per_stretch, per_rate = _CONJUGATE.get(unit, (None, None, None))
        stretch = what - amount_in(rest, unit, f"rest of spring {label!r}")
        elastic = amount_in(stiffness, per_stretch, f"stiffness of spring {label!r}")
        viscous = amount_in(damping, per_rate, f"damping of spring {label!r}")
        self._check_unit(elastic, per_stretch, f"stiffness of spring {label!r}")
        self._check_unit(viscous, per_rate, f"damping of spring {label!r}")
        self._add("potentials", Potential(label, Number(0.5) * elastic * stretch**2))
        if viscous != Number(0.0):
            self.generalized_force(what, -viscous * Call("rate", (what,)), name=f"{label}_damper")

    def wrench(
        self,
        point: Point | str,
        force: Sequence[Amount] = (0, 0, 0),
        torque: Sequence[Amount] = (0, 0, 0),
        axes: str = "world",
        name: str | None = None,
    ) -> Wrench:
        """A force and torque at a point, in the axes of the "world" or of the point's "body" (for a frame, its own)."""
        label = name or self._fresh("wrenches", f"wrench_at_{name_of(point)}")
        if not isinstance(axes, str) or axes not in ("world", "body"):
            raise ModelError(f"wrench {label!r}: axes must be 'world' or 'body', got {axes!r}")
        vectors = (vector_of(force, "N", f"force of wrench {label!r}"), vector_of(torque, "N*m", f"torque of wrench {label!r}"))
        return self._add("wrenches", Wrench(label, name_of(point), *vectors, axes))

    def potential(self, name: str, energy: Amount) -> Potential:
        """A potential energy, e.g. `"stiffness * height^2 / 2"`, of coordinates and position-level measures."""
        return self._add("potentials", Potential(name, expression_of(energy, f"energy of potential {name!r}")))

    # ------------------------------------------------------------ outputs and events

    def output(self, name: str, expression: Amount, unit: str = "", description: str = "") -> Expr:
        """A named quantity of states, inputs, parameters and measures (`lean(frame)`, `velocity_x(hub)`, …)."""
        what = expression_of(expression, f"output {name!r}")
        output = Output(name, what, unit, description)
        self._check_output(output)
        self._add("outputs", output)
        return named(name, "output")

    def event(self, name: str, expression: Amount, action: str = "stop", direction: int = 0, description: str = "") -> ModelEvent:
        """An event of the model: where the expression crosses zero, a simulation stops or records the time."""
        if not isinstance(direction, int | float) or direction not in (-1, 0, 1):
            raise ModelError(f"event {name!r}: direction must be 1 (rising), -1 (falling) or 0 (both), got {direction!r}")
        if action not in ("stop", "record"):
            raise ModelError(f"event {name!r}: action must be 'stop' or 'record', got {action!r}")
        return self._add("events", ModelEvent(name, expression_of(expression, f"event {name!r}"), action, direction, description))

    def independent(self, *velocities: str) -> None:
        """Choose the independent velocities by name; by default they are chosen by structure and conditioning."""
        for name in velocities:
            if not isinstance(name, str):
                raise ModelError(f"independent velocities of model {self.name!r}: give names such as 'steer_rate', got {name!r}")
        self._independent = tuple(velocities)

    # ------------------------------------------------------------ finishing

    def freeze(self) -> System:
        """Validate the description and return it as an immutable `System`."""
        system = System(
            name=self.name,
            description=self.description,
            gravity=self._gravity,
            ground=self._ground,
            independent=self._independent,
            impacts=self._impacts,
            impacts_without_collision=self._without_collision,
            **{kind: tuple(items.values()) for kind, items in in_order(self._items).items()},
        )
        # Every analysis freezes the model; comparing identical items is fast.
        if system == self._last:
            return self._last
        check_system(system)
        self._last = system
        return system

    @staticmethod
    def of(system: System) -> Model:
        """An editable copy of a frozen description."""
        model = Model(system.name, system.description)
        for kind in KINDS:
            model._items[kind] = {item.name: item for item in getattr(system, kind)}
        model._gravity, model._ground, model._independent = system.gravity, system.ground, system.independent
        model._impacts, model._without_collision = system.impacts, system.impacts_without_collision
        return model

    @property
    def unilateral(self) -> tuple[Wheel | PointContact | SurfaceContact | Stop | JointFriction | ContactResistance, ...]:
        """Contacts that may slip and open."""
        return self.freeze().unilateral

    def in_modes(self, modes: Mapping[str, str]) -> Model:
        """The same mechanism with contacts that keep a mode: `{"front": "stick", "rear": "open"}`.

        A contact that sticks becomes permanent, one that is open is left out; the others stay as they are. This is for analyses
        of one set of equations, such as `linearize`: that the forces allow the modes is not checked.
        """
        return Model.of(in_modes(self.freeze(), modes))

    def referred_to(self, body: Body | str) -> Model:
        """The same mechanism with another reference body, which gets the free or planar joint; joints on the way are reversed."""
        return Model.of(referred_to(self.freeze(), name_of(body)))


# by the unit of a measure: units of the conjugate force, of a stiffness and of a damping
_Units = tuple[str | None, str | None, str | None]
_CONJUGATE: dict[str | None, _Units] = {"m": ("N", "N/m", "N*s/m"), "rad": ("N*m", "N*m/rad", "N*m*s/rad")}


def _tensor(given: Mapping[str, Amount] | Sequence[Amount] | None, where: str) -> Inertia:
    """An inertia tensor from a mapping of its entries, or from its diagonal."""
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        diagonal: list[Any] = [given] if isinstance(given, str) or not hasattr(given, "__len__") else list(given)
        if len(diagonal) != 3 or any(hasattr(entry, "__len__") and not isinstance(entry, str) for entry in diagonal):
            raise ModelError(
                f"inertia of {where}: give three entries (xx, yy, zz), or a mapping with xx, yy, zz, xy, yz, zx; got {given!r}"
            )
        given = dict(zip(("xx", "yy", "zz"), diagonal, strict=True))
    entries = ("xx", "yy", "zz", "xy", "yz", "zx")
    unknown = sorted(set(given) - set(entries))
    if unknown:
        raise ModelError(f"{where}: inertia has no entry {unknown[0]!r}; use xx, yy, zz, xy, yz, zx")
    return Inertia(**{k: amount_in(given.get(k, 0), "kg*m^2", f"inertia {k} of {where}") for k in entries})


def _shapes(given: Sequence[Given], where: str) -> tuple[BodyShape, ...]:
    """Shapes for drawing, whose kinds are needed only where some are given."""
    if isinstance(given, tuple | list) and not given:
        return ()
    from draisine.model.shapes import shapes_of  # eleven classes, which most models do not need

    return shapes_of(given, where)


def _downward(size: Expr) -> Expr:
    """Gravity along z from its magnitude; of a product with a number the sign stays outside."""
    if isinstance(size, Number) and size.value < 0.0:
        raise ModelError(
            f"gravity is a magnitude along −z, got {size} m/s^2; give {-size.value:g}, or for gravity upward a vector, "
            f"(0, 0, {-size.value:g})"
        )
    return -size


def _constant(expression: Expr, where: str) -> Number:
    try:
        return Number(evaluate_number(expression))
    except ExpressionError as problem:
        raise ModelError(f"{where}: {problem}") from None


def _label(expression: Expr) -> str:
    text = str(expression)
    return "".join(c if c.isalnum() else "_" for c in text).strip("_")
