"""Constraints and actuators of MJCF: <equality> as exact constraints, motors and servos as forces with an input each."""

from __future__ import annotations

import numpy as np

from draisine.expr.expression import Expr, Name, Number, did_you_mean
from draisine.model.robots.mass_properties import Pose
from draisine.model.robots.mjcf_settings import Settings
from draisine.model.robots.robot import Assembly, Coupling
from draisine.model.robots.xml_files import Element

# -------------------------------------------------------------------- equality


def add_equalities(assembly: Assembly, root: Element, settings: Settings) -> None:
    """The constraints of <equality>; those that are not active are left out, and kinds without a counterpart noted."""
    for group in root.all("equality"):
        for k, element in enumerate(group.children):
            full = settings.complete(element, "main", "equality")
            name = full.attributes.get("name") or f"{element.tag}_{k + 1}"
            where = f"equality {name!r}"
            if full.attributes.get("active", "true") == "false":
                assembly.robot.notes.append(f"{where} is not active and is ignored")
            elif element.tag == "joint":
                _couple(assembly, full, where)
            elif element.tag in ("connect", "weld"):
                _connect(assembly, full, name, where, settings)
            else:
                assembly.robot.losses.append(f"{where} of the kind <{element.tag}> is ignored (line {element.line})")


def _couple(assembly: Assembly, element: Element, where: str) -> None:
    """joint1 − ref1 = polynomial of (joint2 − ref2); without joint2 the polynomial of zero."""
    text = element.attributes.get("polycoef", "0 1 0 0 0")
    count = len(text.split())
    parts = Element(element.tag, {"polycoef": text}, element.file, element.line).numbers("polycoef", where, count)
    coefficients = [*parts, *[0.0, 1.0, 0.0, 0.0, 0.0][count:]] if count < 5 else list(parts)
    pair = [element.text("joint1", where)]
    if "joint2" in element.attributes:
        pair.append(element.text("joint2", where))
    for joint in pair:
        if joint not in assembly.coordinates:
            hint = did_you_mean(joint, list(assembly.coordinates))
            element.refuse(f"{where}: {joint!r} is not a joint with one coordinate{hint}")
    references = {j.name: j.reference for link in assembly.robot.links for j in link.joints}
    offset = references[pair[0]] + coefficients[0]
    if len(pair) == 1:
        name = assembly.coordinates[pair[0]].name
        assembly.model.prescribe(f"{name}_coupling", name, offset)
    elif not any(coefficients[2:]):
        assembly.couple(Coupling(pair[0], pair[1], coefficients[1], offset - coefficients[1] * references[pair[1]], element))
    else:
        first, second = (assembly.coordinates[joint] for joint in pair)
        along = Name(second.name) - references[pair[1]]
        total: Expr = Number(0.0)
        for factor in reversed(coefficients[1:]):
            total = (total + factor) * along
        assembly.model.constrain(f"{first.name}_coupling", Name(first.name) - offset - total, unit=first.unit)


def _connect(assembly: Assembly, element: Element, name: str, where: str, settings: Settings) -> None:
    """Two points stay together, <connect>, or two frames, <weld>; both as they are where all joints are at their references."""
    label = "".join(c if c.isalnum() else "_" for c in name)
    label = label if label[:1].isalpha() else f"equality_{label}"
    if "body1" not in element.attributes:
        assembly.robot.losses.append(f"{where} between sites is ignored (line {element.line})")
        return
    ends = [element.text("body1", where), element.text("body2", where, "world")]
    for end in ends:
        if end not in assembly.carriers:
            element.refuse(f"{where}: {end!r} is not a body{did_you_mean(end, list(assembly.carriers))}")
    first, second = (_world_pose(assembly, end) for end in ends)
    relative = _inverse(second).then(first)  # the first body in the second, at the references
    if element.tag == "connect":
        anchor = element.numbers("anchor", where, 3)
        points = [Pose(tuple(anchor)), Pose(tuple(float(c) for c in relative.apply(anchor)))]  # type: ignore[arg-type]
    else:
        given = element.numbers("relpose", where, 7, (0, 1, 0, 0, 0, 0, 0))
        if any(given[3:]):
            turn = Element(element.tag, {"quat": " ".join(map(repr, given[3:]))}, element.file, element.line)
            rotation = settings.rotation(turn, where)
            relative = _inverse(Pose.of(given[:3], np.eye(3) if rotation is None else rotation))
        anchor = element.numbers("anchor", where, 3, (0.0, 0.0, 0.0))
        at_second = Pose(tuple(anchor))  # type: ignore[arg-type]
        points = [_inverse(relative).then(at_second), at_second]
    places = [(assembly.carriers[end], pose) for end, pose in zip(ends, points, strict=True)]
    a, b = (assembly.frame(f"{label}_{k}", body, place.then(pose)) for k, ((body, place), pose) in enumerate(places, 1))
    if element.tag == "connect":
        assembly.model.close_point(label, a, b)
    else:
        assembly.model.close_slider(label, a, b, axis="x")
        assembly.model.close_point(f"{label}_along", a, b, axes="x")


def _world_pose(assembly: Assembly, name: str) -> Pose:
    """The pose of a body where no joint is displaced."""
    pose = Pose()
    current: str | None = name
    links = {link.name: link for link in assembly.robot.links}
    while current is not None:
        pose = links[current].pose.then(pose)
        current = links[current].parent
    return pose


def _inverse(pose: Pose) -> Pose:
    back = pose.rotation.T
    return Pose.of(tuple(-back @ np.array(pose.position)), back)


# -------------------------------------------------------------------- actuators


def add_actuators(assembly: Assembly, root: Element, settings: Settings) -> None:
    """An input for each motor and servo on a joint; force = gear · (gain · input + bias₀ + bias₁ length + bias₂ velocity)."""
    for group in root.all("actuator"):
        for k, element in enumerate(group.children):
            full = settings.complete(element, "main") if element.tag in _PRESETS else element
            _refuse_shared_defaults(full, settings)
            name = full.attributes.get("name") or f"{element.tag}_{k + 1}"
            where = f"actuator {name!r}"
            law = _law(full, where)
            joint = full.attributes.get("joint", full.attributes.get("jointinparent"))
            if law is None or joint is None:
                assembly.robot.losses.append(f"{where} of the kind <{element.tag}> is ignored (line {element.line})")
                continue
            if joint not in assembly.coordinates:
                known = list(assembly.coordinates)
                full.refuse(f"{where}: {joint!r} is not a joint with one coordinate{did_you_mean(joint, known)}")
            off = {key for key, by in _BOUNDS.items() if full.attributes.get(by) == "false"}  # bounds that MuJoCo ignores, too
            for key in sorted(full.attributes.keys() - _TAKEN - off):
                word = "enforced" if key in _BOUNDS else "taken"
                assembly.robot.losses.append(f"{key} of {where} is not {word} (line {full.line})")
            _add(assembly, name, joint, law, full)


def _refuse_shared_defaults(element: Element, settings: Settings) -> None:
    """In MuJoCo a default of one kind of actuator holds for all others, which is seldom meant."""
    given = settings.defaults[element.attributes.get("class", "main")]
    for tag, values in given.items():
        if (
            tag in _PRESETS
            and tag != element.tag
            and values.keys() - {"ctrlrange", "ctrllimited", "forcerange", "forcelimited", "class"}
        ):
            element.refuse(f"the defaults of <{tag}> hold for this <{element.tag}> too, which is not supported; give it a class")


_BOUNDS = {"ctrlrange": "ctrllimited", "forcerange": "forcelimited"}
_TAKEN = {"name", "class", "group", "user", "joint", "jointinparent", "gear", "kp", "kv", "ctrllimited", "forcelimited"}
_TAKEN |= {"gaintype", "biastype", "gainprm", "biasprm", "dyntype"}
_PRESETS = ("motor", "position", "velocity", "damper", "general")


def _law(element: Element, where: str) -> tuple[float, float, float, float] | None:
    """Gain, and the bias of a constant, of length and of velocity; None for laws that are ignored."""
    number = element.number
    if (
        element.attributes.get("dyntype", "none") != "none"
        or "timeconst" in element.attributes
        or "inheritrange" in element.attributes
    ):
        return None
    if element.tag == "motor":
        return 1.0, 0.0, 0.0, 0.0
    if element.tag == "position":
        kp = number("kp", where, 1.0)
        return None if "dampratio" in element.attributes else (kp, 0.0, -kp, -number("kv", where, 0.0))
    if element.tag == "velocity":
        kv = number("kv", where, 1.0)
        return kv, 0.0, 0.0, -kv
    if element.tag != "general":
        return None
    if element.attributes.get("gaintype", "fixed") != "fixed" or element.attributes.get("biastype", "none") not in (
        "none",
        "affine",
    ):
        return None
    gain = _leading(element, "gainprm", where, (1.0,))[0]
    bias = _leading(element, "biasprm", where, (0.0, 0.0, 0.0)) if element.attributes.get("biastype") == "affine" else (0.0,) * 3
    return gain, bias[0], bias[1], bias[2]


def _leading(element: Element, key: str, where: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """The first numbers of an attribute, completed by defaults."""
    if key not in element.attributes:
        return default
    found = element.numbers(key, where, len(element.attributes[key].split()))
    return (*found[: len(default)], *default[len(found) :])


def _add(assembly: Assembly, name: str, joint: str, law: tuple[float, float, float, float], element: Element) -> None:
    coordinate = assembly.coordinates[joint]
    gear = _leading(element, "gear", f"actuator {name!r}", (1.0,))[0]
    gain, constant, by_length, by_velocity = law
    label = assembly.input_name(name)
    servo = element.tag == "position"
    turns = coordinate.unit == "rad"
    force = "N*m" if turns else "N"
    unit = {"motor": force if gear == 1.0 else "", "position": coordinate.unit, "velocity": f"{coordinate.unit}/s"}.get(
        element.tag, ""
    )
    unit = unit if gear == 1.0 else ""
    amount: Expr = gear * gain * assembly.model.input(label, unit, f"of actuator {name}{', a position' if servo else ''}")
    for factor, quantity in ((by_length * gear, coordinate.name), (by_velocity * gear, coordinate.rate)):
        if factor:
            amount = amount + gear * factor * Name(quantity)
    assembly.model.generalized_force(coordinate.name, amount + gear * constant if constant else amount, label)
