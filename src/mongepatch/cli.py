"""`mongepatch sample`, `resume`, `extend`, `merge`, `summary`, `demo` and `reproduce`."""

import os
from pathlib import Path
from typing import Annotated, Any

import jax
import typer
from typer.core import TyperCommand

from mongepatch._cache import COMPILATION_CACHE, use_compilation_cache
from mongepatch._commands import at_command_line
from mongepatch._version import __version__

app = typer.Typer(help="Exact Lagrangian Monte Carlo on Monge patches.", no_args_is_help=True, add_completion=False)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mongepatch {__version__}")
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Every command computes in double precision, and keeps compiled programs for the next one."""
    context.with_resource(at_command_line())
    os.environ[COMPILATION_CACHE] = os.environ.get(COMPILATION_CACHE) or "1"  # for processes that it starts too
    use_compilation_cache()
    jax.config.update("jax_enable_x64", True)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="File to write the picture to.")] = Path("demo.png"),
    draws: Annotated[int, typer.Option(help="Draws of each of the four chains.", min=100)] = 1000,
) -> None:
    """Sample a hierarchical model and the paper's funnel, beside NUTS and the truth, and plot both."""
    from mongepatch.demo import run_demo

    run_demo(out, draws)


StorePath = Annotated[str, typer.Argument(help="The store: a folder or a URL.")]
Model = Annotated[
    str | None, typer.Argument(help="FILE.py:NAME; by default what `sample` was called with on this machine.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON on standard output.")]
Progress = Annotated[bool, typer.Option(help="Show a progress bar.")]


@app.command()
def sample(
    model: Annotated[str, typer.Argument(help="FILE.py:NAME of a target, or of a log density beside `init`.")],
    store: Annotated[str, typer.Option(help="Where to write draws: a folder or a URL.")],
    draws: Annotated[int, typer.Option(help="Draws of each chain.", min=1)] = 1000,
    warmup: Annotated[int, typer.Option(help="Draws of warm-up of each chain.", min=0)] = 1000,
    chains: Annotated[int, typer.Option(help="Number of chains.", min=1)] = 4,
    chain_offset: Annotated[int, typer.Option(help="Number of the first chain, for `merge`.", min=0)] = 0,
    tuning: Annotated[str | None, typer.Option(help="A store whose tuning is used in the place of warm-up.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    thin: Annotated[int, typer.Option(help="Keep every so many draws.", min=1)] = 1,
    until: Annotated[str | None, typer.Option(help="Stop early, such as ess=400,rhat=1.01,max_time=3600.")] = None,
    progress: Progress = True,
    as_json: Json = False,
) -> None:
    """Sample a model of a file into a store. Exit code 3: interrupted, `resume` goes on; 4: `until` was not reached."""
    from mongepatch.run_commands import sample_into

    settings = {
        **{"draws": draws, "warmup": warmup, "chains": chains, "chain_offset": chain_offset, "tuning": tuning},
        **{"seed": seed, "thin": thin, "progress": progress},
    }
    raise typer.Exit(sample_into(model, store, until, settings, as_json=as_json))


@app.command()
def resume(
    store: StorePath,
    model: Model = None,
    draws: Annotated[
        int | None, typer.Option(help="End the run at so many draws of each chain, fewer than were asked for.", min=1)
    ] = None,
    progress: Progress = True,
    as_json: Json = False,
) -> None:
    """End a run that was interrupted or killed. Exit codes are those of `sample`."""
    from mongepatch.run_commands import resume_from

    raise typer.Exit(resume_from(store, model, draws, progress=progress, as_json=as_json))


@app.command()
def extend(
    store: StorePath,
    draws: Annotated[int, typer.Option(help="Draws of each chain to add.", min=1)],
    model: Model = None,
    progress: Progress = True,
    as_json: Json = False,
) -> None:
    """Add draws to a run that has ended. Exit codes are those of `sample`."""
    from mongepatch.run_commands import extend_by

    raise typer.Exit(extend_by(store, model, draws, progress=progress, as_json=as_json))


@app.command()
def merge(
    stores: Annotated[list[str], typer.Argument(help="Stores of the same run, each with other chains.")],
    out: Annotated[str, typer.Option("--out", "-o", help="The store to write: a folder or a URL.")],
    as_json: Json = False,
) -> None:
    """Put stores together that were sampled with the same --tuning and --seed, each with its own --chain-offset."""
    from mongepatch.run_commands import merge_into

    raise typer.Exit(merge_into(stores, out, as_json=as_json))


@app.command()
def summary(
    store: StorePath,
    only: Annotated[list[str] | None, typer.Option("--vars", help="A variable to show, repeatable; else all.")] = None,
    html: Annotated[Path | None, typer.Option(help="File to write a page with plots to.")] = None,
    as_json: Json = False,
) -> None:
    """Means, intervals, effective sizes and R̂ of a store whose checksums agree, and what is wrong with its run."""
    from mongepatch.run_commands import summarize

    summarize(store, only or [], html, as_json=as_json)


class _ListsItems(TyperCommand):
    """Lists the names of the paper's items in its help. They are imported only then: other commands start faster."""

    def format_help(self, *arguments: Any) -> None:
        from mongepatch.paper import ITEMS

        items: Any = next(parameter for parameter in self.params if parameter.name == "items")
        items.help = f"{', '.join(ITEMS)}; by default all."
        super().format_help(*arguments)


@app.command(cls=_ListsItems)
def reproduce(
    items: Annotated[list[str] | None, typer.Argument()] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The paper's numbers of draws (hours), or fewer draws (minutes).")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(help="Number of processes; by default the number of cores.", min=1)
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write the report to.")] = Path("reproduction"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Ignore stored results and compute everything again.")] = False,
) -> None:
    """Run the paper's experiments, and write a report that compares our results with the paper's."""
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
