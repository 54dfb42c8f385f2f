"""Our sampler and its peers."""

from benchmarks.patches.samplers.base import RunPlan, Sampler, SamplerOutcome, SamplerTask
from benchmarks.patches.samplers.callbacks import nutpie_nuts, nutpie_reparametrised, walnuts
from benchmarks.patches.samplers.in_jax import blackjax_nuts, numpyro_nuts, numpyro_nuts_in_one_call, ours
from benchmarks.patches.samplers.learnt_centring import learnt_centring

__all__ = [
    "RunPlan",
    "Sampler",
    "SamplerOutcome",
    "SamplerTask",
    "blackjax_nuts",
    "learnt_centring",
    "numpyro_nuts",
    "numpyro_nuts_in_one_call",
    "nutpie_nuts",
    "nutpie_reparametrised",
    "ours",
    "walnuts",
]
