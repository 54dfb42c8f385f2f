"""The experiments of *Lagrangian Manifold Monte Carlo on Monge Patches*, run again and audited."""

from mongepatch.paper.reproduce import ITEMS, reproduce

__all__ = ["ITEMS", "reproduce"]
