"""Ours and others."""

from mongepatch.bench.patches.samplers.base import Outcome, Plan, Sampler, Task
from mongepatch.bench.patches.samplers.blackjax_nuts import blackjax_nuts
from mongepatch.bench.patches.samplers.numpyro_nuts import numpyro_nuts
from mongepatch.bench.patches.samplers.nutpie_nuts import nutpie_nuts
from mongepatch.bench.patches.samplers.ours import ours
from mongepatch.bench.patches.samplers.walnuts import walnuts

__all__ = ["Outcome", "Plan", "Sampler", "Task", "blackjax_nuts", "numpyro_nuts", "nutpie_nuts", "ours", "walnuts"]
