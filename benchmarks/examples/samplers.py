"""The two samplers that are compared: `mongepatch.sample` with everything automatic, and NumPyro's NUTS by default."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from benchmarks.measures.effective_size import effective_size, largest_r_hat, smallest_ess_of
from benchmarks.measures.scalars import Draws
from benchmarks.patches.problems import NumpyroProblem
from benchmarks.patches.quantities import quantities
from benchmarks.patches.samplers import RunPlan, SamplerOutcome, SamplerTask
from benchmarks.patches.samplers.in_jax import numpyro_nuts_in_one_call, run_ours
from mongepatch.program.stopwatch import stopwatch


class ExampleRun(NamedTuple):
    """Measurements of one run."""

    seed: int
    r_hat: float
    """Largest over all scalars."""
    size: float
    """Smallest effective size over all scalars: bulk, tail, and bulk of squares."""
    bulk_or_tail: float
    """The same without squares."""
    seconds: float
    """Of warm-up and sampling, without compilation."""
    compile_seconds: float
    total_seconds: float
    """From the call to the result: with compilation, and with building the target."""
    divergences: int
    remark: str
    """The choices of the sampler, where it reports them."""

    @property
    def per_second(self) -> float:
        """Effective draws per second, with warm-up and without compilation."""
        return self.size / self.seconds


ExampleSampler: TypeAlias = Callable[[NumpyroProblem, RunPlan], ExampleRun]


def ours(problem: NumpyroProblem, plan: RunPlan) -> ExampleRun:
    """`mongepatch.sample`, the target built anew."""
    return _measured(lambda task: run_ours(task.target, plan), problem, plan)


def numpyro_nuts(problem: NumpyroProblem, plan: RunPlan) -> ExampleRun:
    """NumPyro's NUTS, warm-up and sampling in one call and all chains in one program."""
    return _measured(lambda task: numpyro_nuts_in_one_call().run(task, plan), problem, plan)


def _measured(run: Callable[[SamplerTask], SamplerOutcome], problem: NumpyroProblem, plan: RunPlan) -> ExampleRun:
    task = SamplerTask(problem.centred, problem.data)
    with stopwatch() as watch:
        outcome = run(task)
    return ExampleRun(
        seed=plan.seed,
        **_quality(quantities(problem, outcome.variables)),
        seconds=outcome.seconds,
        compile_seconds=watch.compiling,
        total_seconds=watch.total,
        divergences=outcome.divergences or 0,
        remark=outcome.remark,
    )


SAMPLERS: Mapping[str, ExampleSampler] = {"ours": ours, "NumPyro NUTS": numpyro_nuts}


def _quality(draws: Draws) -> dict[str, float]:
    sizes = [effective_size(values, method) for values in draws.values() for method in ("bulk", "tail")]
    return {"r_hat": largest_r_hat(draws), "size": smallest_ess_of(draws), "bulk_or_tail": min(sizes)}
