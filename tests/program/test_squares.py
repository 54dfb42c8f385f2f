"""Residuals are read off a density's own program."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from densities import FOUND, INIT, NOT_FOUND, centred, schools

import mongepatch as mp
from mongepatch.program import read_squares, trace_density
from mongepatch.targets.layout import Layout

LAYOUT = Layout.of(INIT)
POSITIONS = np.random.default_rng(0).normal(size=(2, LAYOUT.size))


def read(density):
    position = jax.ShapeDtypeStruct((LAYOUT.size,), float)
    program = trace_density(lambda x: density(LAYOUT.tree(x)), position)
    return program, read_squares(program)


def magnitudes(arrays):
    """What is left of rows if neither their signs nor their order count; rows of 0 do not."""
    flat = np.concatenate([np.abs(np.ravel(array)) for array in arrays])
    return np.sort(flat[flat > 0])


@pytest.mark.parametrize("style", FOUND)
def test_residuals_are_found(style):
    density, expected = FOUND[style]
    program, reading = read(density)
    tolerance = 1e-6 if style == "single precision inside" else 1e-10

    @jax.jit
    def looked_at(x):
        residuals = [block.residuals(x) for block in reading.blocks]
        scaled = [
            jnp.sqrt(block.precision(x)) * block.unscaled(x) if block.has_scale else None for block in reading.blocks
        ]
        terms = sum(block.log_density(x) for block in reading.blocks)
        return residuals, scaled, expected(LAYOUT.tree(x)), program(x) - terms - reading.rest(x)

    rests = []
    for x in POSITIONS:
        found, scaled, right, rest = looked_at(jnp.asarray(x))
        np.testing.assert_allclose(magnitudes(found), magnitudes(right), rtol=tolerance)
        for residuals, others in zip(found, scaled, strict=True):
            if others is not None:
                np.testing.assert_allclose(magnitudes([others]), magnitudes([residuals]), rtol=tolerance)
        rests.append(float(rest))
    assert rests[0] == pytest.approx(rests[1], abs=1e-6)  # what is left is a constant


@pytest.mark.parametrize("style", NOT_FOUND)
def test_nothing_is_guessed(style):
    program, reading = read(NOT_FOUND[style])
    assert not reading.blocks
    rest = jax.jit(lambda x: program(x) - reading.rest(x))
    rests = [float(rest(jnp.asarray(x))) for x in POSITIONS]
    assert rests[0] == pytest.approx(rests[1], abs=1e-9)


def test_the_corpus_is_large():
    assert len(FOUND) >= 60
    assert len(NOT_FOUND) >= 10


def test_blocks_stay_arrays():
    _, reading = read(schools)
    assert sorted(block.shape for block in reading.blocks) == [(), (), (3,), (3,)]


def test_residuals_are_functions_that_jax_transforms():
    _, reading = read(FOUND["scan, a sum"][0])
    (block,) = reading.blocks
    x = jnp.asarray(POSITIONS[0])

    def expected(x):
        return FOUND["scan, a sum"][1](LAYOUT.tree(x))[0]

    np.testing.assert_allclose(jax.jacfwd(block.residuals)(x), jax.jacfwd(expected)(x), rtol=1e-8)
    many = jax.jit(jax.vmap(block.residuals))(jnp.asarray(POSITIONS))
    np.testing.assert_allclose(many, jax.vmap(expected)(jnp.asarray(POSITIONS)), rtol=1e-8)


def test_scales_are_told_apart():
    _, reading = read(lambda p: -0.5 * centred(p) @ centred(p) - 3 * p["s"])
    (block,) = reading.blocks
    x = jnp.asarray(POSITIONS[0])
    p = LAYOUT.tree(x)
    assert float(block.precision(x)) == pytest.approx(float(jnp.exp(-2 * p["s"])))
    np.testing.assert_allclose(block.unscaled(x), p["x"] - p["m"])


def test_reading_takes_milliseconds():
    program, _ = read(NOT_FOUND["logistic regression"])
    start = time.perf_counter()
    read_squares(program)
    assert time.perf_counter() - start < 0.05


@pytest.mark.parametrize("target", [mp.targets.funnel(4), mp.targets.neal_funnel(4)], ids=["paper", "Neal"])
def test_funnels(target):
    x = target.truth.draw(jax.random.key(0), 1)[0]
    program = trace_density(target.logdensity, jax.ShapeDtypeStruct(x.shape, x.dtype))
    neck, scale = x[-1], jnp.sqrt(jax.nn.softplus(x[-1]) if "a" in target.variables else jnp.exp(x[-1]))
    expected = [neck / (15**0.5 if "a" in target.variables else 3.0), x[:-1] / scale]
    found = [block.residuals(x) for block in read_squares(program).blocks]
    np.testing.assert_allclose(magnitudes(found), magnitudes(expected), rtol=1e-10)


def test_tensorflow_probability():
    tfp = pytest.importorskip("tensorflow_probability.substrates.jax", reason="TensorFlow Probability is not installed")
    _, reading = read(lambda p: tfp.distributions.Normal(p["m"], jnp.exp(p["s"])).log_prob(p["x"]).sum())
    x = jnp.asarray(POSITIONS[0])
    found = [block.residuals(x) for block in reading.blocks]
    np.testing.assert_allclose(magnitudes(found), magnitudes([centred(LAYOUT.tree(x))]), rtol=1e-10)
