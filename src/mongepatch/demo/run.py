"""The demo: samples, prints a table beside the truth, and draws the picture."""

import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mongepatch._extras import require
from mongepatch.errors import SettingError
from mongepatch.paper.console import print_table

if TYPE_CHECKING:
    from mongepatch.demo.models import DemoModel
    from mongepatch.demo.samplers import Run

LOW = 0.005
"""The probability of the lower tail that the table looks at."""


def run_demo(out: Path = Path("demo.png"), draws: int = 1000) -> None:
    """Sample both models by NUTS and by us, print the results with the truth, and write the picture."""
    require("matplotlib", "plot", "The picture")
    require("numpyro", "numpyro", "The demo")
    if not out.absolute().parent.is_dir():
        raise SettingError(f"The picture cannot be written to {out}: there is no such folder. Create it first.")
    from mongepatch.demo.models import papers_funnel, uneven_groups
    from mongepatch.demo.picture import draw
    from mongepatch.demo.samplers import nuts_run, our_run, prepare_process

    started = time.perf_counter()
    # Two processes, with one run of each sampler in each: most of the time is compilation, which uses one core.
    with ProcessPoolExecutor(1, get_context("spawn"), prepare_process) as pool:
        nuts_on_groups = pool.submit(nuts_run, uneven_groups, draws)
        ours_on_funnel = pool.submit(our_run, papers_funnel, draws)
        ours_on_groups = our_run(uneven_groups, draws, progress=True)
        nuts_on_funnel = nuts_run(papers_funnel, draws)
        pairs = [
            (uneven_groups(), (ours_on_groups, nuts_on_groups.result())),
            (papers_funnel(), (ours_on_funnel.result(), nuts_on_funnel)),
        ]
    for model, runs in pairs:
        print_runs(model, runs)
    draw(pairs, out)
    print("Seconds include compilation, with two runs side by side. ESS and R̂ are those of the quantity shown.")
    print(f"The picture is in {out}, after {time.perf_counter() - started:.0f} seconds.")


def print_runs(model: "DemoModel", runs: Sequence["Run"]) -> None:
    """The table of a model: its scale by each sampler, beside the truth."""
    truth = model.truth
    bound = truth.quantile(LOW)
    rows = [("truth", f"{truth.mean:.2f}", f"{truth.sd:.2f}", f"{bound:.2f}", f"{LOW:.2%}", "", "", "", "", "")]
    for run in runs:
        scale = run.scale
        rows.append(
            (
                run.sampler,
                f"{scale.mean():.2f}",
                f"{scale.std():.2f}",
                f"{np.quantile(scale, LOW):.2f}",
                f"{np.mean(scale < bound):.2%}",
                f"{scale.size:,}",
                f"{run.ess:,.0f}",
                f"{run.r_hat:.3f}",
                f"{run.diverging:.1%}",
                f"{run.seconds:.1f}",
            )
        )
    low = f"{LOW:.1%} quantile"
    tail = f"P(< {bound:.2f})"
    print_table(
        f"{model.title}: {model.scale}",
        ("", "mean", "sd", low, tail, "draws", "ESS", "R̂", "diverged", "seconds"),
        rows,
    )
