"""Checksums of programs and their data, by which a later process knows them again."""

import hashlib
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch.program.program import Program, hidden_arrays

_ADDRESS = re.compile(r"0x[0-9a-f]+")
"""An address in memory, as of a function that a program names; it is another one in every process."""


def fingerprint_of_code(tree: Any) -> str:
    """A checksum of the texts of all programs in a pytree."""
    made = hashlib.blake2b(digest_size=16)
    for program in _programs(tree):
        made.update(_ADDRESS.sub("", str(program.jaxpr)).encode())
    return made.hexdigest()


def fingerprint_of_data(tree: Any) -> str:
    """A checksum of all arrays of a pytree, those that its programs close over included."""
    made = hashlib.blake2b(digest_size=16)
    hidden = [array for program in _programs(tree) for array in hidden_arrays(program.jaxpr)]
    for leaf in [*jax.tree.leaves(tree), *hidden]:
        is_key = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        values = np.asarray(jax.random.key_data(leaf) if is_key else leaf)
        made.update(f"{values.dtype} {values.shape}".encode())
        made.update(np.ascontiguousarray(values).tobytes())
    return made.hexdigest()


def _programs(tree: Any) -> list[Program]:
    leaves = jax.tree.leaves(tree, is_leaf=lambda node: isinstance(node, Program))
    return [leaf for leaf in leaves if isinstance(leaf, Program)]
