"""Posteriors of posteriordb: densities against their definitions, and against the reference draws where they are."""

import json
import os
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from benchmarks.posteriordb.load import MODELS, available, load
from benchmarks.posteriordb.transforms import bounded, ordered, positive, positive_ordered, real, simplex
from mongepatch.errors import DataError, SettingError

FOLDER = "MONGEPATCH_POSTERIORDB"
WITHOUT = pytest.mark.skip(f"the environment variable {FOLDER} names no folder of posteriors with reference draws")
TRANSFORMS = {
    "real": real(3),
    "positive": positive(3),
    "bounded": bounded(-1.0, 2.5, 3),
    "dependent": bounded(0.0, lambda before: 1.0 - before["other"], 3),
    "ordered": ordered(4),
    "positive_ordered": positive_ordered(4),
    "simplex": simplex(4),
    "pair": simplex(2),
}


def synthetic(name):
    """Small data of the right form."""
    rng = np.random.default_rng(1)
    n = 12
    y, X = rng.normal(size=n), np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    if name == "nes2000-nes":
        columns = ("real_ideo", "race_adj", "educ1", "gender", "income", "partyid7")
        data = {column: rng.integers(1, 8, n) for column in columns} | {"age_discrete": rng.integers(1, 5, n)}
    else:
        data = {
            "arK-arK": {"K": 2, "T": n, "y": y},
            "diamonds-diamonds": {"N": n, "K": 3, "Y": 8.0 + y, "X": X, "prior_only": 0},
            "earnings-logearn_interaction": {"earn": np.exp(y), "height": 60 + X[:, 1], "male": np.arange(n) % 2},
            "eight_schools-eight_schools_noncentered": {"J": 3, "y": [28, 8, -3], "sigma": [15, 10, 16]},
            "garch-garch11": {"T": n, "y": y, "sigma1": 0.5},
            "gp_pois_regr-gp_pois_regr": {"N": 4, "x": [-10, -5, 0, 5], "k": [40, 3, 2, 10]},
            "hmm_example-hmm_example": {"N": n, "K": 2, "y": rng.choice([3.0, 9.0], n) + y},
            "hudson_lynx_hare-lotka_volterra": {
                "ts": [1, 2, 2.5],
                "y_init": [30, 4],
                "y": [[47, 6], [70, 10], [40, 30]],
            },
            "kidiq-kidscore_interaction": {"kid_score": 80 + y, "mom_hs": np.arange(n) % 2, "mom_iq": 100 + X[:, 1]},
            "low_dim_gauss_mix-low_dim_gauss_mix": {"N": n, "y": y},
            "sblrc-blr": {"N": n, "D": 3, "X": X, "y": y},
        }[name]
    return {key: np.asarray(value).tolist() for key, value in data.items()}


# Where hares and lynxes take years to change, as in the data: elsewhere a fixed step is too long.
CENTRES = {
    "hudson_lynx_hare-lotka_volterra": {"theta": np.log([0.5, 0.03, 0.8, 0.03]), "z_init": np.log([30.0, 4.0])},
}


def write(folder, name, draws=None):
    """A folder of one posterior, with made-up draws of the right names; the unconstrained ones are returned."""
    data, rng = synthetic(name), np.random.default_rng(2)
    model = MODELS[name](data)
    free = {key: 0.3 * rng.normal(size=(2, 5, *array.shape)) for key, array in model.example.items()}
    reported = jax.jit(jax.vmap(jax.vmap(model.reported)))(free)
    columns = {}
    for key, values in reported.items():
        entries = values[..., None] if values.ndim == 2 else values
        for i in range(entries.shape[2]):
            columns[key if values.ndim == 2 else f"{key}[{i + 1}]"] = entries[..., i]
    (folder / name).mkdir()
    (folder / name / "data.json").write_text(json.dumps(data))
    stacked = np.stack(list(columns.values()), axis=-1) if draws is None else draws
    np.savez(folder / name / "reference_draws.npz", names=np.array(list(columns)), draws=stacked)
    return free


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_posterior_is_loaded_and_maps_draws_both_ways(tmp_path, name):
    free = write(tmp_path, name)
    assert available(tmp_path) == [name]
    posterior = load(tmp_path, name)
    assert posterior.name == name
    assert all(draws.shape == (2, 5) for draws in posterior.reference.values())
    constrained = posterior.constrain(free)
    assert set(constrained) == set(posterior.reference)
    for entry, draws in posterior.reference.items():
        assert isinstance(constrained[entry], np.ndarray)
        np.testing.assert_allclose(constrained[entry], draws, rtol=1e-12)
    back = posterior.unconstrain(posterior.reference)
    assert set(back) == set(posterior.target.layout.names)
    for key, draws in back.items():
        assert draws.shape == free[key].shape
        np.testing.assert_allclose(draws, free[key], rtol=1e-6, atol=1e-6)
    value_and_grad = jax.jit(jax.value_and_grad(posterior.target))
    for at in (
        jnp.zeros(posterior.target.dimension),
        posterior.target.layout.flat({k: v[0, 0] for k, v in free.items()}),
    ):
        value, gradient = value_and_grad(at)
        assert value.shape == ()
        assert jnp.isfinite(value)
        assert jnp.isfinite(gradient).all()
        assert (gradient != 0).all()


def by_definition(name, data, v):
    """The log density of the constrained parameters, from scipy's densities and plain loops."""
    normal = stats.norm.logpdf
    d = {key: np.asarray(value, float) for key, value in data.items()}

    def regression(y, columns):
        return normal(
            y, v["beta"][0] + sum(b * column for b, column in zip(v["beta"][1:], columns, strict=True)), v["sigma"]
        )

    if name == "arK-arK":
        y, terms = (
            d["y"],
            [normal(v["alpha"], 0, 10), normal(v["beta"], 0, 10), stats.cauchy.logpdf(v["sigma"], 0, 2.5)],
        )
        for t in range(2, len(y)):
            terms.append(normal(y[t], v["alpha"] + v["beta"][0] * y[t - 1] + v["beta"][1] * y[t - 2], v["sigma"]))
    elif name == "diamonds-diamonds":
        X = d["X"][:, 1:]
        terms = [normal(v["b"], 0, 1), stats.t.logpdf(v["Intercept"], 3, 8, 10), stats.t.logpdf(v["sigma"], 3, 0, 10)]
        terms.append(normal(d["Y"], v["Intercept"] + (X - X.mean(0)) @ v["b"], v["sigma"]))
    elif name == "earnings-logearn_interaction":
        terms = [regression(np.log(d["earn"]), [d["height"], d["male"], d["height"] * d["male"]])]
    elif name == "eight_schools-eight_schools_noncentered":
        terms = [normal(v["theta_trans"]), normal(v["mu"], 0, 5), stats.cauchy.logpdf(v["tau"], 0, 5)]
        terms.append(normal(d["y"], v["theta_trans"] * v["tau"] + v["mu"], d["sigma"]))
    elif name == "garch-garch11":
        sd, terms = d["sigma1"], []
        for y in d["y"]:
            terms.append(normal(y, v["mu"], sd))
            sd = np.sqrt(v["alpha0"] + v["alpha1"] * (y - v["mu"]) ** 2 + v["beta1"] * sd**2)
    elif name == "gp_pois_regr-gp_pois_regr":
        covariance = v["alpha"] ** 2 * np.exp(-((d["x"][:, None] - d["x"]) ** 2) / (2 * v["rho"] ** 2))
        f = np.linalg.cholesky(covariance + 1e-10 * np.eye(4)) @ v["f_tilde"]
        terms = [stats.gamma.logpdf(v["rho"], 25, scale=1 / 4), normal(v["alpha"], 0, 2), normal(v["f_tilde"])]
        terms.append(stats.poisson.logpmf(d["k"], np.exp(f)))
    elif name == "hmm_example-hmm_example":
        transition, weights, terms = np.stack([v["theta1"], v["theta2"]]), np.ones(2), [normal(v["mu"], [3, 10], 1)]
        for t, y in enumerate(d["y"]):
            weights = (weights @ transition if t else weights) * stats.norm.pdf(y, v["mu"], 1)
        terms.append(np.log(weights.sum()))
    elif name == "hudson_lynx_hare-lotka_volterra":
        a, b, c, e = v["theta"]
        path = integrate.solve_ivp(
            lambda _, z: [(a - b * z[1]) * z[0], (-c + e * z[0]) * z[1]],
            (0, 3),
            v["z_init"],
            t_eval=d["ts"],
            rtol=1e-10,
            atol=1e-10,
        ).y.T
        terms = [normal(v["theta"], [1, 0.05, 1, 0.05], [0.5, 0.05, 0.5, 0.05])]
        terms += [stats.lognorm.logpdf(v["sigma"], 1, scale=np.exp(-1)), stats.lognorm.logpdf(v["z_init"], 1, scale=10)]
        terms += [stats.lognorm.logpdf(d["y_init"], v["sigma"], scale=v["z_init"])]
        terms += [stats.lognorm.logpdf(d["y"], v["sigma"], scale=path)]
    elif name == "kidiq-kidscore_interaction":
        terms = [regression(d["kid_score"], [d["mom_hs"], d["mom_iq"], d["mom_hs"] * d["mom_iq"]])]
        terms.append(stats.cauchy.logpdf(v["sigma"], 0, 2.5))
    elif name == "low_dim_gauss_mix-low_dim_gauss_mix":
        each = [stats.norm.pdf(d["y"], mu, sigma) for mu, sigma in zip(v["mu"], v["sigma"], strict=True)]
        terms = [np.log(v["theta"] * each[0] + (1 - v["theta"]) * each[1]), stats.beta.logpdf(v["theta"], 5, 5)]
        terms += [normal(v["mu"], 0, 2), normal(v["sigma"], 0, 2)]
    elif name == "nes2000-nes":
        ages = [d["age_discrete"] == group for group in (2, 3, 4)]
        others = [d[column] for column in ("educ1", "gender", "income")]
        terms = [regression(d["partyid7"], [d["real_ideo"], d["race_adj"], *ages, *others])]
    else:
        assert name == "sblrc-blr"
        terms = [normal(d["y"], d["X"] @ v["beta"], v["sigma"]), normal(v["beta"], 0, 10), normal(v["sigma"], 0, 10)]
    return sum(np.sum(term) for term in terms)


@pytest.mark.parametrize("name", MODELS)
def test_densities_are_those_of_the_definition(name):
    # Reference draws cannot tell a weak prior from none; this can. Densities are known up to a constant.
    data, rng = synthetic(name), np.random.default_rng(3)
    model, centres, offsets = MODELS[name](data), CENTRES.get(name, {}), []

    @jax.jit
    def looked_at(position):
        values = model.constrained(position)[0]
        return values, model.logdensity(values)

    for _ in range(4):
        position = {
            key: jnp.asarray(centres.get(key, 0.0) + 0.2 * rng.normal(size=array.shape))
            for key, array in model.example.items()
        }
        values, found = looked_at(position)
        expected = by_definition(name, data, {key: np.asarray(value) for key, value in values.items()})
        offsets.append(float(found) - expected)
    assert np.ptp(offsets) < 1e-6, offsets


@pytest.mark.parametrize("name", TRANSFORMS)
def test_log_jacobians_are_those_of_automatic_differentiation(name):
    transform, before = TRANSFORMS[name], {"other": jnp.asarray(0.3)}

    @jax.jit
    def looked_at(free):
        value = transform.constrain(free, before)
        jacobian = jax.jacfwd(lambda x: transform.constrain(x, before)[: x.size])(free)
        return jacobian, transform.log_jacobian(free, before), transform.free(value, before)

    free = np.random.default_rng(0).normal(size=transform.shape)
    jacobian, log_jacobian, again = looked_at(free)
    np.testing.assert_allclose(log_jacobian, np.linalg.slogdet(jacobian)[1], atol=1e-12)
    np.testing.assert_allclose(again, free, rtol=1e-10)


def test_transforms_obey_their_constraints():
    free = 3.0 * jax.random.normal(jax.random.key(1), (4,))
    before = {"other": jnp.asarray(0.3)}
    assert (TRANSFORMS["positive"].constrain(free, before) > 0).all()
    for name, low, high in (("bounded", -1.0, 2.5), ("dependent", 0.0, 0.7)):
        value = TRANSFORMS[name].constrain(free, before)
        assert (value > low).all()
        assert (value < high).all()
    assert (jnp.diff(TRANSFORMS["ordered"].constrain(free, before)) > 0).all()
    assert (jnp.diff(TRANSFORMS["positive_ordered"].constrain(free, before), prepend=0.0) > 0).all()
    fractions = TRANSFORMS["simplex"].constrain(free[:3], before)
    assert (fractions > 0).all()
    np.testing.assert_allclose(fractions.sum(), 1.0)
    np.testing.assert_allclose(TRANSFORMS["simplex"].constrain(jnp.zeros(3), before), 0.25)


def test_a_folder_that_is_absent_or_incomplete_has_nothing(tmp_path):
    assert available(tmp_path / "nowhere") == []
    write(tmp_path, "sblrc-blr")
    (tmp_path / "sblrc-blr" / "reference_draws.npz").unlink()
    assert available(tmp_path) == []
    with pytest.raises(DataError, match=r"must hold data\.json and reference_draws\.npz"):
        load(tmp_path, "sblrc-blr")


def test_an_unknown_name_is_told_the_known_ones(tmp_path):
    with pytest.raises(DataError, match=r"no density of a posterior 'nonesuch'.*arK-arK"):
        load(tmp_path, "nonesuch")


def test_files_that_are_not_what_they_should_be_are_refused(tmp_path):
    write(tmp_path, "sblrc-blr", draws=np.zeros((2, 5, 3)))
    with pytest.raises(DataError, match=r"must hold draws.*beta\[3\], sigma; it holds \[2, 5, 3\]"):
        load(tmp_path, "sblrc-blr")
    (tmp_path / "sblrc-blr" / "reference_draws.npz").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(DataError, match="is not what posteriordb publishes"):
        load(tmp_path, "sblrc-blr")
    (tmp_path / "sblrc-blr" / "data.json").write_text('{"y": [1.0]}')
    with pytest.raises(DataError, match=r"is not what posteriordb publishes \(KeyError: 'X'"):
        load(tmp_path, "sblrc-blr")


def test_the_gaussian_process_asks_for_double_precision(tmp_path):
    write(tmp_path, "gp_pois_regr-gp_pois_regr")
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(SettingError, match="jax_enable_x64"):
            load(tmp_path, "gp_pois_regr-gp_pois_regr")
    finally:
        jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("name", MODELS if os.environ.get(FOLDER) else [pytest.param("none", marks=WITHOUT)])
def test_reference_draws_obey_steins_identity(name):
    """E[g] = 0 and E[(x - x̄) g] = -1 in every coordinate and along every principal axis, where g = ∇ℓ."""
    posterior = load(Path(os.environ[FOLDER]), name)
    layout = posterior.target.layout
    free = jax.vmap(jax.vmap(layout.flat))(posterior.unconstrain(posterior.reference)).reshape(-1, layout.size)
    gradient = jax.jit(lambda at: jax.lax.map(jax.grad(posterior.target), at, batch_size=500))(free)
    x, g = np.asarray(free), np.asarray(gradient)
    sd = x.std(axis=0)
    # Strong correlations hide errors in the wide gradients of coordinates; along principal axes they show.
    variances, axes = np.linalg.eigh(np.corrcoef(x.T))
    basis = sd[:, None] * axes * np.sqrt(variances)
    centred = x - x.mean(axis=0)
    for position, slope in ((centred, g), (np.linalg.solve(basis, centred.T).T, g @ basis)):
        for terms in (slope, position * slope + 1.0):
            errors = terms.mean(axis=0) / (terms.std(axis=0) / np.sqrt(len(terms)))
            assert np.abs(errors).max() < 4.5, errors
