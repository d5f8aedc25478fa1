"""The words of MJCF where a misspelled one would change the motion: an unknown element is refused, an unknown attribute is
reported, both with the word that is near. Words of MuJoCo 2 to 4 are known, those that have no effect on a motion among them."""

from __future__ import annotations

from draisine.expr.expression import did_you_mean
from draisine.model.robots.xml_files import Element

_ACTUATORS = "general motor position velocity intvelocity damper cylinder muscle adhesion plugin orientation pid dcmotor"
_CHILDREN = {
    "mujoco": "compiler option size statistic visual default extension custom asset worldbody deformable contact equality tendon"
    " actuator sensor keyframe",
    "compiler": "lengthrange",
    "option": "flag",
    "default": "default mesh texture material joint geom site camera light pair equality tendon skin hfield flex " + _ACTUATORS,
    "equality": "connect weld joint tendon distance flex flexvert flexstrain",
    "actuator": _ACTUATORS,
}
_TURNED = "quat euler axisangle xyaxes zaxis"
_SHARED = "class name user group"
_SOFT = "solref solimp"
_ATTRIBUTES = {
    "compiler": "alignfree angle assetdir autolimits balanceinertia boundinertia boundmass conflict convexhull coordinate"
    " discardvisual eulerseq exactmeshinertia fitaabb fusestatic inertiafromgeom inertiagrouprange meshdir passthrough"
    " savecanonical savecompiled saveinertial settotalmass strippath texturedir usethread",
    "option": "actuatorgroupdisable apirate ccd_iterations ccd_tolerance collision cone density gravity impratio integrator"
    " iterations jacobian ls_iterations ls_tolerance magnetic mpr_iterations mpr_tolerance noslip_iterations noslip_tolerance"
    " o_friction o_margin o_solimp o_solref sdf_initpoints sdf_iterations sleep_tolerance solver timestep tolerance viscosity"
    " wind",
    "flag": "actuation autoreset clampctrl constraint contact damper diagexact energy equality eulerdamp filterparent"
    " frictionloss fwdinv gravity invdiscrete ipc island limit midphase multiccd nativeccd override passive refsafe sensor"
    " sensornoise sleep speculative spring warmstart",
    "mujoco": "model",
    "worldbody": "",
    "body": f"childclass fuse gravcomp mocap name pos simple sleep user {_TURNED}",
    "frame": f"childclass name pos {_TURNED}",
    "inertial": f"diaginertia fullinertia mass pos {_TURNED}",
    "geom": f"{_SHARED} {_SOFT} {_TURNED} adhesion castshadow conaffinity condim contype density fitscale fluidcoef fluidshape"
    " friction fromto gap hfield margin mass material mesh pos priority rgba shellinertia size solmix surfacevel type",
    "site": f"{_SHARED} {_TURNED} fromto material mesh pos rgba size type",
    "freejoint": "align group name user",
    "joint": f"{_SHARED} actuatorfrclimited actuatorfrcrange actuatorgravcomp align armature axis damping frictionloss limited"
    " margin pos range ref solimpfriction solimplimit solreffriction solreflimit springdamper springref springyield stiffness"
    " type",
    "connect": f"{_SHARED} {_SOFT} active anchor body1 body2 site1 site2",
    "weld": f"{_SHARED} {_SOFT} active anchor body1 body2 relpose site1 site2 torquescale",
    "equality joint": f"{_SHARED} {_SOFT} active joint1 joint2 polycoef",
    "default equality": f"{_SHARED} {_SOFT} active",
}
_KNOWN = {place: tuple(words.split()) for place, words in _CHILDREN.items()}
_WORDS = {place: tuple(words.split()) for place, words in _ATTRIBUTES.items()}


def unknown_words(root: Element) -> list[str]:
    """Refuse elements that MJCF does not have; the unknown attributes of those that are read, each as a sentence."""
    losses: list[str] = []
    _check(root, "", losses)
    return losses


def _check(element: Element, around: str, losses: list[str]) -> None:
    tag = element.tag
    known = _WORDS.get(f"{around} {tag}", None if tag == "equality" else _WORDS.get(tag))
    if known is not None:
        # joints themselves name every attribute that is ignored, with the name of the joint
        given = () if tag in ("joint", "freejoint") and around not in ("equality", "default") else element.attributes
        for word in given:
            if word not in known:
                losses.append(f"{word!r} of <{tag}> in line {element.line} is unknown and ignored{did_you_mean(word, known)}")
    children = None if (tag, around) == ("equality", "default") else _KNOWN.get(tag)
    for child in element.children:
        if children is not None and child.tag not in children:
            child.refuse(f"<{tag}> of MJCF has no <{child.tag}>{did_you_mean(child.tag, children)}")
        _check(child, tag, losses)
