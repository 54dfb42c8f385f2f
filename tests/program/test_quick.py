"""Functions that are compiled in less time compute the same, wherever they are called."""

import jax
import jax.numpy as jnp
import pytest

from mongepatch.program import jit, quick


def squares(x, *, times=1):
    return times * (x**2).sum()


@pytest.fixture(params=[True, False], ids=["known options", "unknown options"])
def quick_squares(request, monkeypatch):
    quick.quick_options.cache_clear()
    if not request.param:
        monkeypatch.setattr(quick, "_OPTIONS", {"xla_no_such_option": True})
    yield jit(squares, static_argnames=("times",), quick=True)
    quick.quick_options.cache_clear()


def test_alone_and_inside_of_other_functions(quick_squares):
    x = jnp.arange(3.0)
    assert quick_squares(x, times=2) == 10.0
    assert quick_squares.lower(x).compile()(x) == 5.0
    assert jax.jit(lambda x: quick_squares(x) + 1.0)(x) == 6.0
    assert jax.eval_shape(quick_squares, x).shape == ()
    assert (jax.grad(quick_squares)(x) == 2 * x).all()
    assert (jax.vmap(quick_squares)(jnp.stack([x, 2 * x])) == jnp.array([5.0, 20.0])).all()


def test_unknown_options_other_devices_and_users_who_do_not_want_them_have_none(monkeypatch):
    quick.quick_options.cache_clear()
    assert quick.quick_options() == quick._OPTIONS
    with monkeypatch.context() as changed:
        quick.quick_options.cache_clear()
        changed.setenv("MONGEPATCH_QUICK_COMPILE", "0")
        assert quick.quick_options() is None
    quick.quick_options.cache_clear()
    with monkeypatch.context() as changed:
        changed.setattr(jax, "default_backend", lambda: "gpu")
        assert quick.quick_options() is None
    quick.quick_options.cache_clear()


def test_loops_have_options_on_gpus_alone(monkeypatch):
    quick.loop_options.cache_clear()
    assert quick.loop_options() is None
    assert jit(squares, loops=True)(jnp.arange(3.0)) == 5.0
    quick.loop_options.cache_clear()
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert quick.loop_options() == quick._LOOP_OPTIONS
    quick.loop_options.cache_clear()
