"""Posteriors of stan-dev/posteriordb as JAX log densities, beside the reference draws that posteriordb publishes.

The densities are here; data and draws are not. They are read, when asked for, from a folder of the user's with one
folder for each posterior:

- `<name>/data.json`: the data block of the Stan program, as in posteriordb.
- `<name>/reference_draws.npz`: `draws` [chains, draws, parameters] and `names`, such as `beta[1]`, in that order.
"""

from mongepatch.bench.posteriors.load import Posterior, available, load

__all__ = ["Posterior", "available", "load"]
