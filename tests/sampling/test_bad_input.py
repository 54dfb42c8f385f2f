"""Refusals at the door: a typed error that says what to change."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mongepatch as mp


def sample(logdensity=lambda x: -0.5 * (x**2).sum(), init=None, **overrides):
    init = jnp.ones(2) if init is None else init
    options = {"metric": mp.Monge(0.5), "trajectory": mp.Static(3), "step_size": 0.1, "draws": 5, "progress": False}
    return mp.sample(logdensity, init, **{**options, **overrides})


def by_loop(x):
    return jax.lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] - 0.5 * x @ x, c[1] + 1), (0.0, 0))[0]


def by_callback(x):
    return jax.pure_callback(lambda x: -0.5 * np.sum(x**2), jax.ShapeDtypeStruct((), x.dtype), x)


@pytest.mark.parametrize(
    ("logdensity", "message"),
    [
        (lambda x: -0.5 * x**2, r"shape \(2,\).*\.sum\(\)"),
        (lambda x: (-0.5 * x @ x)[None], r"shape \(1,\)"),
        (lambda x: jnp.int32(1), "real number.*int32"),
        (lambda x: (x @ x) * 1j, "real number.*complex"),
        (lambda x: {"lp": x @ x}, "returns a dict"),
        (lambda x: None, "returns a NoneType"),
        (lambda x: -0.5 * float(np.sum(np.asarray(x)) ** 2), r"jax\.numpy"),
        (lambda x: -x[0] if x[0] > 0 else x[0], r"jnp\.where"),
        (lambda x: x["mu"], "failed at the starting point's shapes: TypeError"),
        (by_loop, r"not differentiable.*jax\.lax\.scan"),
        (by_callback, r"not differentiable.*custom_jvp"),
        (lambda x: -jnp.round(3 * (x**2).sum()), "not differentiable.*rounding"),
        (lambda x: jnp.where((jnp.abs(x) < 1.5).all(), 0.0, -jnp.inf), "where its support ends.*uniform"),
        (lambda x: x @ x * jnp.nan, "is nan at every starting point"),
        (lambda x: jnp.where(x[0] > 1e3, 0.0, -jnp.inf), "is -inf at every starting point.*support"),
        (lambda x: x @ x + jnp.inf, "is inf at every starting point"),
        (lambda x: -jnp.sqrt(0.0 * (x @ x)), "finite but its gradient is not"),
        (lambda x: -(jnp.abs(x - 1).sum() ** 1.5), "curvature is not"),
        ("a string", "log density or a Target"),
    ],
)
def test_log_densities_that_cannot_be_sampled(logdensity, message):
    with pytest.raises(mp.LogDensityError, match=message):
        sample(logdensity, init_spread=0.0 if "curvature" in message else 1.0)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (0, r"'x' has type int.*0\.0, not 0"),
        ({"k": jnp.arange(3)}, "'k' has type int"),
        ({"flag": True}, "'flag' has type bool"),
        (jnp.ones(2) * 1j, "'x' has type complex"),
        ({"x": "text"}, "'x' is not an array"),
        ({}, "no parameters"),
        (jnp.zeros(0), "no parameters"),
        ({"draw": 1.0}, "not 'chain' or 'draw'"),
        ({"a/b": 1.0}, "without '/'"),
    ],
)
def test_parameters_that_are_not_real(init, message):
    with pytest.raises(mp.ParameterError, match=message):
        sample(lambda tree: sum((leaf**2).sum() for leaf in jax.tree.leaves(tree)), init)


def test_a_list_that_was_meant_as_an_array():
    with pytest.raises(mp.LogDensityError, match=r"has a list.*jnp\.array"):
        sample(lambda p: -p["b"] @ p["b"], {"b": [0.0, 0.0]})


def test_a_missing_starting_point():
    with pytest.raises(mp.ParameterError, match="Give init"):
        mp.sample(lambda x: -x @ x, metric=mp.Euclidean(), trajectory=mp.Static(3), step_size=0.1)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (jnp.ones(5), r"shapes \{'x': \(2,\), 'a': \(\)\}, or be a flat vector of length 3"),
        ({"x": jnp.ones(3), "a": 0.0}, "shapes"),
        ({"x": jnp.ones(2)}, r"must name \['x', 'a'\]"),
        (jnp.arange(3), "type int"),
    ],
)
def test_starting_points_that_do_not_fit_a_target(init, message):
    with pytest.raises(mp.ParameterError, match=message):
        sample(mp.targets.funnel(2), init)


def test_starting_points_of_some_chains_only():
    init = jnp.array([[1.0, 1.0], [1.0, -1.0]])
    with pytest.raises(mp.LogDensityError, match="is nan at 1 of 2 starting points"):
        sample(lambda x: jnp.log(x).sum() - x.sum(), init, init_per_chain=True, chains=2)
    for wrong in (init, 1.0, None):
        with pytest.raises(mp.ParameterError, match=r"leading axis of length chains = 4|needs init"):
            mp.sample(
                lambda x: -x @ x, wrong, metric=mp.Euclidean(), trajectory=mp.Static(2), step_size=0.1,
                init_per_chain=True,
            )  # fmt: skip


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"step_size": 0.0}, "step_size must be above 0; it is 0"),
        ({"step_size": -0.1}, "above 0"),
        ({"step_size": float("nan")}, "finite"),
        ({"step_size": [0.1, 0.2]}, "one number"),
        ({"step_size": "auto"}, "step_size must be a number"),
        ({"step_size": "0.1"}, "step_size must be a number"),
        ({"chains": 0}, "chains must be at least 1; it is 0"),
        ({"chains": 2.5}, "chains must be an integer"),
        ({"draws": 0}, "draws must be at least 1"),
        ({"warmup": -1}, "warmup must be at least 0"),
        ({"init_spread": -1.0}, "init_spread must be at least 0"),
        ({"init_spread": "wide"}, "init_spread must be a number"),
        ({"seed": 2**70}, "seed"),
        ({"seed": jax.random.split(jax.random.key(0))}, "one jax"),
        ({"scheme": "leapfrog"}, "scheme must be one of"),
        ({"trajectory": 10}, r"such as mp\.Static\(20\) or mp\.NUTS\(\); it is 10"),
        ({"seed": 0.5}, r"seed must be an integer of at most 64 bits or one jax\.random\.key"),
    ],
)
def test_settings_out_of_range(overrides, message):
    with pytest.raises(mp.SettingError, match=message):
        sample(**overrides)


@pytest.mark.parametrize("arguments", [(0,), (-3,), (2.5,), (5, 1.5), (5, -0.1), (5, "some"), (5, [0.1, 0.2])])
def test_trajectories_out_of_range(arguments):
    with pytest.raises(mp.SettingError, match=r"num_steps|jitter"):
        mp.Static(*arguments)


@pytest.mark.parametrize("alpha", [-0.1, float("nan"), float("inf"), [0.1, 0.2], "large", None])
def test_alpha_out_of_range(alpha):
    with pytest.raises(mp.MetricError, match="alpha must be"):
        mp.Monge(alpha)


def test_arrays_that_are_known_are_checked_under_a_trace():
    good, bad = jnp.asarray([0.5, -0.5])
    assert jax.jit(lambda x: mp.Monge(good).alpha * x)(2.0) == 1.0
    with pytest.raises(mp.MetricError, match="alpha"):
        jax.jit(lambda x: mp.Monge(bad).alpha * x)(2.0)


@pytest.mark.parametrize("kind", [mp.Euclidean, lambda inverse_mass: mp.Monge(1.0, inverse_mass)])
@pytest.mark.parametrize(
    ("inverse_mass", "message"),
    [
        ([1.0, -1.0], "above 0"),
        ([1.0, 0.0], "above 0"),
        ([1.0, float("nan")], "not finite"),
        (2.0, "its shape is \\(\\)"),
        (np.ones((2, 3)), "D × D"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive definite; its least eigenvalue is -1"),
        ([[1.0, 0.5], [0.2, 1.0]], "symmetric"),
        ("full", "one of .*'dense'.* it is 'full'"),
        (object(), "not an object of type object"),
    ],
)
def test_inverse_masses_that_are_no_covariance(kind, inverse_mass, message):
    with pytest.raises(mp.MetricError, match=message):
        kind(inverse_mass)


@pytest.mark.parametrize("metric", [1.0, None, mp.Monge, mp.Euclidean])
def test_what_is_no_metric(metric):
    with pytest.raises(mp.MetricError, match=r"such as mp\.Euclidean\(\)"):
        sample(metric=metric)


@pytest.mark.parametrize("inverse_mass", [np.ones(3), np.eye(3)])
def test_inverse_masses_of_another_dimension(inverse_mass):
    metric = mp.Monge(1.0, inverse_mass)
    with pytest.raises(mp.MetricError, match=r"the target has 2 parameters"):
        sample(metric=metric)
    with pytest.raises(mp.MetricError, match=r"the target has 2 parameters"):
        mp.lmc(lambda x: -x @ x, metric, 0.1, mp.Static(3)).init(jnp.ones(2))
    with pytest.raises(mp.MetricError, match=r"the target has 2 parameters"):
        mp.integrate(lambda x: -x @ x, metric, jnp.ones(2), jnp.ones(2), 0.1, 3)


def test_metrics_that_are_half_made():
    class Flat:
        def check(self, dimension):
            pass

    with pytest.raises(mp.MetricError, match="which lacks alpha, at, bend, cost, force, kick, log_det"):
        sample(metric=Flat())

    class Unregistered(mp.Euclidean):
        pass

    with pytest.raises(mp.MetricError, match=r"Unregistered must be a pytree"):
        sample(metric=Unregistered())


def answering(**answers):
    """Euclid's metric, but for some answers."""
    kind = type("Own", (mp.Euclidean,), {**answers, "__module__": __name__})
    own = object.__new__(jax.tree_util.register_dataclass(kind))
    for name, value in vars(mp.Euclidean(jnp.ones(2))).items():
        object.__setattr__(own, name, value)
    return own


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"kick": lambda self, point, slope, v, bend, e: (v, bend)}, r"Own\.kick .*log-volume; it gives a tuple of 2"),
        ({"kick": lambda self, point, slope, v, bend, e: (v, v, e)}, r"\[1\] must give a bend.*same shapes as bend\("),
        ({"kick": lambda self, point, slope, v, bend, e: (v, bend, v)}, r"\[2\] must give one number.*shape \(2,\)"),
        ({"at": lambda self, density, x: (x, density(x))}, r"at must give a point.*of shape \(2,\), has no 'position'"),
        ({"at": lambda self, density, x: (x, x, x)}, "a point and its slope; it gives a tuple of 3"),
        ({"log_det": lambda self, point: jnp.zeros(2)}, r"log_det must give one number"),
        ({"momentum": lambda self, point, v: v @ v}, r"shape \(2,\); it gives an array of shape \(\)"),
        ({"velocity": lambda self, point, p: np.linalg.inv(p)}, r"Own\.velocity cannot be traced.*jax\.numpy"),
        ({"bend": lambda self, point, slope, v: "no bend"}, "a pytree of arrays; it gives an object of type str"),
        ({"cost": lambda self, dimension: 1}, r"mongepatch\.metrics\.Cost"),
    ],
)
def test_metrics_of_ones_own_that_answer_in_another_shape(answers, message):
    with pytest.raises(mp.MetricError, match=message):
        mp.lmc(lambda x: -x @ x, answering(**answers), 0.1, mp.Static(3)).init(jnp.ones(2))


def test_every_door_asks_a_metric_of_ones_own():
    broken = answering(kick=lambda self, point, slope, v, bend, e: v)
    with pytest.raises(mp.MetricError, match=r"Own\.kick must give a velocity"):
        sample(metric=broken)
    with pytest.raises(mp.MetricError, match=r"Own\.kick must give a velocity"):
        mp.integrate(lambda x: -x @ x, broken, jnp.ones(2), jnp.ones(2), 0.1, 3)


def test_metrics_that_lack_what_one_kernel_needs_alone():
    def no_force(self, point, slope, velocity):
        raise NotImplementedError

    mp.lmc(lambda x: -x @ x, answering(force=no_force), 0.1, mp.Static(3)).init(jnp.ones(2))


def test_functions_and_matrices_that_are_meant_as_metrics():
    def fisher(x):
        return np.linalg.inv(jnp.eye(2))

    with pytest.raises(mp.MetricError, match=r"it is a function.*metric=mp\.Dense\(fisher\)"):
        sample(metric=fisher)
    with pytest.raises(mp.MetricError, match=r"it is an array.*mp\.Euclidean\(inverse_mass\)"):
        sample(metric=np.eye(2))
    with pytest.raises(mp.MetricError, match=r"metric_fn cannot be traced by JAX.*jax\.numpy"):
        sample(metric=mp.Dense(lambda x: np.linalg.inv(x @ x * jnp.eye(2))))


def test_a_fault_of_the_metric_is_not_blamed_on_the_density(monkeypatch):
    def broken(self, logdensity, position):
        raise KeyError("my own mistake")

    monkeypatch.setattr(mp.Euclidean, "at", broken)
    with pytest.raises(KeyError, match="my own mistake"):
        sample(metric=mp.Euclidean())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dims": {"tehta": ["school"]}}, "dims names the parameter 'tehta'"),
        ({"dims": {"theta": "school"}}, "must be a list of 1 names"),
        ({"dims": {"theta": ["school", "year"]}}, "must be a list of 1 names"),
        ({"dims": {"theta": ["draw"]}}, "not 'chain' or 'draw'"),
        ({"dims": ["school"]}, "dims must be a dict"),
        ({"coords": ["a"]}, "coords must be a dict"),
        ({"coords": {"school": ["a", "b", "c"]}}, "'school', which no parameter has: name it in dims"),
        ({"dims": {"theta": ["school"]}, "coords": {"school": 3}}, "must be a list of labels"),
        ({"dims": {"theta": ["school"]}, "coords": {"school": ["a", "b"]}}, "has 2 labels, but 'theta' has 3 entries"),
    ],
)
def test_dims_and_coords_that_make_no_tree(options, message):
    with pytest.raises(mp.ParameterError, match=message):
        sample(lambda p: -(p["theta"] ** 2).sum(), {"theta": jnp.zeros(3)}, **options)


@pytest.mark.parametrize("chains", [1, 4])
def test_rounding_is_noticed_whatever_the_starting_points(chains):
    with pytest.raises(mp.LogDensityError, match="not differentiable"):
        sample(lambda x: -jnp.round(3 * (x**2).sum()), chains=chains, init_spread=0.0)


def test_a_start_at_the_very_mode_is_fine():
    sample(init=jnp.zeros(2), init_spread=0.0, chains=1)


def test_the_kernel_and_paths_refuse_bad_densities_too():
    with pytest.raises(mp.LogDensityError, match=r"shape \(2,\)"):
        mp.lmc(lambda x: -(x**2), mp.Euclidean(), 0.1, mp.Static(3)).init(jnp.ones(2))
    with pytest.raises(mp.LogDensityError, match=r"shape \(2,\)"):
        mp.integrate(lambda x: -(x**2), mp.Euclidean(), jnp.ones(2), jnp.ones(2), 0.1, 3)
    with pytest.raises(mp.ParameterError, match="'a' has type int"):
        mp.lmc(lambda p: -(p["a"] ** 2) - p["b"] ** 2, mp.Euclidean(), 0.1, mp.Static(3)).init({"a": 0, "b": 0.5})
    with pytest.raises(mp.LogDensityError, match="is nan at the starting point"):
        mp.lmc(lambda x: jnp.log(x).sum(), mp.Euclidean(), 0.1, mp.Static(3)).init(-jnp.ones(2))
    with pytest.raises(mp.MetricError, match="Monge is a class"):
        mp.lmc(lambda x: -x @ x, mp.Monge, 0.1, mp.Static(3))
    with pytest.raises(mp.ParameterError, match="must be flat vectors"):
        mp.integrate(lambda p: -(p["a"] ** 2), mp.Euclidean(), {"a": 1.0}, {"a": 1.0}, 0.1, 3)
    with pytest.raises(mp.SettingError, match="step_size must be one number"):
        mp.integrate(lambda x: -x @ x, mp.Euclidean(), jnp.ones(2), jnp.ones(2), [0.1, 0.2], 3)


def test_paths_from_points_that_are_not_flat():
    with pytest.raises(mp.ParameterError, match="flat vectors of one length"):
        mp.integrate(lambda x: -x @ x, mp.Euclidean(), jnp.ones(2), jnp.ones(3), 0.1, 3)


@pytest.mark.parametrize("error", [mp.LogDensityError, mp.ParameterError, mp.MetricError, mp.SettingError])
def test_errors_have_a_common_base(error):
    assert issubclass(error, mp.MongepatchError)


def test_residuals_beside_a_metric_that_makes_no_use_of_them():
    with pytest.raises(mp.SettingError, match='residuals are for metric="auto" or "patch"'):
        sample(residuals=lambda x: x)
