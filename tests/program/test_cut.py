"""Programs in two parts: what follows from the arrays of a cut is what followed from the position."""

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch.program.cut import cut, written_out

POSITION = jax.ShapeDtypeStruct((4,), float)
DATA = np.arange(3.0)


@jax.jit
def scaled(scale, z):
    return jnp.exp(scale) * z


def log_likelihoods(x):
    theta = scaled(x[0], x[1:])
    again = scaled(x[0], x[1:])
    rest = jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, again)
    return -0.5 * ((DATA - theta) ** 2).sum(), jax.nn.softplus(rest).sum()


def test_inner_calls_are_written_out_and_nothing_is_done_twice():
    program = written_out(log_likelihoods, POSITION)
    names = [equation.primitive.name for equation in program.jaxpr.eqns]
    assert not {"jit", "pjit"} & set(names)
    assert names.count("exp") == 1
    x = jnp.array([0.3, 1.0, -2.0, 0.5])
    np.testing.assert_allclose(program(x), log_likelihoods(x), rtol=1e-6)


def test_a_cut_program_has_the_same_results():
    program = written_out(log_likelihoods, POSITION)
    (product,) = (
        one for one in program.jaxpr.eqns if one.primitive.name == "mul" and one.outvars[0].aval.shape == (3,)
    )
    parts = cut(program, product.outvars, POSITION)
    x = jnp.array([0.3, 1.0, -2.0, 0.5])
    theta = parts.head(x)
    np.testing.assert_allclose(theta, np.exp(0.3) * x[1:], rtol=1e-6)
    np.testing.assert_allclose(parts.rest(jnp.append(theta, x)), log_likelihoods(x), rtol=1e-6)
    # What follows knows the inner coordinates by the cut alone.
    elsewhere = jnp.append(theta, x.at[1:].set(7.0))
    np.testing.assert_allclose(parts.rest(elsewhere), log_likelihoods(x), rtol=1e-6)
