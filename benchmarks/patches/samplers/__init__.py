"""Our sampler and its peers."""

from benchmarks.patches.samplers.base import RunPlan, Sampler, SamplerOutcome, SamplerTask
from benchmarks.patches.samplers.callbacks import nutpie_nuts, walnuts
from benchmarks.patches.samplers.in_jax import blackjax_nuts, numpyro_nuts, ours

__all__ = [
    "RunPlan",
    "Sampler",
    "SamplerOutcome",
    "SamplerTask",
    "blackjax_nuts",
    "numpyro_nuts",
    "nutpie_nuts",
    "ours",
    "walnuts",
]
