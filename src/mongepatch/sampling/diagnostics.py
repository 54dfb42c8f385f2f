"""Diagnostics of a run: what a reader of the draws must know before using them."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from mongepatch._extras import require
from mongepatch.chains.effective_size import MAX_CHAINS, evenly_spaced_chains, smallest_ess
from mongepatch.kernels import Failure
from mongepatch.sampling.advice import Situation, for_geometry, for_mixing, for_step_size, for_still_chains, scales_of
from mongepatch.sampling.form import form_of
from mongepatch.sampling.nested_r_hat import nested_r_hat
from mongepatch.warmup.curvature import MAX_UNSTABLE_FRACTION
from mongepatch.warmup.efficiency import MIN_BFMI, smallest_bfmi

if TYPE_CHECKING:
    from xarray import DataArray, Dataset, DataTree

MAX_R_HAT = 1.01
"""R̂ above which estimates are said to be rough, as other libraries do."""
MAX_NESTED_R_HAT = 1.05
"""The same of nested R̂, which is larger by chance: its superchains may have few draws each."""
CLEAR_R_HAT = 1.05
"""R̂ above which more draws alone may not help."""
FAR_AWAY = 1e8
"""Size of draws from which, where chains do not agree, the density is said to be improper perhaps."""
MIN_DRAWS = 100
"""Draws of a chain below which R̂ says nothing."""
MAX_UNSOLVED_FRACTION = 0.01
"""Fraction of trajectories with an implicit step that failed, above which a run must not be trusted."""
MAX_DEEP_FRACTION = 0.01
"""Fraction of trajectories that may end at the maximum depth."""
MIN_ESS = 100
"""Effective draws, over all chains, of every parameter's bulk and tails below which estimates are said to be rough."""
STILL = 0.01
"""A chain's spread, as a fraction of that of all chains, below which it hardly moves if it wanders, too."""
WANDERS = 10.0
"""In units of one over the number of draws: mean square of the change from draw to draw, over that of independent
draws, below which a chain wanders. It is 3 for a random walk, else about twice the number of effective draws."""
MAX_OUTSIDE_FRACTION = 0.01
"""Fraction of trajectories that may leave the support of a density before that is the first thing to mend."""
MAX_ROUNDING = 0.01
"""Rounding of the energy above which acceptance is said to be affected."""


def diagnose(tree: "DataTree", situation: Situation | None = None) -> str:
    """One paragraph on everything that is wrong with a run; empty where all is well.

    Split R̂, effective sizes and BFMI are those of at most 64 evenly spaced chains, and nested R̂ is that of all chains:
    nothing takes longer than in proportion to draws × chains × variables.

    Args:
        tree: the result.
        situation: what there is to know of the run besides its draws.
    """
    return " ".join(_sentences(tree, Situation() if situation is None else situation))


def unchecked(tree: "DataTree", draws: int | None = None) -> str:
    """A sentence on a run that is too short for `diagnose` to see whether chains agree; empty for a longer one.

    Of many chains nested R̂ is looked at, however short they are.

    Args:
        tree: the result.
        draws: of each chain, where the result has only the last of them.
    """
    stats = tree["sample_stats"].to_dataset()
    draws = stats.sizes["draw"] if draws is None else draws
    if draws >= MIN_DRAWS or stats.sizes["chain"] > MAX_CHAINS:
        return ""
    return (
        f"convergence is not checked: R̂, effective sizes and BFMI need {MIN_DRAWS} draws of each chain, and there are "
        f"{draws}"
    )


def smallest_ess_of_run(tree: "DataTree") -> float:
    """The smallest effective sample size over all parameters of a result: of bulk, of tails and of squares.

    Entries that are the same in every draw, as of triangular matrices, are left out. Of more than 64 chains, 64 evenly
    spaced ones stand for all.
    """
    posterior = tree["posterior"].to_dataset()
    some = _some_chains(posterior)
    draws = np.concatenate([_columns(values) for values in some.values()], axis=-1)
    return smallest_ess(draws[..., np.ptp(draws, axis=(0, 1)) > 0]) * _chain_ratio(posterior)


def _columns(values: "DataArray") -> np.ndarray:
    """Draws of a variable as an array [chain, draw, entry]."""
    array = np.asarray(values.transpose("chain", "draw", ...), float)
    return array.reshape(*array.shape[:2], -1)


def _sentences(tree: "DataTree", situation: Situation) -> Iterator[str]:
    counts = _counts(tree)
    still, bounded = _still_chains(tree), _leaves_support(tree, situation, counts)
    all_still = still.size > 0 and bool(still.all())
    if still.any():
        yield _hardly_move(tree, still, situation)
    yield from _failures(tree, situation, counts, bounded=bounded, too_long=not all_still)
    unstable = list(_unstable(float(tree["posterior"].attrs.get("unstable_fraction", 0.0))))
    slow = [] if bounded or all_still else list(_heavy_energy(tree))
    yield from unstable
    yield from slow
    if (unstable or slow or counts[Failure.ENERGY]) and not bounded and not all_still:
        yield for_geometry(situation, form_of(tree["posterior"].to_dataset(), situation.parameters))
    yield from _deep(tree, situation)
    disagreement = [] if all_still else list(_disagreement(tree, situation, advise=not bounded and not still.any()))
    yield from disagreement or ([] if all_still else _few_effective(tree))
    if disagreement or all_still or not tree["sample_stats"]["accepted"].any():
        yield from _far_away(tree)
    energy = np.asarray(tree["sample_stats"]["energy"])
    rounding = float(np.finfo(energy.dtype).eps) * float(max(energy.max(), -energy.min()))
    if rounding > MAX_ROUNDING:
        yield (
            f"Rounding errors of the energy are about {rounding:.2g}, enough to affect acceptance: switch double "
            'precision on, jax.config.update("jax_enable_x64", True), before making any array.'
        )


def _failures(
    tree: "DataTree", situation: Situation, counts: Mapping[Failure, int], *, bounded: bool, too_long: bool
) -> Iterator[str]:
    """What went wrong with trajectories, the commonest first; of steps that are too long, only where they can be."""
    total = tree["sample_stats"]["failure"].size
    undefined, diverged = counts[Failure.NOT_FINITE], counts[Failure.ENERGY]
    if not tree["sample_stats"]["accepted"].any():
        yield "Nothing was accepted: the draws are the starting points. Try a step_size that is ten times smaller."
        diverged = undefined = 0
    yield from _unsolved(counts[Failure.NON_CONVERGENT], counts[Failure.NON_REVERSIBLE], total)
    outside = undefined > diverged
    if outside:
        yield (
            f"{undefined:,} of {total:,} trajectories met a density that is NaN or infinite: they left its "
            "support, or it overflows. Transform parameters that must be positive or bounded to the whole real line"
            f"{_one_sided(tree)}."
            + (" Where s must be positive, sample t = log(s), and add t to the log density, log ds/dt." * bounded)
        )
    if diverged and bounded:
        yield f"{diverged:,} more diverged, as trajectories near a bound do."
    elif diverged and too_long:
        both = diverged if outside else diverged + undefined
        yield (
            f"{both:,} of {total:,} trajectories diverged: the step size is too long for the "
            f"sharpest parts of the density, which the draws may miss. {for_step_size(situation)}"
            + (f" {undefined:,} of them met a density that is NaN or infinite." if undefined and not outside else "")
        )


def _counts(tree: "DataTree") -> dict[Failure, int]:
    """How many trajectories failed, by reason."""
    failures = np.asarray(tree["sample_stats"]["failure"])
    failed = failures[failures != int(Failure.NONE)]
    return {code: int((failed == code).sum()) for code in Failure}


def _leaves_support(tree: "DataTree", situation: Situation, counts: Mapping[Failure, int]) -> bool:
    """Whether a density that was given as a function most probably has a bound: nothing else is to be mended before.

    Models transform their variables by themselves.
    """
    outside, stats = counts[Failure.NOT_FINITE], tree["sample_stats"]
    often = outside > max(counts[Failure.ENERGY], MAX_OUTSIDE_FRACTION * stats["failure"].size)
    return situation.origin == "density" and often and bool(stats["accepted"].any())


def _unstable(fraction: float) -> Iterator[str]:
    if fraction > MAX_UNSTABLE_FRACTION:
        yield (
            f"At {fraction:.1%} of the last draws of warm-up the density was too steep for steps of this size in a "
            "constant metric: steeper regions, such as the neck of a funnel, may be missing, whatever R̂ says."
        )


def _one_sided(tree: "DataTree") -> str:
    """Which parameters have draws of one sign alone, and are probably meant to."""
    posterior = tree["posterior"].to_dataset()
    names = [repr(str(name)) for name, values in posterior.items() if values.dtype != bool and (values > 0).all()]
    return f", such as those whose draws are all positive: {', '.join(names)}" if names else ""


def _unsolved(non_convergent: int, non_reversible: int, total: int) -> Iterator[str]:
    """Implicit steps are exact where they can be solved and lead back; where they cannot, no draw will ever be."""
    unsolved = non_convergent + non_reversible
    if unsolved:
        trust = "The run must not be trusted: " if unsolved > MAX_UNSOLVED_FRACTION * total else ""
        yield (
            f"{trust}{unsolved:,} of {total:,} trajectories had an implicit step that could not be solved "
            f"({non_convergent:,}) or was not reversible ({non_reversible:,}). They were rejected, so draws are "
            "missing where that happens. Try a smaller step_size."
        )


def _deep(tree: "DataTree", situation: Situation) -> Iterator[str]:
    stats = tree["sample_stats"].to_dataset()
    fraction = float(stats["reached_max_treedepth"].mean()) if "reached_max_treedepth" in stats else 0.0
    if fraction > MAX_DEEP_FRACTION:
        longer = "a longer step_size, " if "step_size" in situation.given else ""
        longer += f"{scales_of(situation)}, or " if scales_of(situation) else ""
        yield (
            f"{fraction:.0%} of the trajectories reached max_depth before they turned around: draws are valid but more "
            f"autocorrelated than necessary. Try {longer}trajectory=mp.NUTS(max_depth=12)."
        )


def _still_chains(tree: "DataTree") -> np.ndarray:
    """Which chains hardly move, whatever the kernel: they wander all the time, and all their draws are in one place.

    Chains in modes that are far apart are in one place, too, but come back to where they were there. Nothing is said
    where nothing was accepted, and of chains that all start at the same place.
    """
    moving = _moving(_some_chains(tree["posterior"].to_dataset()))
    if moving.sizes.get("chain", 1) < 2 or not moving or not _enough(tree):
        return np.zeros(0, bool)
    still = np.ones(moving.sizes["chain"], bool)
    for values in moving.values():
        draws = _columns(values)
        with np.errstate(all="ignore"):  # draws that go away for ever, whose squares are infinite
            draws = draws[..., np.ptp(draws, axis=(0, 1)) > 0]
            draws = draws / np.abs(draws).max(axis=(0, 1), initial=0.0)
            draws = draws / draws.std(axis=(0, 1))
            own, change = draws.var(axis=1), np.square(np.diff(draws, axis=1)).mean(axis=1)
            wanders = change.sum(axis=1) <= WANDERS / draws.shape[1] * 2 * own.sum(axis=1)
            still &= wanders & (own <= STILL**2).all(axis=1)
    return still


def _hardly_move(tree: "DataTree", still: np.ndarray, situation: Situation) -> str:
    stats = tree["sample_stats"].to_dataset()
    steps = f", with steps of {float(stats['step_size'].mean()):.1e}" if "step_size" in stats else ""
    chains = f"{still.size} chains" + " that were looked at" * (still.size < stats.sizes["chain"])
    return (
        f"{still.sum()} of {chains} hardly move{steps}: the draws of each spread by less than {STILL:.0%} "
        "of what all chains spread by. They say where chains were when warm-up ended, and nothing of the density. "
        f"{for_still_chains(situation)}"
    )


def _disagreement(tree: "DataTree", situation: Situation, *, advise: bool) -> Iterator[str]:
    stats = tree["sample_stats"].to_dataset()
    moving = _moving(tree["posterior"].to_dataset()).assign({"log density": stats["lp"]})
    split, nested = _split_r_hats(tree, moving), _nested_r_hats(tree, moving)
    too_large = {words: value for words, value in split.items() if not value <= MAX_R_HAT}
    found = too_large | {words: value for words, value in nested.items() if not value <= MAX_NESTED_R_HAT}
    if not found:
        return
    worst = max(found, key=lambda words: found[words] if np.isfinite(found[words]) else np.inf)
    if found[worst] <= CLEAR_R_HAT:
        draws = 2 * stats.sizes["draw"]
        yield (
            f"The chains do not agree well enough: {worst} is {found[worst]:.3f}, above {MAX_R_HAT}, so that estimates "
            f"are rough. Try more draws, such as draws={draws}."
        )
        return
    levels = ", ".join(f"{level:.3g}" for level in np.asarray(stats["lp"].isel(chain=slice(8)).mean("draw")))
    yield (
        f"The chains do not agree: {worst} is {found[worst]:.2f}, and the chains' mean log densities are {levels}."
        + (f" {for_mixing(situation)}" if advise else "")
    )


def _far_away(tree: "DataTree") -> Iterator[str]:
    """A density whose integral is infinite lets chains go away for ever."""
    sizes = {
        str(name): float(np.abs(np.asarray(values, float)).max(initial=0.0))
        for name, values in tree["posterior"].to_dataset().items()
    }
    name = max(sizes, key=lambda name: sizes[name])
    if sizes[name] > FAR_AWAY:
        yield (
            f"Draws of {name!r} reach {sizes[name]:.0e}: the density may be improper, and then there is nothing to "
            "sample. Give every parameter a prior that has an integral."
        )


def _split_r_hats(tree: "DataTree", moving: "Dataset") -> dict[str, float]:
    """The largest split R̂ of each variable, of evenly spaced chains; none with one chain or few draws."""
    chains = moving.sizes["chain"]
    if chains < 2 or not _enough(tree):
        return {}
    rhat = require("arviz_stats", "sample", "mongepatch.sample").rhat
    with np.errstate(invalid="ignore"):  # entries that never change, as of triangular matrices, have none
        found = rhat(_some_chains(moving), method="split")
    over = f" over {MAX_CHAINS} of the {chains:,} chains" if chains > MAX_CHAINS else ""
    return {f"R̂ of {str(name)!r}{over}": float(values.max()) for name, values in found.items()}


def _nested_r_hats(tree: "DataTree", moving: "Dataset") -> dict[str, float]:
    """The largest nested R̂ of each variable, of all chains where there are many; none where nothing has moved."""
    if moving.sizes["chain"] <= MAX_CHAINS or moving.sizes["draw"] < 2 or not tree["sample_stats"]["accepted"].any():
        return {}
    found = {name: nested_r_hat(values.transpose("chain", "draw", ...).to_numpy()) for name, values in moving.items()}
    return {
        f"nested R̂ of {str(name)!r} over all chains": float(np.nanmax(values))
        for name, values in found.items()
        if not np.isnan(values).all()
    }


def _some_chains(dataset: "Dataset") -> "Dataset":
    """The dataset of at most 64 chains, evenly spaced."""
    chains = dataset.sizes["chain"]
    return dataset.isel(chain=evenly_spaced_chains(chains)) if chains > MAX_CHAINS else dataset


def _chain_ratio(dataset: "Dataset") -> float:
    """How many chains each of these stands for."""
    return max(1.0, dataset.sizes["chain"] / MAX_CHAINS)


def _moving(posterior: "Dataset") -> "Dataset":
    """Without what is the same in every draw, like constants of a model, which have no R̂; flags as numbers."""
    first = posterior.isel(chain=0, draw=0)
    moving = posterior[[name for name, values in posterior.items() if (values != first[name]).any()]]
    return moving.map(lambda values: values.astype(float) if values.dtype == bool else values)


def _enough(tree: "DataTree") -> bool:
    """Whether there are enough draws to estimate autocorrelation."""
    stats = tree["sample_stats"].to_dataset()
    return stats.sizes["draw"] >= MIN_DRAWS and bool(stats["accepted"].any())


def _few_effective(tree: "DataTree") -> Iterator[str]:
    if not _enough(tree):
        return
    ess = require("arviz_stats", "sample", "mongepatch.sample").ess
    posterior = tree["posterior"].to_dataset()
    some, ratio = _moving(_some_chains(posterior)), _chain_ratio(posterior)
    if not some:
        return
    sizes = {
        (str(name), part): ratio * float(values.min())
        for part, method in (("bulk", "bulk"), ("tails", "tail"))
        for name, values in ess(some, method=method).items()
    }
    name, part = min(sizes, key=lambda key: sizes[key] if np.isfinite(sizes[key]) else np.inf)
    if sizes[name, part] < MIN_ESS:
        yield (
            f"There are only {sizes[name, part]:.0f} effective draws of the {part} of {name!r}, the fewest of all: its "
            "estimates are rough. Try more draws."
        )


def _heavy_energy(tree: "DataTree") -> Iterator[str]:
    if not _enough(tree):
        return
    # The least of thousands of estimates would err by more than any of them.
    least = smallest_bfmi(np.asarray(_some_chains(tree["sample_stats"].to_dataset()[["energy"]])["energy"]))
    if least < MIN_BFMI:
        yield (
            f"The energy changes slowly from draw to draw (BFMI {least:.2f}, below {MIN_BFMI}): a narrow region or "
            "heavy tails may be missing, which more draws alone do not show."
        )
