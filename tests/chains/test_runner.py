"""How a run is cut into chunks, and how its draws come from a device."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mongepatch as mp
from mongepatch._arrays import near_host, on_host
from mongepatch.chains import Runner, Tuning, joined, points_at
from mongepatch.chains.chunks import capacity_of
from mongepatch.kernels import LMC
from mongepatch.program import trace_density
from mongepatch.warmup.step_size import FixedStepSize

DENSITY = trace_density(lambda x: -0.5 * x @ x, jax.ShapeDtypeStruct((3,), jnp.float64))


def runner():
    made = Runner(jax.random.key(0), DENSITY, LMC(), lambda info, seconds: None)
    points = points_at(jnp.zeros((4, 3)), DENSITY, mp.Euclidean())
    return made, (points, Tuning(mp.Euclidean(), mp.Static(2)), FixedStepSize(jnp.asarray(0.5)))


def test_few_draws_do_not_make_the_next_chunk_short(monkeypatch):
    """Chunks grow tenfold at most, and do not shrink because fewer draws were asked for."""
    monkeypatch.setattr("mongepatch.chains.runner._CHUNK_SECONDS", 1e9)
    run, where = runner()
    lengths = [len(rows.position) for draws in (500, 2, 100) for _, _, rows in run.chunks(*where, draws)]
    assert lengths == [1, 10, 100, 389, 2, 100]


def test_an_accelerator_is_a_chunk_ahead_and_makes_the_same_draws(monkeypatch):
    """Of a run that is left after some chunks too: the chunk that was begun is then made again."""
    monkeypatch.setattr("mongepatch.chains.runner._CHUNK_SECONDS", 1e9)
    run, where = runner()
    expected = run(*where, 30)[2]
    monkeypatch.setattr("mongepatch.chains.runner.is_on_accelerator", lambda _: True)
    run, where = runner()
    chunks = run.chunks(*where, 30)
    (_, _, first), (points, _, second) = next(chunks), next(chunks)
    assert run.done == 11
    chunks.close()
    rest = [rows for _, _, rows in run.chunks(points, *where[1:], 19)]
    assert run.done == 30
    jax.tree.map(np.testing.assert_array_equal, joined([first, second, *rest]), expected)


def test_internal_positions_are_those_of_chains_by_their_number():
    run, where = runner()
    other, _ = runner()
    every, third = run(*where, 5, internals=1)[2], other(*where, 5, internals=3)[2]
    np.testing.assert_array_equal(third.internal, every.internal[::3])
    np.testing.assert_array_equal(third.gradient, every.gradient[::3])
    np.testing.assert_array_equal(third.position, every.position)


def test_chunks_hold_as_many_bytes_in_either_precision():
    single, double = (capacity_of(np.zeros((1000, 10), kind)) for kind in (np.float32, np.float64))
    assert single // 2 == double


@pytest.mark.parametrize("few_bytes", [0, 2**24])
def test_copies_of_a_device_can_be_written_to(few_bytes, monkeypatch):
    """With threads and without."""
    monkeypatch.setattr("mongepatch._arrays._FEW_BYTES", few_bytes)
    array = jnp.arange(6.0).reshape(2, 3)
    found = on_host(near_host({"a": array}))["a"]
    found[0] = 7.0
    np.testing.assert_array_equal(found, [[7.0] * 3, [3.0, 4.0, 5.0]])
    np.testing.assert_array_equal(array[0], [0.0, 1.0, 2.0])
