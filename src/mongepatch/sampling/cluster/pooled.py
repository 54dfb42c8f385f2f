"""Warm-up of chains that are in several processes: each draws its own, and sees the draws of all."""

from dataclasses import replace
from typing import Any, TypeVar

import jax
import numpy as np

from mongepatch._arrays import on_device
from mongepatch.chains import Placement, Record, Report, Runner, StepSizePolicy, Tuning, joined
from mongepatch.chains.draws import acceptance_of
from mongepatch.program import jit
from mongepatch.sampling.cluster.hosts import Hosts
from mongepatch.sampling.journal import arrays_of_record, record_of_arrays
from mongepatch.sampling.snapshot import arrays_of, tree_of_arrays
from mongepatch.store.container import pack, unpack

P = TypeVar("P", bound=StepSizePolicy)


class PooledRunner(Runner):
    """A runner for all chains, of which this process draws some.

    Between calls every process has the points and records of all chains, and decides the same from them. So what
    warm-up finds does not depend on how chains are divided. While the step size adapts, acceptance rates are exchanged
    after every draw, and else only what chains have done by the end of a call.

    Args:
        run: key, density and kernel.
        report: told of the draws of this process.
        placement: the number of its first chain, and its devices.
        hosts: all processes.
        own: which of all chains are here.
    """

    def __init__(
        self, run: tuple[Any, Any, Any], report: Report, placement: Placement, hosts: Hosts, own: slice
    ) -> None:
        super().__init__(*run, report, placement)
        self._hosts, self._own = hosts, own

    def __call__(
        self,
        points: Any,
        tuning: Tuning,
        policy: P,
        draws: int,
        *,
        internals: int = 0,
        columns: np.ndarray | None = None,
    ) -> tuple[Any, P, Record]:
        """Make this many draws of every chain."""
        here = jax.tree.map(lambda leaf: on_device(np.asarray(leaf)[self._own]), points)
        parts: list[Record] = []
        while draws:
            adapts = policy.adapts
            count = 1 if adapts else draws
            own = _of_some_chains(policy, self._own)
            chunks = self.chunks(here, tuning, own, count, internals=internals, columns=columns)
            for here, _, rows in chunks:  # noqa: B007  # the last ones are where chains end
                parts.append(jax.tree.map(np.copy, rows))  # of one row, in the place of its whole buffer
            if adapts:
                policy = _updated(policy, self._of_all(np.asarray(acceptance_of(parts[-1].info))[-1]))
            draws -= count
        return self._told(points, policy, here, joined(parts))

    def _of_all(self, values: np.ndarray) -> jax.Array:
        """Numbers of the chains of all processes."""
        said = self._hosts.gather(values.tobytes())
        return on_device(np.concatenate([np.frombuffer(part, values.dtype) for part in said]))

    def _told(self, points: Any, policy: P, here: Any, record: Record) -> tuple[Any, P, Record]:
        """Where chains of all processes are, and what they did; time is that of the slowest."""
        arrays = arrays_of_record(record) | arrays_of("points", here)
        said = [unpack(part, "a process") for part in self._hosts.gather(pack(arrays, {"seconds": self.seconds}))]
        self.seconds = max(float(part.facts["seconds"]) for part in said)
        whole = {name: np.concatenate([part.arrays[name] for part in said]) for name in arrays}
        return tree_of_arrays("points", whole, points), policy, record_of_arrays(whole)


def _of_some_chains(policy: Any, own: slice) -> Any:
    """A policy of the same step size for some chains, which does not adapt by itself."""
    if not hasattr(policy, "recent"):
        return policy
    recent = on_device(np.asarray(policy.recent)[own])
    return replace(policy, recent=recent, active=on_device(False))


@jit
def _updated(policy: P, acceptance: jax.Array) -> P:
    updated: P = policy.update(acceptance)
    return updated
