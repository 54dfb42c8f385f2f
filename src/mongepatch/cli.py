"""`mongepatch demo`, `mongepatch reproduce` and `mongepatch bench …`."""

from pathlib import Path
from typing import Annotated

import jax
import typer

from mongepatch._version import __version__
from mongepatch.paper import ITEMS

app = typer.Typer(help="Exact Lagrangian Monte Carlo on Monge patches.", no_args_is_help=True, add_completion=False)
bench = typer.Typer(help="Measure, in one run, what the documentation quotes.", no_args_is_help=True)
app.add_typer(bench, name="bench")

Rounds = Annotated[int, typer.Option(help="How often each thing is timed.", min=1)]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mongepatch {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which.")] = False,
) -> None:
    """Every command computes in double precision."""
    jax.config.update("jax_enable_x64", True)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("demo.png"),
    draws: Annotated[int, typer.Option(help="Draws of each of the four chains.", min=100)] = 60_000,
) -> None:
    """Sample the paper's funnel by LMC in the Monge metric and by plain HMC, and draw both."""
    from mongepatch.demo import run_demo

    run_demo(out, draws)


@app.command()
def reproduce(
    items: Annotated[list[str] | None, typer.Argument(help=f"{', '.join(ITEMS)}; by default all.")] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The paper's own numbers of draws, which take hours; or minutes.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(help="Processes at a time; by default one a core.", min=1)] = None,
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("reproduction"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Do again what was done before.")] = False,
) -> None:
    """Run the paper's experiments again, and write a report that sets ours beside theirs."""
    from mongepatch.paper import reproduce as run
    from mongepatch.paper.work import processors

    parts = run(items or ("all",), out, size="full" if full else "quick", jobs=jobs or processors(), fresh=fresh)
    for part in parts:
        for reasons in (part.done.left_out, part.done.failed):
            for label, reason in reasons.items():
                typer.echo(f"{part.item.name}, {label}: {reason}", err=True)
    typer.echo(f"The report is in {out / 'report.html'}.")
    if any(part.done.failed for part in parts):
        raise typer.Exit(1)


@bench.command()
def step(rounds: Rounds = 11) -> None:
    """Cost of an LMC step in leapfrog steps of the same density."""
    from mongepatch.bench import step as module

    module.run(rounds=rounds)


@bench.command()
def scaling(rounds: Rounds = 15) -> None:
    """Growth of time and memory with the dimension, from 10² to 10⁶."""
    from mongepatch.bench import scaling as module

    module.run(rounds=rounds)


@bench.command()
def funnel(
    dimension: Annotated[int, typer.Option(help="D of the paper: 1, 3, 5, 10, 30, 40 or 50.")] = 1,
    draws: Annotated[
        int | None, typer.Option(help="Draws of each chain; by default the paper's 60,000.", min=1)
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many seeds to run.", min=1)] = 10,
) -> None:
    """The paper's funnel at the paper's settings, LMC-Monge beside HMC."""
    from mongepatch.bench import funnel as module

    module.compare(dimension, draws, seeds)


@bench.command()
def schemes(
    draws: Annotated[int, typer.Option(help="Draws of each of eight chains.", min=100)] = 5000,
) -> None:
    """Effective draws for their gradients: merged against the paper's scheme."""
    from mongepatch.bench import schemes as module

    module.run(draws=draws)


@bench.command()
def kernels(
    draws: Annotated[int, typer.Option(help="Draws of each of four chains.", min=100)] = 1000,
    seed: Annotated[int, typer.Option(help="Of everything.")] = 0,
    only: Annotated[list[str] | None, typer.Option(help="Names of problems; by default all.")] = None,
) -> None:
    """Every kernel on the paper's regressions and funnels: what a draw costs and what it is worth."""
    from mongepatch.bench import kernels as module

    module.run(draws=draws, seed=seed, only=only or ())


@bench.command()
def implicit(
    draws: Annotated[int, typer.Option(help="Draws of each of eight chains.", min=100)] = 5000,
) -> None:
    """What the checks of implicit steps are for."""
    from mongepatch.bench import implicit as module

    module.run(draws=draws)


@bench.command()
def uturn(
    draws: Annotated[int, typer.Option(help="Draws of each of eight chains.", min=100)] = 2000,
) -> None:
    """Effective draws for their gradients: the rules by which NUTS tells that it has turned around."""
    from mongepatch.bench import uturn as module

    module.run(draws=draws)


@bench.command()
def warmup(
    draws: Annotated[int, typer.Option(help="Draws of each of four chains on regular posteriors.", min=100)] = 1000,
    funnel_draws: Annotated[int, typer.Option(help="The same on funnels.", min=100)] = 15_000,
    seeds: Annotated[int, typer.Option(help="How many seeds to run.", min=1)] = 5,
    posteriordb: Annotated[
        Path | None, typer.Option(help="A folder of posteriordb's data and reference draws, if you have one.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="heart, german, australian, normal, funnels or a name of posteriordb; by default all."),
    ] = None,
) -> None:
    """What automatic warm-up finds and is worth, beside BlackJAX's NUTS."""
    from mongepatch.bench.warmup import run

    run(draws=draws, funnel_draws=funnel_draws, seeds=range(seeds), posteriordb=posteriordb, only=only or ())


@bench.command()
def alpha(
    seeds: Annotated[int, typer.Option(help="How many seeds to run.", min=1)] = 5,
) -> None:
    """Two ways to find α: a tournament of effective draws, and the curvature where it is largest."""
    from mongepatch.bench import alpha as module

    module.run(seeds=range(seeds))


@bench.command()
def lengths(
    draws: Annotated[int, typer.Option(help="Draws of each of four chains.", min=100)] = 1000,
    seeds: Annotated[int, typer.Option(help="How many seeds to run.", min=1)] = 5,
    only: Annotated[list[str] | None, typer.Option(help="Names of problems of `bench patches`.")] = None,
) -> None:
    """How long the trajectories of a patch should be."""
    from mongepatch.bench import lengths as module

    module.run(draws, range(seeds), only or module.PROBLEMS)


@bench.command()
def progress(
    rounds: Rounds = 7, draws: Annotated[int, typer.Option(help="Draws of each of four chains.", min=1)] = 20_000
) -> None:
    """What the progress bar adds to the time of a run."""
    from mongepatch.bench import progress as module

    module.run(draws=draws, rounds=rounds)


@bench.command()
def patch_step(rounds: Rounds = 11) -> None:
    """Time of an LMC step on residual patches of hierarchies."""
    from mongepatch.bench import patch_step as module

    module.run(rounds=rounds)


@bench.command()
def patches(
    draws: Annotated[int, typer.Option(help="Draws of each of four chains.", min=100)] = 1000,
    seeds: Annotated[int, typer.Option(help="How many seeds to run.", min=1)] = 3,
    only: Annotated[list[str] | None, typer.Option(help="Names of problems; by default all.")] = None,
    metric: Annotated[list[str] | None, typer.Option(help="Metrics of ours; by default auto and patch.")] = None,
    peers: Annotated[bool, typer.Option(help="Whether to run other samplers, and NUTS on forms made by hand.")] = True,
    posteriordb: Annotated[Path | None, typer.Option(help="A folder of posteriordb's data, if you have one.")] = None,
    json: Annotated[Path | None, typer.Option(help="Where to write every figure.")] = None,
) -> None:
    """Hierarchical models as one writes them first: ours beside other samplers and forms made by hand."""
    from mongepatch.bench.patches import run

    settings = {"metrics": metric} if metric else {}
    run(draws, range(seeds), posteriordb, only or (), with_peers=peers, json_file=json, **settings)


@bench.command()
def pymc(
    draws: Annotated[int, typer.Option(help="Draws of each of four chains.", min=100)] = 1000,
    seeds: Annotated[int, typer.Option(help="How many seeds to run.", min=1)] = 3,
) -> None:
    """A centred PyMC model: ours beside pm.sample and nutpie."""
    from mongepatch.bench import pymc as module

    module.run(draws, range(seeds))


@bench.command()
def posteriordb(
    folder: Annotated[Path, typer.Argument(help="A folder of posteriordb's data and reference draws.")],
    draws: Annotated[int, typer.Option(help="Draws of each of four chains.", min=100)] = 2000,
    seed: Annotated[int, typer.Option(help="The seed.", min=0)] = 0,
    only: Annotated[list[str] | None, typer.Option(help="Names of posteriors; by default all.")] = None,
) -> None:
    """Posteriors of posteriordb through every front end that has them, beside the reference draws."""
    from mongepatch.bench.posteriordb import run

    run(folder, draws, seed, only or ())


@bench.command()
def stan(rounds: Rounds = 7) -> None:
    """What it costs that a density is Stan's and not JAX's."""
    from mongepatch.bench import stan as module

    module.run(rounds=rounds)
