"""The command line of the benchmarks: `python -m benchmarks NAME`."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import jax
import typer

from mongepatch.__main__ import exit_code

app = typer.Typer(help="Measurements that the documentation quotes.", no_args_is_help=True, add_completion=False)

Rounds = Annotated[int, typer.Option(help="Number of timings of each call.", min=1)]
Seeds = Annotated[int, typer.Option(help="Number of seeds.", min=1)]
DrawsOfFour = Annotated[int, typer.Option(help="Draws of each of four chains.", min=100)]
DrawsOfEight = Annotated[int, typer.Option(help="Draws of each of eight chains.", min=100)]
Only = Annotated[list[str] | None, typer.Option(help="Names of problems; by default all.")]
Warmup = Annotated[int, typer.Option(help="Draws of warm-up of each chain.", min=1)]
Problem = Annotated[str, typer.Argument(help="Name of a problem.")]
SamplerName = Annotated[str, typer.Argument(help="Name of a sampler.")]
SeedsByName = Annotated[list[int] | None, typer.Option(help="Seed of a run; one option for each.")]
Json = Annotated[Path | None, typer.Option(help="File to write all numbers to.")]


@app.callback()
def double_precision() -> None:
    """Every benchmark computes in double precision."""
    jax.config.update("jax_enable_x64", True)


@app.command()
def step(rounds: Rounds = 11) -> None:
    """Time of an LMC step, in leapfrog steps of the same density."""
    from benchmarks.step import run

    run(rounds=rounds)


@app.command()
def patch_step(rounds: Rounds = 11) -> None:
    """Time of an LMC step on residual patches of hierarchies."""
    from benchmarks.patch_step import run

    run(rounds=rounds)


@app.command()
def devices(rounds: Rounds = 5) -> None:
    """Draws per second of many chains on one device and on eight that the CPU is divided into."""
    from benchmarks.devices import run

    run(rounds=rounds)


@app.command(hidden=True)
def devices_one(rounds: Rounds = 5) -> None:
    """The process of `devices` that has eight devices."""
    from benchmarks.devices import print_figures

    print_figures(rounds)


@app.command()
def hosts(
    processes: Annotated[list[int] | None, typer.Option(help="Numbers of processes; by default 1, 2, 4, 8.")] = None,
) -> None:
    """Seconds of each part of a run on several hosts, with local processes in their place."""
    from benchmarks.hosts import run

    run(processes or (1, 2, 4, 8))


@app.command(hidden=True)
def hosts_one(address: str, count: int, index: int, store: Path) -> None:
    """One process of `hosts`."""
    from benchmarks.hosts import print_figures

    print_figures(address, count, index, store)


@app.command()
def scaling(rounds: Rounds = 15) -> None:
    """Growth of time and memory with the dimension, from 10² to 10⁶."""
    from benchmarks.scaling import run

    run(rounds=rounds)


@app.command()
def scale(
    rounds: Rounds = 7,
    draws: Annotated[int, typer.Option(help="Also sample each size, with so many draws of four chains.", min=0)] = 0,
    groups: Annotated[list[int] | None, typer.Option(help="Numbers of groups; by default 10³, 10⁴, 10⁵.")] = None,
    rows: Annotated[list[int] | None, typer.Option(help="Rows of regressions; by default 10⁴, 10⁵, 10⁶.")] = None,
) -> None:
    """Growth with the number of groups of a whitened hierarchy, and with the rows of a regression."""
    from benchmarks.scale import GROUPS, ROWS, run

    run(groups=groups or GROUPS, rows=rows or ROWS, rounds=rounds, draws=draws)


@app.command()
def device(
    chains: Annotated[
        list[int] | None, typer.Option(help="Numbers of chains, in this order; by default 16384, 1024, 1, 65536.")
    ] = None,
    draws: Annotated[int, typer.Option(help="Draws of each chain.", min=10)] = 200,
    rounds: Rounds = 5,
    only: Annotated[
        list[str] | None, typer.Option(help="kernel, heart, funnel-10, schools or groups-100; by default all.")
    ] = None,
    budget: Annotated[float, typer.Option(help="Seconds for all tables; rows that do not fit are left out.")] = 420.0,
) -> None:
    """Draws per second by the number of chains, on an accelerator and on the same machine's processor."""
    from benchmarks.device.run import CHAINS, run

    run(chains=chains or CHAINS, draws=draws, rounds=rounds, only=only or (), budget=budget)


@app.command()
def rounding() -> None:
    """Rounding of the energy in single precision: of the log density, and of the sums that it enters."""
    from benchmarks.rounding import run

    run()


@app.command()
def funnel(
    dimension: Annotated[int, typer.Option(help="D of the paper: 1, 3, 5, 10, 30, 40 or 50.")] = 1,
    draws: Annotated[
        int | None, typer.Option(help="Draws of each of four chains; by default the paper's 60,000.", min=1)
    ] = None,
    seeds: Seeds = 10,
) -> None:
    """The paper's funnel at the paper's settings, by LMC-Monge and by HMC."""
    from benchmarks.funnel import run

    run(dimension, draws, seeds)


@app.command()
def schemes(draws: DrawsOfEight = 5000) -> None:
    """Effective draws per gradient of the two integration schemes."""
    from benchmarks.schemes import run

    run(draws=draws)


@app.command()
def kernels(
    draws: DrawsOfFour = 1000,
    seed: Annotated[int, typer.Option(help="Seed of all runs.")] = 0,
    only: Only = None,
) -> None:
    """Cost and effective sizes of every kernel on the paper's regressions and funnels."""
    from benchmarks.kernels import run

    run(draws=draws, seed=seed, only=only or ())


@app.command()
def implicit(draws: DrawsOfEight = 5000) -> None:
    """RMHMC on Neal's funnel, with and without the checks of its implicit steps."""
    from benchmarks.implicit import run

    run(draws=draws)


@app.command()
def uturn(draws: DrawsOfEight = 2000) -> None:
    """Effective draws per gradient of NUTS with each of its U-turn rules."""
    from benchmarks.uturn import run

    run(draws=draws)


@app.command()
def many_chains(
    rounds: Rounds = 5,
    chains: Annotated[list[int] | None, typer.Option(help="Numbers of chains; by default 1 to 4096.", min=1)] = None,
) -> None:
    """Time of a draw of NUTS with 1 to 4096 chains, in lockstep and with each chain at its own pace."""
    from benchmarks.many_chains import CHAINS, run

    run(rounds=rounds, chains=chains or CHAINS)


@app.command()
def warmup(
    draws: Annotated[int, typer.Option(help="Draws of each of four chains on regular posteriors.", min=100)] = 1000,
    funnel_draws: Annotated[int, typer.Option(help="Draws of each of four chains on funnels.", min=100)] = 15_000,
    seeds: Seeds = 5,
    posteriordb: Annotated[
        Path | None, typer.Option(help="A folder of posteriordb's data and reference draws, if you have one.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="heart, german, australian, normal, funnels or a name of posteriordb; by default all."),
    ] = None,
) -> None:
    """Choices of automatic warm-up, and efficiency compared with BlackJAX's NUTS."""
    from benchmarks.warmup.run import run

    run(draws=draws, funnel_draws=funnel_draws, seeds=range(seeds), posteriordb=posteriordb, only=only or ())


@app.command()
def alpha(seeds: Seeds = 5) -> None:
    """Two ways to choose α: a tournament by effective draws, and the largest curvature."""
    from benchmarks.alpha import run

    run(seeds=range(seeds))


@app.command()
def lengths(
    draws: DrawsOfFour = 1000,
    seeds: Seeds = 5,
    only: Annotated[list[str] | None, typer.Option(help="Names of problems of the benchmark `patches`.")] = None,
) -> None:
    """Effective draws by the length of static trajectories in a patch."""
    from benchmarks.lengths import PROBLEMS, run

    run(draws, range(seeds), only or PROBLEMS)


@app.command()
def progress(
    rounds: Rounds = 7, draws: Annotated[int, typer.Option(help="Draws of each of four chains.", min=1)] = 20_000
) -> None:
    """Time that the progress bar adds to a run."""
    from benchmarks.progress import run

    run(draws=draws, rounds=rounds)


@app.command()
def store(
    draws: Annotated[int, typer.Option(help="Draws of each of four chains of the long run.", min=10_000)] = 1_000_000,
    rounds: Rounds = 5,
) -> None:
    """Memory of a long run with a store, and the time that a store and a callback add."""
    from benchmarks.store import run

    run(draws=draws, rounds=rounds)


@app.command(hidden=True)
def store_one(draws: Annotated[int, typer.Option(help="Draws of each of four chains.", min=1)]) -> None:
    """One run of `store`, for which that command starts a fresh process."""
    from benchmarks.store import print_peak_memory

    print_peak_memory(draws)


@app.command()
def until(
    seeds: Seeds = 200, ess: Annotated[float, typer.Option(help="Effective draws to stop at.", min=10)] = 400.0
) -> None:
    """The bias of a run that stops at the first good figure."""
    from benchmarks.until import run

    run(seeds=seeds, ess=ess)


@app.command()
def patches(
    draws: DrawsOfFour = 1000,
    seeds: Seeds = 3,
    only: Only = None,
    metric: Annotated[list[str] | None, typer.Option(help="Metrics of our sampler; by default auto and patch.")] = None,
    peers: Annotated[bool, typer.Option(help="Also run other samplers.")] = True,
    posteriordb: Annotated[Path | None, typer.Option(help="A folder of posteriordb's data, if you have one.")] = None,
    json: Json = None,
) -> None:
    """Centred hierarchical models: our sampler compared with others, and with forms made by hand."""
    from benchmarks.patches.run import run

    settings = {"metrics": metric} if metric else {}
    run(draws, range(seeds), posteriordb, only or (), with_peers=peers, json_file=json, **settings)


@app.command()
def bare(draws: DrawsOfFour = 1000, seeds: Seeds = 3, only: Only = None) -> None:
    """Bare JAX densities, whose residuals are read off them, compared with the same models in NumPyro."""
    from benchmarks.bare.run import run

    run(draws, range(seeds), only or ())


@app.command()
def examples(
    draws: DrawsOfFour = 1000,
    warmup: Warmup = 1000,
    seeds: Seeds = 3,
    only: Only = None,
    cold: Annotated[bool, typer.Option(help="Run each sampler of each problem in a fresh process.")] = True,
    json: Json = None,
) -> None:
    """The models of NumPyro's examples: our sampler with everything automatic compared with NumPyro's NUTS."""
    from benchmarks.examples.run import run

    run(draws, warmup, range(seeds), only or (), is_cold=cold, json_file=json)


@app.command(hidden=True)
def examples_one(
    problem: Problem,
    sampler: SamplerName,
    json: Annotated[Path, typer.Option(help="File to write the runs to.")],
    draws: DrawsOfFour = 1000,
    warmup: Warmup = 1000,
    seed: SeedsByName = None,
) -> None:
    """One sampler on one problem of `examples`, for which that command starts a fresh process."""
    from benchmarks.examples.fresh_process import write_runs

    write_runs(problem, sampler, draws, warmup, seed or [0], json)


@app.command()
def peers(
    draws: DrawsOfFour = 1000,
    warmup: Warmup = 1000,
    seeds: Seeds = 3,
    only: Only = None,
    samplers: Annotated[list[str] | None, typer.Option(help="Names of samplers; by default all.")] = None,
    out: Annotated[Path, typer.Option(help="Folder to write peers.md and peers.html to.")] = Path("peers"),
    timeout: Annotated[float, typer.Option(help="Seconds for all runs of a sampler on a problem.", min=1)] = 600.0,
) -> None:
    """Our sampler with everything automatic beside BlackJAX, NumPyro, PyMC, nutpie, WALNUTS, mici and MCLMC."""
    from benchmarks.peers.run import run

    run(draws, warmup, range(seeds), only or (), samplers or (), out, timeout)


@app.command(hidden=True)
def peers_one(
    problem: Problem,
    sampler: SamplerName,
    json: Annotated[Path, typer.Option(help="File to write the runs to.")],
    draws: DrawsOfFour = 1000,
    warmup: Warmup = 1000,
    seed: SeedsByName = None,
) -> None:
    """One sampler on one problem of `peers`, for which that command starts a fresh process."""
    from benchmarks.peers.measure import write_runs

    write_runs(problem, sampler, draws, warmup, seed or [0], json)


@app.command()
def cold(
    draws: DrawsOfFour = 1000, warmup: Warmup = 1000, rounds: Rounds = 1, only: Only = None, json: Json = None
) -> None:
    """Seconds of a first call in a fresh process, ours and NumPyro's NUTS in turns, and where the time goes."""
    from benchmarks.cold.run import run

    run(draws, warmup, rounds, only or (), json)


@app.command(hidden=True)
def cold_one(
    problem: Problem,
    sampler: SamplerName,
    json: Annotated[Path, typer.Option(help="File to write the times to.")],
    draws: DrawsOfFour = 1000,
    warmup: Warmup = 1000,
) -> None:
    """One sampler on one problem of `cold`, for which that command starts a fresh process."""
    from benchmarks.cold.calls import write_run

    write_run(problem, sampler, draws, warmup, json)


@app.command()
def imports(rounds: Rounds = 11) -> None:
    """Time of `import mongepatch` in a fresh process, in times of `import jax`."""
    from benchmarks.imports import run

    run(rounds)


@app.command()
def gradients(rounds: Rounds = 11, only: Only = None) -> None:
    """Time of a gradient in whitened coordinates, in gradients of the centred model."""
    from benchmarks.gradients import run

    run(rounds=rounds, only=only or ())


@app.command()
def pymc(draws: DrawsOfFour = 1000, seeds: Seeds = 3) -> None:
    """A centred PyMC model: our sampler compared with pm.sample and nutpie."""
    from benchmarks.pymc.run import run

    run(draws, range(seeds))


@app.command()
def posteriordb(
    folder: Annotated[Path, typer.Argument(help="A folder of posteriordb's data and reference draws.")],
    draws: DrawsOfFour = 2000,
    seed: Annotated[int, typer.Option(help="Seed of all runs.", min=0)] = 0,
    only: Annotated[list[str] | None, typer.Option(help="Names of posteriors; by default all.")] = None,
) -> None:
    """Posteriors of posteriordb in every front end that has them, compared with the reference draws."""
    from benchmarks.posteriordb.run import run

    run(folder, draws, seed, only or ())


@app.command()
def stan(rounds: Rounds = 7) -> None:
    """Cost of a gradient and of a Hessian-vector product by Stan and by JAX."""
    from benchmarks.stan import run

    run(rounds=rounds)


if __name__ == "__main__":
    sys.exit(exit_code("benchmarks", partial(app, prog_name="python -m benchmarks")))
