"""The experiments of *Lagrangian Manifold Monte Carlo on Monge Patches*: their settings, and their reproduction."""

from mongepatch.paper.presets import PRESETS, Preset, preset
from mongepatch.paper.reproduce import ITEMS, reproduce

__all__ = ["ITEMS", "PRESETS", "Preset", "preset", "reproduce"]
