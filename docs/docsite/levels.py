"""The gallery's studies by level, and which run of each becomes a film."""

from __future__ import annotations

from draisine import gallery

LEVELS: dict[str, tuple[str, tuple[str, ...]]] = {
    "First steps": (
        "One body or a few, a closed form to compare with, ten lines of description.",
        (
            *("bicycle_free_run", "rolling_disk_paths", "rolling_torus_paths", "sleigh_turns_round", "snakeboard_drive"),
            *("double_pendulum_twice", "cart_pole_swing_up", "four_bar_turns", "slider_crank_runs", "swinging_atwood_loops"),
            *("planetary_gear_lifts", "wheel_over_waves", "spherical_pendulum_passes", "van_der_pol_relaxes"),
            *("trolley_parks", "brachistochrone", "tank_outlet_found"),
        ),
    ),
    "Intermediate": (
        "Vehicles with feedback, closed loops in space, redundant constraints, first fits and manoeuvres.",
        (
            *("bicycle_controlled_turn", "unicycle_ride", "tricycle_corners", "car_weaves", "schwab_bicycle_responds"),
            *("delebecque_pulse", "delebecque_fates", "sanjuan_bicycle_ride", "lqr_gust", "slalom", "bicycle_changes_lane"),
            *("two_mass_skate_rights_itself", "why_bicycles_settle", "rider_steers_by_leaning", "bicycle_slides"),
            *("rattleback_reverses", "sphere_on_turntable_circles", "n_pendulum_falls", "link_chain_falls", "ladder_swings"),
            "rope_settles",
            *("sarrus_lift_falls", "stewart_platform_heaves", "three_body_treatments", "singular_constraint_branches"),
            *("shortest_cars", "rocket_climbs", "simple_bicycle_countersteers", "swing_ups", "logger_file_fitted"),
            "pendulum_friction_found",
        ),
    ),
    "Advanced": (
        "Continuation, limit cycles, creep and rails, optimal manoeuvres of the whole bicycle, identification and filtering.",
        (
            *("turning_atlas", "bicycle_weaves", "wobble_appears", "wheelset_hunts", "wheelset_limit_cycles"),
            *("minimum_time_turn", "lane_change", "unicycle_countersteers", "snakeboard_at_its_best", "bicycle_designed"),
            *("trailers_follow", "snake_sets_off", "tree_flails"),
            *("shuttle_poses", "shuttle_returns", "shuttle_lands_aside", "sanjuan_disk_matrices", "basins"),
            *("bicycle_identified", "wheelset_identified", "double_pendulum_tracked", "state_estimation"),
        ),
    ),
}

# study → (run that is filmed, quantities beside it); quick studies of described models
FILMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "bicycle_free_run": ("bicycle_free_run", ("lean", "steer")),
    "rolling_disk_paths": ("disk_slow", ("lean",)),
    "rolling_torus_paths": ("torus_flower", ("lean",)),
    "sleigh_turns_round": ("chaplygin_sleigh", ("speed", "turn_rate")),
    "snakeboard_drive": ("snakeboard_circle", ()),
    "double_pendulum_twice": ("double_pendulum_graph", ()),
    "cart_pole_swing_up": ("cart_pole_graph", ()),
    "four_bar_turns": ("free", ()),
    "slider_crank_runs": ("by_pin", ()),
    "swinging_atwood_loops": ("ordered", ()),
    "planetary_gear_lifts": ("lift", ()),
    "wheel_over_waves": ("run", ()),
    "bicycle_controlled_turn": ("bicycle_controlled_turn", ("lean", "steer", "steer_torque")),
    "unicycle_ride": ("unicycle_pushed", ()),
    "tricycle_corners": ("ride", ()),
    "car_weaves": ("slalom", ()),
    "sarrus_lift_falls": ("fall", ()),
    "stewart_platform_heaves": ("heave", ()),
    "sanjuan_bicycle_ride": ("sanjuan_bicycle", ("lean", "steer")),
    "wheelset_hunts": ("hunting", ()),
    "lqr_gust": ("lqr_gust", ("lean", "steer", "steer_torque")),
    "slalom": ("slalom", ("lean", "steer")),
    "two_mass_skate_rights_itself": ("kicked", ("lean", "steer")),
    "rider_steers_by_leaning": ("lean_to_the_right", ("lean", "steer")),
    "bicycle_slides": ("ice", ("lean",)),
    "trailers_follow": ("circle", ()),
    "snake_sets_off": ("snake", ()),
    "unicycle_countersteers": ("unicycle_countersteers", ()),
}
QUICK = ("bicycle_free_run",)  # all that a reduced build films


def level(study: str) -> str:
    """Where a study belongs; one that nobody has placed is advanced."""
    return next((name for name, (_, studies) in LEVELS.items() if study in studies), "Advanced")


def by_level() -> dict[str, tuple[str, list[str]]]:
    """Level → what it means and its studies, in the order above; those not named there come last."""
    there = gallery.studies()
    placed = {study for _, studies in LEVELS.values() for study in studies}
    found = {name: (about, [s for s in studies if s in there]) for name, (about, studies) in LEVELS.items()}
    found["Advanced"][1].extend(study for study in there if study not in placed)
    return found
