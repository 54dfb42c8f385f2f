"""NumPyro's NUTS on a model whose centrings were learnt (Gorinova, Moore and Hoffman 2020).

`LocScaleReparam(centered=None)` puts a site between its centred form (1) and its non-centred one (0). The place is a
parameter, which stochastic variational inference finds together with a normal approximation of the posterior.
"""

from typing import Any

import jax
import numpy as np

from benchmarks.patches.problems import ModelFunction
from benchmarks.patches.samplers.base import RunPlan, Sampler, SamplerOutcome, SamplerTask
from benchmarks.patches.samplers.in_jax import numpyro_nuts
from mongepatch.errors import SettingError
from mongepatch.program.stopwatch import stopwatch

STEPS, LEARNING_RATE = 2000, 0.02
"""Of Adam, with one draw of the approximation a step."""


def learnt_centring() -> Sampler:
    """NumPyro's NUTS with learnt centrings. Learning them counts as warm-up, and a step of it as a gradient."""
    return Sampler("NumPyro NUTS, learnt centring", _run)


def loc_scale_sites(task: SamplerTask) -> list[str]:
    """Latent sites on the real line whose distribution has a location and a scale."""
    import numpyro.distributions as dist
    from numpyro import handlers

    trace = handlers.trace(handlers.seed(task.model, 0)).get_trace(*task.data)
    latent = {name: site["fn"] for name, site in trace.items() if site["type"] == "sample" and not site["is_observed"]}

    def is_loc_scale(distribution: Any) -> bool:
        while isinstance(distribution, (dist.Independent, dist.ExpandedDistribution)):
            distribution = distribution.base_dist
        return distribution.support is dist.constraints.real and {"loc", "scale"} == set(distribution.arg_constraints)

    return [name for name, distribution in latent.items() if is_loc_scale(distribution)]


def _run(task: SamplerTask, plan: RunPlan) -> SamplerOutcome:
    with stopwatch() as learning:
        model, centrings = _learn(task, plan.seed)
    outcome = numpyro_nuts().run(SamplerTask(model, task.data), plan)
    return outcome._replace(
        n_grad=outcome.n_grad + STEPS,
        seconds=outcome.seconds + learning.running,
        compile_seconds=outcome.compile_seconds + learning.compiling,
        remark=", ".join(f"{name} {np.mean(value):.2f}" for name, value in centrings.items()),
    )


def _learn(task: SamplerTask, seed: int) -> tuple[ModelFunction, dict[str, np.ndarray]]:
    """The model with its centrings fixed, and the centrings."""
    from numpyro import handlers
    from numpyro.infer import SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal
    from numpyro.infer.reparam import LocScaleReparam
    from numpyro.optim import Adam

    sites = loc_scale_sites(task)
    if not sites:
        raise SettingError("the model has no latent site with a location and a scale.")
    model = handlers.reparam(task.model, config={name: LocScaleReparam(centered=None) for name in sites})
    svi = SVI(model, AutoNormal(model), Adam(LEARNING_RATE), Trace_ELBO())
    params = svi.run(jax.random.key(seed), STEPS, *task.data, progress_bar=False).params
    centrings = {name: np.asarray(params[f"{name}_centered"]) for name in sites}
    return handlers.substitute(model, data={f"{name}_centered": centrings[name] for name in sites}), centrings
