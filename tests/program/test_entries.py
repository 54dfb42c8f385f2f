"""Entries of a position that a program looks at."""

import jax
import jax.numpy as jnp
import pytest

from mongepatch.program import entries_read, trace


@pytest.mark.parametrize(
    ("function", "entries"),
    [
        (lambda x: {"a": jnp.exp(x[1:2]), "b": x[4]}, [1, 4]),
        (lambda x: x[:4:2].sum(), [0, 2]),
        (lambda x: (x[0], x.sum())[0], [0]),
        (lambda x: x[0] + x.sum(), [0, 1, 2, 3, 4]),
        (lambda x: (x[0], x), [0, 1, 2, 3, 4]),
        (lambda x: jnp.ones(()), []),
    ],
)
def test_slices_are_followed_and_all_else_reads_everything(function, entries):
    program, _ = trace(function, jax.ShapeDtypeStruct((5,), float))
    assert entries_read(program).tolist() == entries
