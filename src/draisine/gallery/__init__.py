"""The gallery of models and studies, shared by the command line, the documentation and the tests.

    >>> from draisine import gallery
    >>> bike = gallery.bicycle()
    >>> "bicycle" in gallery.models()
    True

A model is a function without arguments that returns a `Model`, or `Equations` for a system given as formulas; a study is a
function that simulates one and returns a `Study`: trajectories, figures, findings. Each file begins with what the study shows
and what you should see.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.errors import UnknownNameError
from draisine.expr.expression import did_you_mean
from draisine.gallery.registry import ENTRIES, LIVE, Live

if TYPE_CHECKING:
    from collections.abc import Callable

    from draisine.gallery.registry import Entry, Live, Study
    from draisine.model.model import Model
    from draisine.optimal.solution import Solution
    from draisine.program.equations import Equations

# name → file of the folder `entries` that defines a function of that name
_MODELS = {
    "bicycle": "bicycle",
    "rolling_disk": "disk",
    "rolling_torus": "torus",
    "unicycle": "unicycle",
    "chaplygin_sleigh": "sleigh",
    "snakeboard": "snakeboard",
    "sanjuan_bicycle": "sanjuan_bicycle",
    "sanjuan_disk": "sanjuan_disk",
    "delebecque_bicycle": "delebecque_bicycle",
    "delebecque_graph": "delebecque_bicycle",
    "double_pendulum": "double_pendulum",
    "double_pendulum_graph": "double_pendulum",
    "belt_oscillator": "belt_oscillator",
    "cart_pole": "cart_pole",
    "cart_pole_graph": "cart_pole",
    "spherical_pendulum": "spherical_pendulum",
    "spherical_pendulum_by_angles": "spherical_pendulum",
    "rattleback": "rattleback",
    "rattleback_graph": "rattleback",
    "sphere_on_turntable": "sphere_on_turntable",
    "sphere_on_turntable_graph": "sphere_on_turntable",
    "simple_pendulum": "n_pendulum",
    "cartesian_double_pendulum": "n_pendulum",
    "n_pendulum": "n_pendulum",
    "n_pendulum_by_angles": "n_pendulum",
    "link_chain": "link_chain",
    "spatial_chain": "link_chain",
    "hanging_rope": "hanging_rope",
    "trailers": "trailers",
    "snake_robot": "snake_robot",
    "big_tree": "big_tree",
    "ladder": "ladder",
    "ladder_by_angles": "ladder",
    "four_bar": "four_bar",
    "four_bar_driven": "four_bar",
    "slider_crank": "slider_crank",
    "slider_crank_by_guide": "slider_crank",
    "slider_crank_driven": "slider_crank",
    "sarrus_lift": "sarrus",
    "stewart_platform": "stewart",
    "atwood": "atwood",
    "swinging_atwood": "atwood",
    "planetary_gear": "gear_train",
    "tricycle": "tricycle",
    "tricycle_locked_steer": "tricycle",
    "car": "car",
    "car_slalom": "car",
    "wheel_on_waves": "waves",
    "wheelset": "wheelset",
    "sliding_bicycle": "sliding_bicycle",
    "car_on_tires": "handling",
    "three_body": "three_body",
    "three_body_with_multiplier": "three_body",
    "three_body_in_momenta": "three_body",
    "van_der_pol": "van_der_pol",
    "van_der_pol_singular": "van_der_pol",
    "van_der_pol_limit": "van_der_pol",
    "singular_constraint": "singular_constraint",
    "shuttle": "shuttle",
    "shuttle_at_altitude": "shuttle",
    "shuttle_with_path_put_in": "shuttle",
    "free_shuttle": "shuttle",
    "schwab_bicycle": "schwab_bicycle",
    "two_mass_skate": "two_mass_skate",
    "leaning_rider": "leaning_rider",
    "ridden_bicycle": "ridden_bicycle",
    "flexible_frame": "flexible_frame",
    "sharp_motorcycle": "sharp_motorcycle",
    "motorcycle": "motorcycle",
    "motorcycle_on_magic_formula": "motorcycle",
    "motorcycle_over_bump": "motorcycle_kick_back",
    "motorcycle_on_ice": "motorcycle_low_side",
    "cornering_motorcycle": "motorcycle_optimal_corner",
    "double_integrator": "double_integrator",
    "bead_on_wire": "brachistochrone",
    "dubins_car": "shortest_cars",
    "reeds_shepp_car": "shortest_cars",
    "goddard_rocket": "goddard",
    "simple_bicycle": "simple_countersteer",
    "acrobot": "swing_ups",
    "gliding_shuttle": "shuttle_cross_range",
    "draining_tank": "draining_tank",
    "damped_pendulum": "logger_file",
    "bouncing_ball": "bouncing_ball",
    "block_on_slope": "block_on_slope",
    "cue_ball": "cue_ball",
    "ball_on_sphere": "ball_on_sphere",
    "falling_rod": "falling_rod",
    "rocking_block": "rocking_block",
    "rimless_wheel": "rimless_wheel",
    "compass_gait": "compass_gait",
    "newtons_cradle": "newtons_cradle",
    "braking_bicycle": "braking_bicycle",
    "superball": "superball",
    "coin": "coin",
    "tipping_tricycle": "tricycle_tips",
    "wheelset_between_flanges": "wheelset_flange",
    "hopper": "hopper",
    "tippe_top": "tippe_top",
    "simplest_walker": "simplest_walker",
    "kerb_bicycle": "kerb",
    "skidding_bicycle": "skidding_bicycle",
    "falling_bicycle": "falling_bicycle",
}
_STUDIES = {
    "bicycle_free_run": "bicycle_free_run",
    "rolling_disk_paths": "disk",
    "rolling_torus_paths": "torus",
    "unicycle_ride": "unicycle",
    "bicycle_controlled_turn": "bicycle_controlled_turn",
    "turning_atlas": "turning_atlas",
    "sleigh_turns_round": "sleigh",
    "snakeboard_drive": "snakeboard",
    "sanjuan_bicycle_ride": "sanjuan_bicycle",
    "sanjuan_disk_matrices": "sanjuan_disk",
    "delebecque_pulse": "delebecque_bicycle",
    "double_pendulum_twice": "double_pendulum",
    "belt_sticks_and_slips": "belt_oscillator",
    "cart_pole_swing_up": "cart_pole",
    "spherical_pendulum_passes": "spherical_pendulum",
    "rattleback_reverses": "rattleback",
    "sphere_on_turntable_circles": "sphere_on_turntable",
    "n_pendulum_falls": "n_pendulum",
    "link_chain_falls": "link_chain",
    "rope_settles": "hanging_rope",
    "trailers_follow": "trailers",
    "snake_sets_off": "snake_robot",
    "tree_flails": "big_tree",
    "ladder_swings": "ladder",
    "four_bar_turns": "four_bar",
    "slider_crank_runs": "slider_crank",
    "sarrus_lift_falls": "sarrus",
    "stewart_platform_heaves": "stewart",
    "swinging_atwood_loops": "atwood",
    "planetary_gear_lifts": "gear_train",
    "tricycle_corners": "tricycle",
    "car_weaves": "car",
    "wheel_over_waves": "waves",
    "wheelset_hunts": "wheelset",
    "wheelset_limit_cycles": "hunting",
    "bicycle_weaves": "weave",
    "bicycle_slides": "sliding_bicycle",
    "handling_diagram": "handling",
    "three_body_treatments": "three_body",
    "van_der_pol_relaxes": "van_der_pol",
    "singular_constraint_branches": "singular_constraint",
    "shuttle_poses": "shuttle",
    "shuttle_returns": "shuttle",
    "bicycle_changes_lane": "bicycle_on_path",
    "schwab_bicycle_responds": "schwab_bicycle",
    "lqr_gust": "lqr_gust",
    "slalom": "slalom",
    "two_mass_skate_rights_itself": "two_mass_skate",
    "delebecque_fates": "source_c_fates",
    "why_bicycles_settle": "why_stable",
    "rider_steers_by_leaning": "leaning_rider",
    "passive_arms_change_stability": "ridden_bicycle",
    "wobble_appears": "flexible_frame",
    "sharp_oscillates": "sharp_motorcycle",
    "motorcycle_corners": "motorcycle",
    "kick_back": "motorcycle_kick_back",
    "low_side": "motorcycle_low_side",
    "optimal_corner": "motorcycle_optimal_corner",
    "trolley_parks": "double_integrator",
    "brachistochrone": "brachistochrone",
    "shortest_cars": "shortest_cars",
    "rocket_climbs": "goddard",
    "minimum_time_turn": "minimum_time_turn",
    "unicycle_countersteers": "unicycle_countersteer",
    "simple_bicycle_countersteers": "simple_countersteer",
    "snakeboard_at_its_best": "snakeboard_optimal",
    "swing_ups": "swing_ups",
    "bicycle_designed": "bicycle_design",
    "shuttle_lands_aside": "shuttle_cross_range",
    "lane_change": "lane_change",
    "tank_outlet_found": "draining_tank",
    "bicycle_identified": "bicycle_identified",
    "pendulum_friction_found": "friction_pendulum",
    "wheelset_identified": "wheelset_identified",
    "double_pendulum_tracked": "double_pendulum_tracked",
    "logger_file_fitted": "logger_file",
    "state_estimation": "state_estimation",
    "basins": "basins",
    "ball_comes_to_rest": "bouncing_ball",
    "block_slides_and_sticks": "block_on_slope",
    "cue_ball_rolls": "cue_ball",
    "ball_leaves_sphere": "ball_on_sphere",
    "rod_falls": "falling_rod",
    "painleve_paradox": "painleve",
    "block_rocks": "rocking_block",
    "rimless_wheel_rolls": "rimless_wheel",
    "compass_gait_walks": "compass_gait",
    "cradle_swings": "newtons_cradle",
    "bicycle_brakes": "braking_bicycle",
    "superball_returns": "superball",
    "coin_settles": "coin",
    "tricycle_on_two_wheels": "tricycle_tips",
    "wheelset_strikes_flanges": "wheelset_flange",
    "hopper_jumps": "hopper",
    "tippe_top_turns_over": "tippe_top",
    "simplest_walker_walks": "simplest_walker",
    "bicycle_drops_off_a_kerb": "kerb",
    "bicycle_skids": "skidding_bicycle",
    "bicycle_falls": "falling_bicycle",
    "bicycle_learns_to_balance": "learning_to_balance",
}

# study → function of the same file that solves its maneuver
_SOLUTIONS = {
    "optimal_corner": "quickest",
    "trolley_parks": "parked_plainly",
    "brachistochrone": "quickest",
    "rocket_climbs": "ascent",
    "unicycle_countersteers": "quickest_turn",
    "shuttle_lands_aside": "farthest",
    "lane_change": "next_lane",
    "minimum_time_turn": "fastest",
    "simple_bicycle_countersteers": "quickest",
    "snakeboard_at_its_best": "gait",
    "swing_ups": "acrobot_up",
}


def models() -> dict[str, str]:
    """Names of the models, each with a one-line description."""
    return {name: _about(file, name) for name, file in _MODELS.items()}


def studies() -> dict[str, str]:
    """Names of the studies, each with a one-line description."""
    return {name: _about(file, name) for name, file in _STUDIES.items()}


def model(name: str) -> Model | Equations:
    """A model by name."""
    found: Model | Equations = _function(name, _MODELS, "model")()
    return found


def study(name: str) -> Callable[[], Study]:
    """A study by name, as a function that runs it."""
    found: Callable[[], Study] = _function(name, _STUDIES, "study")
    return found


def entry(name: str) -> Entry:
    """Level and film of a study, as its file declares them."""
    study(name)
    return ENTRIES[name]


def live(name: str) -> Live:
    """Default start of a model in the studio, as its file declares it; at rest for undeclared and other models."""
    if name in _MODELS:
        _function(name, _MODELS, "model")
    return LIVE.get(name, Live())


def maneuvers() -> list[str]:
    """Names of the studies with a maneuver."""
    return list(_SOLUTIONS)


def solution(name: str) -> Solution:
    """The solution of a study's maneuver."""
    if name not in _SOLUTIONS:
        study(name)  # raises UnknownNameError for a misspelled name
        raise UnknownNameError(
            f"the study {name!r} has no maneuver{did_you_mean(name, _SOLUTIONS)}; these have: {', '.join(_SOLUTIONS)}"
        )
    found: Solution = getattr(import_module(f"draisine.gallery.entries.{_STUDIES[name]}"), _SOLUTIONS[name])()
    return found


def _function(name: str, table: dict[str, str], kind: str) -> Any:
    if name not in table:
        raise UnknownNameError(f"the gallery has no {kind} {name!r}{_instead(name, table)}")
    return getattr(import_module(f"draisine.gallery.entries.{table[name]}"), name)


def _instead(name: str, known: Collection[str]) -> str:
    return did_you_mean(name, known) or f"; it has {', '.join(known)}"


def _about(file: str, function: str) -> str:
    return _documented(file).get(function, "")


@cache
def _documented(file: str) -> dict[str, str]:
    """First docstring lines of a file's functions, read without importing it."""
    tree = ast.parse((Path(__file__).parent / "entries" / f"{file}.py").read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {node.name: (ast.get_docstring(node) or "").partition("\n")[0] for node in functions}


def __getattr__(name: str) -> Any:
    if name in _MODELS:
        return _function(name, _MODELS, "model")
    if name in _STUDIES:
        return _function(name, _STUDIES, "study")
    raise AttributeError(f"the gallery has no {name!r}{_instead(name, [*_MODELS, *_STUDIES])}")


def __dir__() -> list[str]:
    return [*_MODELS, *_STUDIES, "entry", "live", "model", "models", "solution", "studies", "study"]
