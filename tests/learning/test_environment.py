"""Environments: steps equal runs, episodes end as they should, and Gymnasium's own checks pass."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import sympy as sp
from gymnasium.utils.env_checker import check_env
from numpy.testing import assert_allclose, assert_array_equal

import draisine as dr
from draisine.simulation.run import integrate

SEEN = ("lean", "steer", "roll_rate", "steer_rate")
TASK = dict(
    observe=SEEN,
    act={"steer_torque": "5 N*m"},
    reward="1 - lean^2 - 0.01*steer_torque^2",
    reset={"speed": 2.0, "lean": (-0.05, 0.05)},
    terminate={"fell": "abs(lean) > 0.7"},
    until=3.0,
)


@pytest.fixture(scope="module")
def bicycle():
    return dr.derive(dr.gallery.bicycle(), work=False)


def riding(bicycle, **changes):
    return dr.environment(bicycle, **{**TASK, **changes})


# ---------------------------------------------------------------- steps


@pytest.mark.parametrize("substeps", [1, 3])
def test_steps_are_those_of_single_runs_bit_for_bit(bicycle, substeps):
    env, random = riding(bicycle, num_envs=9, substeps=substeps), np.random.default_rng(1)
    env.reset(seed=4)
    everyone, batch = np.arange(9), env.unwrapped.episodes.batch
    assert env.unwrapped.episodes.task.problem.in_batches
    for _ in range(40):
        before, torque = batch.states(everyone), random.uniform(-6.0, 6.0, (9, 1))
        env.step(torque)
        after = batch.states(everyone)
        for k in (0, 4, 8):  # the last one is alone in its group
            u = [float(np.clip(torque[k, 0], -5.0, 5.0)), 0.0, 0.0]
            run = integrate(bicycle, before[k], 0.01, inputs=u, method=dr.methods.RK4(0.01 / substeps))
            assert_array_equal(after[k], run.final_state)


def test_an_episode_is_a_run_of_simulate(bicycle):
    env = riding(bicycle, reset={"speed": 4.6, "roll_rate": 0.1}, act={"steer_torque": 1.0, "push": 50.0})
    env.reset(seed=0)
    for _ in range(100):
        seen, *_ = env.step([0.2, 3.0])
    method, given = dr.methods.RK4(0.01), {"steer_torque": 0.2, "push": 3.0}
    run = dr.simulate(bicycle, 1.0, start={"speed": 4.6, "roll_rate": 0.1}, inputs=given, method=method)
    assert_allclose(seen, [run[name][-1] for name in SEEN], rtol=0, atol=1e-14)
    assert_allclose(list(env.state.values()), [run[name][-1] for name in env.state], rtol=0, atol=1e-14)


def test_results_do_not_depend_on_threads_and_neighbors(bicycle):
    def ridden(count, threads):
        env = riding(bicycle, num_envs=count, threads=threads, reset={"speed": 2.0, "lean": 0.02})
        env.reset(seed=3)
        torque = np.linspace(-0.5, 0.5, 600)[:count, None]
        return [env.step(torque) for _ in range(30)][-1]

    one, two, few = ridden(600, 1), ridden(600, 2), ridden(7, 1)
    for a, b, c in zip(one[:4], two[:4], few[:4], strict=True):
        assert_array_equal(a, b)
        assert_array_equal(a[:7], c)


def test_where_velocities_are_ill_conditioned_the_driver_steps(bicycle):
    """With a limit that every state exceeds, all steps are left to it; it finds no better choice and goes on."""
    strict = replace(bicycle, limits=bicycle.limits._replace(condition=0.9))
    ends = []
    for equations in (bicycle, strict):
        env = riding(equations, num_envs=3, reset={"speed": 2.0, "lean": 0.05})
        env.reset(seed=0)
        for _ in range(5):
            seen, reward, *_ = env.step(np.full((3, 1), 0.3))
        ends.append((seen, reward))
    assert_allclose(ends[0][0], ends[1][0], rtol=0, atol=1e-12)
    assert_allclose(ends[0][1], ends[1][1], rtol=0, atol=1e-12)


def test_equations_that_switch_are_stepped_by_the_driver():
    x, v, f = sp.symbols("x v f")
    block = dr.first_order("block", {x: v, v: f - x - 0.3 * sp.sign(v)}, inputs=[f], start={x: 1.0})
    env = dr.environment(block, observe=["x", "v"], act={"f": 1.0}, reward="-x^2", reset={"x": 1.0, "v": 0.0})
    assert not env.unwrapped.episodes.task.problem.in_batches
    env.reset()
    for _ in range(100):
        seen, *_ = env.step([0.2])
    run = dr.simulate(block, 1.0, start={"x": 1.0}, inputs={"f": 0.2}, method=dr.methods.RK4(0.01))
    assert_allclose(seen, [run["x"][-1], run["v"][-1]], rtol=0, atol=1e-6)  # switches are located from other steps


# ---------------------------------------------------------------- episodes


def test_how_episodes_end(bicycle):
    env = riding(bicycle)
    env.reset(seed=1, options={"start": {"lean": 0.2}})
    terminated, truncated, steps = False, False, 0
    while not (terminated or truncated):
        *_, terminated, truncated, info = env.step([0.0])
        steps += 1
    assert terminated and not truncated
    assert info == {"time": pytest.approx(0.01 * steps), "status": f"EVENT: fell at t = {0.01 * steps:g} s"}
    with pytest.raises(ValueError, match="it has ended; call reset"):
        env.step([0.0])

    calm = riding(bicycle, reset={"speed": 5.0}, until=0.05)
    calm.reset()
    ends = [calm.step([0.0])[2:] for _ in range(5)]
    assert [end[:2] for end in ends] == [(False, False)] * 4 + [(False, True)]
    assert ends[-1][2]["status"] == "FINISHED: reached t = 0.05 s"

    own = riding(bicycle, terminate=None, until=None, reset={"speed": 0.5, "lean": 0.5}, substeps=20)  # the bar turns quickly
    own.reset()
    for _ in range(400):
        *_, terminated, truncated, info = own.step([0.0])
        if terminated or truncated:
            break
    assert terminated and info["status"].startswith("EVENT: fell_over: lean passed 80° before t = ")
    run = dr.simulate(bicycle, 4.0, start={"speed": 0.5, "lean": 0.5})
    assert 0.0 <= info["time"] - run.time[-1] < 0.0101


def test_a_motion_that_cannot_be_continued_is_terminated_with_its_status():
    x, f = sp.symbols("x f")
    growing = dr.first_order("growing", {x: x**2 + f}, inputs=[f])
    env = dr.environment(growing, observe=["x"], act={"f": 1.0}, reward="1", reset={"x": 30.0}, step=0.02, num_envs=2)
    env.reset(seed=0)
    for _ in range(10):
        seen, reward, terminated, _, infos = env.step(np.zeros((2, 1)))
        assert np.isfinite(seen).all() and np.isfinite(reward).all()
        if terminated.any():
            break
    assert terminated.all()
    assert all(text.startswith(("NOT_FINITE", "STEP_TOO_SMALL")) for text in infos["status"]), infos


def test_functions_see_the_quantities_that_their_parameters_name(bicycle):
    def seen(lean, steer):
        return np.stack([np.cos(lean), np.sin(lean), steer], axis=1)

    changes = dict(observe=seen, reward=lambda lean, steer_torque: 1 - lean**2 - 0.01 * steer_torque**2)
    changes["terminate"] = lambda lean: np.abs(lean) > 0.7
    ours, plain = riding(bicycle, **changes, num_envs=5), riding(bicycle, num_envs=5)
    for env in (ours, plain):
        env.reset(seed=8)
    for _ in range(150):
        a, b = (env.step(np.full((5, 1), 0.4)) for env in (ours, plain))
        assert_allclose(a[0], seen(b[0][:, 0], b[0][:, 1]), rtol=0, atol=1e-15)
        assert_allclose(a[1], b[1], rtol=0, atol=1e-14)
        assert_array_equal(a[2], b[2])


def test_a_function_of_the_wrong_shape_is_refused(bicycle):
    env = riding(bicycle, reward=lambda lean: 3.0, num_envs=3)
    env.reset(seed=0)
    with pytest.raises(
        ValueError, match=r"reward: the function must return one row per environment, 3 of them, got the shape \(\)"
    ):
        env.step(np.zeros((3, 1)))


def test_laws_of_time_begin_anew_with_every_episode():
    model, law = dr.gallery.bicycle(), {"push": "20*sin(3*t)"}
    task = {**TASK, "reset": {"speed": 4.6}, "until": 0.5, "inputs": law}
    env = dr.environment(model, **task, num_envs=5)
    env.reset(seed=0)
    for _ in range(51 + 28):  # the first episode, its reset, and 28 steps
        seen, *_ = env.step(np.full((5, 1), 0.1))
    given = {**law, "steer_torque": 0.1}
    run = dr.simulate(model, 0.28, start={"speed": 4.6}, inputs=given, method=dr.methods.RK4(0.01), samples=[0.28])
    assert_allclose(seen, np.tile([run[name][-1] for name in SEEN], (5, 1)), rtol=0, atol=1e-13)


@pytest.mark.parametrize("functions", [False, True])
@pytest.mark.parametrize("friction", ["0.0", "-0.3*sign(x_rate)"])
@pytest.mark.parametrize("count", [None, 5])
def test_inputs_with_a_law_have_its_value_at_the_time_of_the_observation(functions, friction, count):
    """In texts and functions, alone and side by side, in compiled batches and, where the equations switch, by the driver."""
    model = dr.Model("cart")
    model.body("cart", 2.0, inertia=(1, 1, 1))
    model.prismatic("x", "ground", "cart", axis="x")
    for name in ("push", "wind", "drag"):
        model.generalized_force("x", model.input(name, "N"))
    model.generalized_force("x", friction)
    task = dict(observe=["x", "x_rate", "wind", "2*drag", "t"], reward="wind - drag", terminate={"gale": "wind > 3.06"})
    if functions:
        task["observe"] = lambda x, x_rate, wind, drag, t: np.stack([x, x_rate, wind, 2 * drag, t], axis=1)
        task["reward"], task["terminate"] = lambda wind, drag: wind - drag, lambda wind: wind > 3.06
    laws = {"wind": "3 + 0.5*t", "drag": "-0.7*x_rate^3 + x"}
    env = dr.environment(
        model, **task, act={"push": 2.0}, inputs=laws, reset={"x": 1.0, "x_rate": -2.0}, step=0.05, num_envs=count
    )
    assert env.unwrapped.episodes.task.problem.in_batches == (friction == "0.0")
    seen, _ = env.reset(seed=0)
    assert_allclose(np.atleast_2d(seen), np.tile([1.0, -2.0, 3.0, 2 * (5.6 + 1.0), 0.0], (count or 1, 1)), rtol=1e-14)
    for k in (1, 2, 3):
        seen, reward, terminated, *_ = env.step(np.full((count, 1), 0.5) if count else [0.5])
        for (x, v, wind, drag, t), r in zip(np.atleast_2d(seen), np.atleast_1d(reward), strict=True):
            assert t == pytest.approx(0.05 * k) and v != -2.0
            assert [wind, drag / 2] == pytest.approx([3 + 0.5 * t, -0.7 * v**3 + x], rel=1e-14)
            assert r == pytest.approx(wind - drag / 2, rel=1e-14)
        assert np.all(np.asarray(terminated) == (k == 3))  # 3.075


def test_laws_that_derived_equations_contain_are_observed():
    equations = dr.derive(dr.gallery.bicycle(), {"push": "20 + t"}, work=False)
    env = riding(equations, observe=["push"], reward="2*push")
    assert env.reset(seed=0)[0] == pytest.approx(20.0)
    seen, reward, *_ = env.step([0.0])
    assert [*seen, reward] == pytest.approx([20.01, 40.02])


def test_forces_are_observed(bicycle):
    """Rolling straight ahead, the wheels carry the weight of 94 kg, in the ratio of the center of mass to the wheelbase."""
    names = ["rear_wheel_normal_force", "front_wheel_normal_force"]
    env = riding(bicycle, observe=[*names, " + ".join(names)], reset={"speed": 4.6})
    seen, _ = env.reset()
    assert seen[2] == pytest.approx(94.0 * 9.81)
    assert_allclose(env.step([0.0])[0], seen, rtol=1e-9)


def test_parameters_are_drawn_for_every_episode(bicycle):
    env = riding(bicycle, parameters={"m_frame": dr.distributions.Normal(85.0, 5.0), "trail": (0.05, 0.1)}, num_envs=50)
    env.reset(seed=2)
    first = env.unwrapped.episodes.batch.parameters.copy()
    names = [q.name for q in bicycle.parameters]
    trail, mass = first[:, names.index("trail")], first[:, names.index("m_frame")]
    assert 0.05 <= trail.min() < 0.06 and 0.09 < trail.max() <= 0.1 and 2.0 < mass.std() < 8.0
    before = env.unwrapped.episodes.batch.states(np.array([7]))[0]
    env.step(np.zeros((50, 1)))
    run = integrate(bicycle, before, 0.01, parameters=first[7], method=dr.methods.RK4(0.01))
    assert_array_equal(env.unwrapped.episodes.batch.states(np.array([7]))[0], run.final_state)
    with pytest.raises(ValueError, match=r"values were drawn that no model can have: .*m_frame"):
        dr.environment(dr.gallery.bicycle(), **TASK, parameters={"m_frame": (-1.0, 1.0)}, num_envs=20)


# ---------------------------------------------------------------- Gymnasium


def test_the_checker_of_gymnasium_passes(bicycle):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends actions between −1 and 1, and bounded observations
        check_env(riding(bicycle))


@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_many_side_by_side_are_as_gymnasium_runs_single_ones(bicycle, mode):
    """`SyncVectorEnv` of single environments has the same observations, rewards, ends and infos."""
    start = {"speed": 2.0, "lean": 0.1}
    ours = riding(bicycle, reset=start, num_envs=3, autoreset=mode, until=1.5)
    modes = {"next_step": gymnasium.vector.AutoresetMode.NEXT_STEP, "same_step": gymnasium.vector.AutoresetMode.SAME_STEP}
    singles = [lambda: riding(bicycle, reset=start, until=1.5)] * 3
    theirs = gymnasium.vector.SyncVectorEnv(singles, autoreset_mode=modes[mode])
    assert ours.metadata["autoreset_mode"] == modes[mode]
    assert (ours.observation_space, ours.action_space) == (theirs.observation_space, theirs.action_space)
    assert_array_equal(ours.reset(seed=0)[0], theirs.reset(seed=0)[0])
    torque, ends = np.array([[0.0], [-2.0], [3.0]]), 0
    for _ in range(400):
        mine, others = ours.step(torque), theirs.step(torque)
        for a, b in zip(mine[:4], others[:4], strict=True):
            assert_array_equal(a, b)
        ended = mine[2] | mine[3]
        ends += ended.sum()
        place = (mine[4], others[4]) if mode == "next_step" else (mine[4].get("final_info", {}), others[4].get("final_info", {}))
        for k in np.flatnonzero(ended):
            assert place[0]["status"][k] == place[1]["status"][k]
            if mode == "same_step":
                assert_array_equal(mine[4]["final_obs"][k], others[4]["final_obs"][k])
    assert ends > 6


def test_disabled_autoreset_wants_a_mask(bicycle):
    env = riding(bicycle, num_envs=2, autoreset="disabled", until=0.02)
    env.reset(seed=0)
    env.step(np.zeros((2, 1)))
    _, _, _, truncated, _ = env.step(np.zeros((2, 1)))
    assert truncated.all()
    with pytest.raises(ValueError, match="autoreset is disabled"):
        env.step(np.zeros((2, 1)))
    env.reset(options={"reset_mask": np.array([True, True])})
    assert not env.step(np.zeros((2, 1)))[3].any()


def test_a_seed_determines_everything(bicycle):
    env = riding(bicycle, num_envs=4)
    runs = []
    for _ in range(2):
        first = env.reset(seed=11)[0]
        runs.append([first, *(env.step(np.ones((4, 1)))[0] for _ in range(250))])  # with resets on the way
    assert_array_equal(runs[0], runs[1])
    assert np.unique(runs[0][0][:, 0]).size == 4
    assert not np.array_equal(env.reset(seed=12)[0], runs[0][0])


def test_spaces_have_units_and_bounds(bicycle):
    env = riding(bicycle, act={"steer_torque": ("-0.002 kN*m", 3.0), "push": "0.1 kN"})
    assert_array_equal(env.action_space.low, [-2.0, -100.0])
    assert_array_equal(env.action_space.high, [3.0, 100.0])
    assert env.metadata["observations"] == ("lean [rad]", "steer [rad]", "roll_rate [rad/s]", "steer_rate [rad/s]")
    assert str(env).startswith("<bicycle: observes lean [rad], steer [rad]")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(observe=["leen"]), "unknown name 'leen'.*'lean'"),
        (dict(observe="lean"), "observe: give names or expressions"),
        (dict(act=["steer_torque"]), "act: give the bounds of each action"),
        (dict(act={"steer_torqe": 1.0}), "is called 'steer_torqe'; did you mean 'steer_torque'"),
        (dict(act={"steer_torque": "5 m"}), "bound of 'steer_torque'.*expected"),
        (dict(act={"steer_torque": (1.0, -1.0)}), "the lower one first"),
        (dict(act={"steer_torque": np.inf}), "must be finite"),
        (dict(reward=None), "reward: give a text"),
        (dict(reset={"speeed": 1.0}), "'speeed'; did you mean 'speed'"),
        (dict(reset={"front_wheel_normal_force": 1.0}), "depends on accelerations or forces"),
        (dict(reset=3.0), "reset: give start targets by name"),
        (dict(parameters={"trial": 0.1}), "'trial'; did you mean 'trail'"),
        (dict(step=0.0), "step is the time between two actions"),
        (dict(substeps=0), "substeps is the number"),
        (dict(until=0.001), "until is the duration of an episode"),
        (dict(until=np.inf), "until is the duration of an episode"),
        (dict(until=1.0, step=0.3), r"until=1.0 is no multiple of the step of 0.3 s; .* at 0.9 or 1.2 s"),
        (dict(num_envs=0), "num_envs is a whole number"),
        (dict(autoreset="never"), "autoreset is one of next_step"),
        (dict(inputs={"steer_torque": 1.0}), "'steer_torque' is an action and also among the inputs"),
    ],
)
def test_what_is_wrong_is_named(bicycle, changes, message):
    with pytest.raises((ValueError, KeyError), match=message):
        riding(bicycle, **changes)


def test_actions_of_the_wrong_shape_and_starts_that_do_not_exist(bicycle):
    env = riding(bicycle)
    with pytest.raises(ValueError, match="there is no episode"):
        env.step([0.0])
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"the actions are steer_torque: an array of the shape \(1,\) is needed"):
        env.step([0.0, 1.0])
    with pytest.raises(ValueError, match="1 of 1 numbers of the actions are NaN; none was applied"):
        env.step([np.nan])
    with pytest.raises(ValueError, match="option 'strat' is unknown"):
        env.reset(options={"strat": {}})
    with pytest.raises(ValueError, match="a start that was drawn does not exist"):
        riding(bicycle, reset={"frame_z": 5.0}, num_envs=3)


def test_contacts_that_open_are_refused_with_the_cure():
    with pytest.raises(ValueError, match=r"environment: model .*model\.in_modes"):
        dr.environment(dr.gallery.bouncing_ball(), observe=["z"], act={}, reward="0")


def test_forces_that_are_iterated_for_are_refused_with_the_cure():
    """A bound of friction on a rigid tire; other quantities of such a model are observed, and so is the load of a soft tire."""

    def sled(event=None, **tire):
        model = dr.Model("sled")
        frame = dr.parts.frame(model, "frame", mass=50.0, center_of_mass=(0.6, 0.3), inertia=(1, 2, 2), motion="in_plane",
                               points={"rear": (0.0, 0.3), "front": (1.0, 0.3)})  # fmt: skip
        for name in ("rear", "front"):
            law = dr.contact.LinearTire(5e3, longitudinal=8e3, **tire)
            dr.parts.wheel(model, name, frame[name], radius=0.3, mass=2.0, inertia=(0.1, 0.2), tire=law)
        dr.parts.brake(model, "brake", "front")
        if event:
            model.event("lifted", event)
        return dr.derive(model, work=False)

    def seen(equations, *names):
        task = dict(observe=names, act={"brake_torque": 5.0}, reward="speed", reset={"speed": 5.0}, step=0.001)
        return dr.environment(equations, **task).reset()[0]

    rigid = sled(friction=0.8)
    with pytest.raises(ValueError, match=r"observe: 'front_normal_force' is found by iteration.*stiffness= of the tire"):
        seen(rigid, "speed", "front_normal_force")
    with pytest.raises(ValueError, match="unknown name 'front_normal_forc'; did you mean 'front_normal_force'"):
        seen(rigid, "front_normal_forc")
    with pytest.raises(ValueError, match=r"event 'lifted' is found by iteration.*stiffness= of the tire"):
        seen(sled("front_normal_force", friction=0.8), "speed")
    assert seen(rigid, "speed") == pytest.approx(5.0)
    share = (50.0 * 0.6 + 2.0) * 9.81
    assert seen(sled(), "front_normal_force") == pytest.approx(share)
    assert np.isfinite(seen(sled(friction=0.8, stiffness=2e5), "front_normal_force")).all()


def test_without_gymnasium_the_message_says_what_to_do(monkeypatch, bicycle):
    from draisine.learning import environment

    environment.gymnasium_classes.cache_clear()
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ImportError, match=r"environment needs draisine\[learning\].*pip install draisine\[learning\]"):
        riding(bicycle)
