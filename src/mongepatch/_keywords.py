"""Keywords that a function does not know: the answer names the one that was probably meant.

Users come from PyMC, NumPyro, Stan and BlackJAX, and bring their words. The answer is an error and not an alias: one
thing has one name here.
"""

import difflib
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar

from mongepatch.errors import ArgumentError

F = TypeVar("F", bound=Callable[..., Any])

_WORDS = {
    "draws": "num_samples num_draws n_samples n_draws samples ndraws num_results iter_sampling iter num_iterations",
    "warmup": "num_warmup n_warmup tune tuning_steps burn_in burnin num_burnin iter_warmup warmup_steps num_adapt",
    "chains": "num_chains n_chains nchains parallel_chains",
    "seed": "random_seed rng_key key rng rng_seed prng_key random_state",
    "target_acceptance": "target_accept target_accept_prob target_accept_rate target_acceptance_rate adapt_delta delta",
    "progress": "progressbar progress_bar show_progress show_progress_bar",
    "init": "initvals init_params inits initial_position initial_params initial_points start init_strategy x0",
    "target": "logdensity_fn logdensity log_prob logprob logp",
    "keep": "var_names variables",
    "thin": "thinning thinning_rate",
    "save_warmup": "collect_warmup keep_warmup store_warmup",
    "max_depth": "max_tree_depth max_treedepth max_num_doublings tree_depth",
    "num_steps": "num_integration_steps n_steps num_leapfrog_steps n_leapfrog steps length L path_length",
    "inverse_mass": "inverse_mass_matrix inv_metric mass_matrix scaling cov",
    "step_size": "stepsize epsilon eps",
}
"""What others call our arguments."""
_OURS = {word: name for name, words in _WORDS.items() for word in words.split()}

_HINTS = {
    "max_depth": "trajectory=mp.NUTS(max_depth=…) sets it",
    "num_steps": "trajectory=mp.Static(num_steps) sets it",
    "jitter": "trajectory=mp.Static(num_steps, jitter) sets it",
    "inverse_mass": "metric=mp.Euclidean(inverse_mass) sets it",
    "alpha": "metric=mp.Monge(alpha) sets it",
    "dense_mass": 'metric=mp.Euclidean("dense") asks for a dense mass matrix; "auto" finds out whether one pays',
    "regularize_mass_matrix": "warm-up does so by itself",
    "adapt_step_size": "warm-up finds the step size unless step_size is given",
    "adapt_mass_matrix": "warm-up finds the mass matrix unless a metric with one is given",
    "nuts": 'trajectory=mp.NUTS(...) or trajectory="nuts" sets it',
    "step": 'trajectory="nuts" or "static" and metric= choose the sampler',
    "sampler": 'trajectory="nuts" or "static" and metric= choose the sampler',
    "algorithm": 'trajectory="nuts" or "static" and metric= choose the sampler',
    "nuts_sampler": "mongepatch is the sampler",
    "nuts_sampler_kwargs": "give these settings by name",
    "cores": "all chains run side by side in one program",
    "chain_method": "all chains run side by side in one program",
    "discard_tuned_samples": "save_warmup=True keeps the draws of warm-up",
    "model": "mp.from_numpyro(model, *data) or mp.from_pymc(model) makes a target of a model",
    "potential_fn": "give the log density, minus a potential",
    "data": "a log density closes over its data; mp.from_numpyro(model, data) and mp.from_stan(code, data) take it",
    "compute_convergence_checks": "R̂ and effective sizes are always looked at: filter mp.SamplingWarning",
    "return_inferencedata": "the result is an xarray.DataTree that ArviZ reads",
    "idata_kwargs": "the result is an xarray.DataTree; dims= and coords= name its axes",
    "initial_point": "init gives one starting point, around which chains are dispersed",
    "jitter_max_retries": "starting points are tried again by themselves",
}
"""What has no argument of the same meaning, and how it is asked for."""


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def checked_keywords(function: F) -> F:
    """A function, or a class, that answers a keyword it does not know with the nearest that it does.

    What it cannot do without is asked for. Where it takes any keyword (`**settings`), these are its own to check.
    """
    if inspect.isclass(function):
        initialize: Any = function.__init__
        function.__init__ = _checked(initialize, function.__name__, skip=1)  # type: ignore[method-assign]
        return function
    return _checked(function, function.__name__)


def _checked(function: Any, name: str, skip: int = 0) -> Any:
    parameters = list(inspect.signature(function).parameters.values())[skip:]
    known = [parameter.name for parameter in parameters]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    needed = [
        parameter for parameter in parameters if parameter.default is parameter.empty and parameter.kind in _BY_NAME
    ]
    by_place = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]

    @wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        if not takes_any:
            check_keywords(name, named, known)
        if len(arguments) - skip > len(by_place):
            raise ArgumentError(
                f"{name} takes {len(by_place)} arguments by place ({', '.join(by_place)}), and was given "
                f"{len(arguments) - skip}: give all others by name."
            )
        given = {*by_place[: len(arguments) - skip], *named}
        missing = [parameter.name for parameter in needed if parameter.name not in given]
        if missing:
            check_keywords(name, [word for word in named if difflib.get_close_matches(word, missing, 1)], known)
            raise ArgumentError(f"{name} needs {' and '.join(missing)}: write {_call(name, needed)}.")
        return function(*arguments, **named)

    return checked


def _call(name: str, needed: Iterable[inspect.Parameter]) -> str:
    """A call with all that it needs."""
    words = [f"{each.name}=…" if each.kind is each.KEYWORD_ONLY else each.name for each in needed]
    return f"{name}({', '.join(words)})"


def check_keywords(name: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise `ArgumentError` for the first keyword that is not known."""
    for word in given:
        if word not in known:
            raise ArgumentError(f"{name} has no argument {word!r}{_answer(word, known)}")


def did_you_mean(word: Any, known: Collection[str], others: Mapping[str, str] | None = None) -> str:
    """A question to put behind the answer to a word that is not known; empty where none is near.

    Args:
        word: the word.
        known: the words that are known.
        others: answers to words that mean something else.
    """
    if isinstance(word, str) and word.lower() not in known and others and word.lower() in others:
        return f" {others[word.lower()]}"
    near = difflib.get_close_matches(word.lower(), known, n=1, cutoff=0.6) if isinstance(word, str) else []
    return f" Did you mean {near[0]!r}?" if near else ""


def _answer(word: str, known: Collection[str]) -> str:
    """What to write instead."""
    ours = _OURS.get(word, word)
    if ours in known:
        return f": it is called {ours!r} here."
    hint = _HINTS.get(word) or _HINTS.get(ours)
    if hint is not None:
        return f": {hint}."
    others = {alias: name for alias, name in _OURS.items() if name in known}
    near = difflib.get_close_matches(word.lower(), [*known, *others], n=1, cutoff=0.7)
    if near:
        return f": did you mean {others.get(near[0], near[0])!r}?"
    return f". Its arguments are {', '.join(known)}."
