"""A logistic regression's log density as primitives: the same function as in JAX, under all that JAX does with it."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mongepatch as mp
from mongepatch.integrators import Phase
from mongepatch.integrators.lagrangian import Lagrangian
from mongepatch.kernels import LMC, Setup, draw
from mongepatch.metrics import Monge
from mongepatch.program import trace_density
from mongepatch.targets import logistic_primitives

COEFFICIENTS, OBSERVATIONS, PRECISION = 5, 37, 0.3
RNG = np.random.default_rng(8)
FEATURES = jnp.asarray(RNG.normal(size=(OBSERVATIONS, COEFFICIENTS)))
BETA, V, U = (jnp.asarray(RNG.normal(size=COEFFICIENTS)) for _ in range(3))


def density(beta, features=FEATURES):
    return logistic_primitives.log_density(beta, features, PRECISION)


def in_jax(beta, features=FEATURES):
    return -jnp.logaddexp(0.0, -features @ beta).sum() - 0.5 * PRECISION * beta @ beta


def along(function, vector):
    """The derivative of a function along a vector."""
    return lambda x: jax.jvp(function, (x,), (vector,))[1]


DERIVATIVES = {
    "value": lambda f: f,
    "value, compiled": jax.jit,
    "gradient": jax.grad,
    "along a vector": lambda f: along(f, V),
    "Hessian, forwards after reverse": jax.hessian,
    "Hessian, reverse twice": lambda f: jax.jacrev(jax.jacrev(f)),
    "Hessian, forwards twice": lambda f: jax.jacfwd(jax.jacfwd(f)),
    "products of two vectors": lambda f: (
        lambda x: jnp.stack(jax.vmap(jax.linearize(jax.grad(f), x)[1])(jnp.stack([V, U])))
    ),
    "a product of the Hessian, differentiated": lambda f: jax.grad(lambda x: jax.jvp(jax.grad(f), (x,), (V,))[1] @ U),
    "third derivatives": lambda f: jax.jacfwd(jax.hessian(f)),
    "fourth derivative along vectors": lambda f: along(along(along(along(f, V), U), V), U),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_those_of_the_density_in_jax(name):
    found, expected = (DERIVATIVES[name](function)(BETA) for function in (density, in_jax))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("derivative", [lambda f: f, jax.grad, jax.hessian], ids=["value", "gradient", "Hessian"])
def test_batches_along_any_axes(derivative):
    many = jnp.asarray(RNG.normal(size=(2, COEFFICIENTS, 3)))
    over = lambda f: jax.vmap(jax.vmap(derivative(f), 1))(many)  # noqa: E731
    np.testing.assert_allclose(over(density), over(in_jax), rtol=1e-10, atol=1e-11)


def test_chains_are_one_operation():
    text = str(jax.make_jaxpr(jax.vmap(jax.vmap(jax.value_and_grad(density))))(jnp.zeros((3, 4, COEFFICIENTS))))
    assert text.count("logistic_gradients[") == 1
    assert f"f64[3,4,{COEFFICIENTS}] = logistic_gradients[" in text


@pytest.mark.parametrize("derivative", [lambda f: f, jax.grad], ids=["value", "gradient"])
def test_features_may_vary_and_may_be_differentiated(derivative):
    several = jnp.asarray(RNG.normal(size=(3, OBSERVATIONS, COEFFICIENTS)))
    for function in (
        lambda f: jax.vmap(lambda features: derivative(lambda x: f(x, features))(BETA))(several),
        lambda f: jax.jacfwd(lambda features: derivative(lambda x: f(x, features))(BETA))(FEATURES),
    ):
        np.testing.assert_allclose(function(density), function(in_jax), rtol=1e-10, atol=1e-11)


def test_a_hessian_computes_its_weights_once():
    many = jnp.zeros((3, COEFFICIENTS))
    text = str(jax.make_jaxpr(jax.vmap(jax.hessian(density)))(many))
    assert f"f64[3,{COEFFICIENTS},{OBSERVATIONS}] = logistic " not in text
    assert f"f64[3,{OBSERVATIONS}] = logistic " in text


def test_derivatives_of_products_by_their_vectors_are_products():
    product = jax.linearize(jax.grad(density), BETA)[1]
    text = str(jax.make_jaxpr(lambda v: jax.jvp(product, (v,), (U,)))(V))
    assert text.count("logistic_products[") == 2
    np.testing.assert_allclose(jax.jvp(product, (V,), (U,))[1], product(U), rtol=1e-12)


def test_programs_for_gpus_elsewhere_are_made_by_the_formulas():
    gradients = jax.jit(jax.vmap(jax.grad(lambda beta: density(beta, FEATURES.astype(jnp.float32)))))
    many = jax.ShapeDtypeStruct((logistic_primitives.LEAST_CHAINS, COEFFICIENTS), jnp.float32)
    text = gradients.trace(many).lower(lowering_platforms=("cuda",)).as_text()
    assert "dot_general" in text
    assert "triton" not in text


@pytest.mark.parametrize("kind", ["Auto", "Explicit"])
def test_arrays_whose_types_say_how_they_are_divided(kind):
    one = jax.make_mesh((1,), ("chains",), axis_types=(getattr(jax.sharding.AxisType, kind),))
    of_chains, gradients = jax.sharding.PartitionSpec("chains"), jax.vmap(jax.value_and_grad(density))
    positions = jax.device_put(jnp.stack([BETA, V]), jax.NamedSharding(one, of_chains))
    if kind == "Auto":
        found = jax.shard_map(gradients, mesh=one, in_specs=of_chains, out_specs=of_chains)(positions)
    else:
        found = jax.jit(gradients)(positions)
    for mine, expected in zip(found, jax.vmap(jax.value_and_grad(in_jax))(jnp.stack([BETA, V])), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-10)


def test_a_bend_takes_both_products_in_one_operation():
    metric = Monge(1.0)

    def kicked(x, v):
        point, slope = metric.at(density, x)
        return metric.bend(point, slope, v)

    used = jax.make_jaxpr(kicked)(BETA, V).pretty_print(source_info=False)
    vector = rf"\w+:f64\[{COEFFICIENTS}\]"
    assert len(re.findall(rf"{vector} {vector} = logistic_products\[", used)) == 1
    hessian, gradient = jax.hessian(in_jax)(BETA), jax.grad(in_jax)(BETA)
    bend = kicked(BETA, V)
    np.testing.assert_allclose(bend.curvature, hessian @ gradient, rtol=1e-10)
    np.testing.assert_allclose(bend.along, hessian @ V, rtol=1e-10)


def test_a_draw_makes_no_array_of_chains_and_observations():
    """It is the primitives alone, of a density that was traced before it was differentiated."""
    metric, program = Monge(0.7), trace_density(density, jax.ShapeDtypeStruct(BETA.shape, BETA.dtype))
    points = jax.vmap(lambda x: metric.at(program, x)[0])(jnp.zeros((8, COEFFICIENTS)))
    setup = Setup(program, metric, jnp.asarray(0.1), mp.Static(7))
    one = jax.vmap(lambda key, point: draw(LMC(), key, point, setup))
    text = str(jax.make_jaxpr(one)(jax.random.split(jax.random.key(0), 8), points))
    assert "logistic_products[" in text
    assert f"[8,{OBSERVATIONS}]" not in text


def test_trajectories_are_those_of_the_density_in_jax():
    metric, integrator = Monge(0.7), Lagrangian()

    def end(function):
        start = Phase.start(metric.at(function, BETA)[0], V)
        return jax.jit(lambda: integrator.run(function, metric, start, jnp.asarray(0.05), 4))()

    found, expected = end(density), end(in_jax)
    np.testing.assert_allclose(found.point.position, expected.point.position, rtol=1e-10)
    np.testing.assert_allclose(found.log_volume, expected.log_volume, rtol=1e-8)


def test_a_target_uses_them_on_accelerators(monkeypatch):
    design, outcomes = np.asarray(FEATURES), RNG.random(OBSERVATIONS) < 0.4
    on_processor = mp.targets.logistic_regression(design, outcomes, prior_variance=2.0)
    with monkeypatch.context() as patch:
        patch.setattr(jax, "default_backend", lambda: "gpu")
        on_accelerator = mp.targets.logistic_regression(design, outcomes, prior_variance=2.0)
    assert "logistic_gradients" in str(jax.make_jaxpr(jax.grad(on_accelerator.logdensity))(BETA))
    assert "logistic_gradients" not in str(jax.make_jaxpr(jax.grad(on_processor.logdensity))(BETA))
    # Residuals are read off a density: one that is an operation of ours would have none.
    assert len(mp.residuals_of(on_accelerator)) == len(mp.residuals_of(on_processor)) == 1
    assert on_accelerator.logdensity(BETA) == pytest.approx(float(on_processor.logdensity(BETA)), rel=1e-12)
    with monkeypatch.context() as patch:
        patch.setattr(jax, "default_backend", lambda: "gpu")
        of_array = mp.targets.logistic_regression(design, outcomes, prior_variance=jnp.asarray(2.0))
        by_variance = jax.grad(lambda v: mp.targets.logistic_regression(design, outcomes, prior_variance=v)(BETA))(2.0)
    assert of_array(BETA) == on_accelerator(BETA)
    assert by_variance == pytest.approx(float(BETA @ BETA) / 8.0)


def test_other_types_are_promoted_and_other_lengths_are_refused():
    beta = BETA.astype(jnp.float32)
    for function in (density, jax.jit(density)):
        assert function(beta) == pytest.approx(float(in_jax(beta)), rel=1e-6)
    with pytest.raises(TypeError, match="dot_general"):
        jax.eval_shape(density, jnp.zeros(COEFFICIENTS + 1))


def test_a_run_is_that_of_the_density_in_jax():
    """On both, chains go the same way to rounding."""
    found, expected = (
        mp.sample(
            function,
            BETA,
            metric=mp.Monge(0.5),
            trajectory=mp.Static(3),
            step_size=0.1,
            warmup=0,
            draws=20,
            progress=False,
        )
        for function in (density, in_jax)
    )
    np.testing.assert_allclose(found["posterior"]["x"], expected["posterior"]["x"], rtol=1e-8)
