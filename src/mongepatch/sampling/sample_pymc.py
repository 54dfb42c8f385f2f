"""Sampling from a PyMC model, with PyMC's names for arguments and its type of results."""

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np

from mongepatch._extras import require
from mongepatch._groups import group_of, with_groups
from mongepatch._keywords import check_keywords
from mongepatch.errors import ModelError, ParameterError, SettingError
from mongepatch.frontends import from_pymc
from mongepatch.sampling.sample import sample
from mongepatch.validation import whole_number

_NOT_HERE = {"target", "settings"}
"""Parameters of the two functions that are no keywords of `sample_pymc`."""


def sample_pymc(
    draws: int = 1000,
    *,
    tune: int | None = None,
    chains: int | None = None,
    cores: int | None = None,
    random_seed: Any = None,
    progressbar: bool | str | None = None,
    target_accept: float | None = None,
    initvals: Mapping[Any, Any] | Sequence[Mapping[Any, Any] | None] | None = None,
    var_names: Sequence[str] | None = None,
    discard_tuned_samples: bool | None = None,
    idata_kwargs: Mapping[str, Any] | None = None,
    model: Any = None,
    **settings: Any,
) -> Any:
    """Draw from a PyMC model, like `pymc.sample`.

    Example:
        >>> import pymc as pm
        >>> with pm.Model() as model:
        ...     mu = pm.Normal("mu", 0, 5)
        ...     y = pm.Normal("y", mu, 1, observed=[1.2, 0.4, 2.1])
        ...     idata = mp.sample_pymc(draws=500, tune=500, random_seed=1)
        >>> idata = mp.sample_pymc(model=model, tune=300, initvals={"mu": 1.0}, progressbar=False)

    Args:
        draws: number of draws per chain to keep.
        tune: PyMC's name for `warmup`.
        chains: number of chains; by default 4.
        cores: accepted and not used: all chains run in one process, on all cores.
        random_seed: an integer, several, or a NumPy generator. By default one is drawn, and the result has it.
        progressbar: PyMC's name for `progress`.
        target_accept: PyMC's name for `target_acceptance`.
        initvals: values of variables where chains start, of all or of some; or such a dict for each chain.
        var_names: names of the variables to keep, PyMC's name for `keep`.
        discard_tuned_samples: False keeps the draws of warm-up, as `save_warmup=True` does.
        idata_kwargs: `log_likelihood`, `dims` and `coords`, as in PyMC.
        model: a PyMC model; by default the one of the enclosing `with` block.
        settings: all other arguments of `mongepatch.sample`.

    Returns:
        What the installed PyMC itself returns: `arviz.InferenceData` with PyMC 5, `xarray.DataTree` with PyMC 6. The
        groups are those of `mongepatch.sample(mongepatch.from_pymc(model))`.

    Raises:
        ModelError: there is no model, or the model cannot be sampled.
        SettingError: an argument is given by both of its names, or `idata_kwargs` has unknown ones.
    """
    check_keywords(
        "sample_pymc", settings, {*signature(sample_pymc).parameters, *signature(sample).parameters} - _NOT_HERE
    )
    pymc = require("pymc", "pymc", "mongepatch.sample_pymc")
    target = from_pymc(_model_in_context(pymc) if model is None else model)
    chains = whole_number("chains", 4 if chains is None else chains)
    if cores is not None:
        whole_number("cores", cores)
    per_chain = initvals is not None and not isinstance(initvals, Mapping)
    likelihood, names = _options_of_idata(idata_kwargs)
    for name, pymc_name, value in (
        ("warmup", "tune", tune),
        ("seed", "random_seed", None if random_seed is None else _seed_of(random_seed)),
        ("progress", "progressbar", None if progressbar is None else bool(progressbar)),
        ("target_acceptance", "target_accept", target_accept),
        ("init", "initvals", None if initvals is None else _init_of(initvals, chains)),
        ("init_per_chain", "a list of initvals", True if per_chain else None),
        ("keep", "var_names", None if var_names is None else list(var_names)),
        ("save_warmup", "discard_tuned_samples", None if discard_tuned_samples is None else not discard_tuned_samples),
        ("log_likelihood", "idata_kwargs['log_likelihood']", bool(likelihood) or None),
        *((name, f"idata_kwargs[{name!r}]", value) for name, value in names.items()),
    ):
        if value is None:
            continue
        if name in settings:
            raise SettingError(f"{pymc_name} is PyMC's name for {name}: give one of them.")
        settings[name] = value
    settings.setdefault("seed", None)
    tree = sample(target, draws=draws, chains=chains, **settings)
    if isinstance(likelihood, Sequence):
        tree = with_groups(tree, {"log_likelihood": group_of(tree, "log_likelihood")[list(likelihood)]})
    from mongepatch.frontends.pymc.results import as_pymc_returns

    return as_pymc_returns(tree)


def _options_of_idata(idata_kwargs: Mapping[str, Any] | None) -> tuple[bool | Sequence[str], dict[str, Any]]:
    """Whether to compute the log likelihood, or of which variables; and names of dimensions."""
    options = dict(idata_kwargs or {})
    likelihood = options.pop("log_likelihood", False)
    unknown = [name for name in options if name not in ("dims", "coords")]
    if unknown:
        raise SettingError(f"idata_kwargs may have log_likelihood, dims and coords; it has {unknown}.")
    return likelihood, options


def _seed_of(random_seed: Any) -> Any:
    """One seed from all that PyMC takes for seeds."""
    if isinstance(random_seed, np.random.Generator):
        return int(random_seed.integers(2**31))
    if isinstance(random_seed, np.random.RandomState):
        return int(random_seed.randint(2**31 - 1))
    if (
        isinstance(random_seed, Sequence | np.ndarray)
        and not isinstance(random_seed, str)
        and np.ndim(random_seed) == 1
    ):
        return int(np.random.SeedSequence([int(seed) for seed in random_seed]).generate_state(1)[0])
    return random_seed


def _init_of(initvals: Any, chains: int) -> dict[str, Any]:
    """Starting values by name; with a leading axis where there are some for each chain."""
    if isinstance(initvals, Mapping):
        return _by_name(initvals)
    each = [_by_name(values or {}) for values in initvals]
    if len(each) != chains or any(values.keys() != each[0].keys() for values in each):
        raise ParameterError(
            f"initvals must be a dict, or a list of {chains} dicts that name the same variables, one for each chain."
        )
    return {name: np.stack([np.asarray(values[name], float) for values in each]) for name in each[0]}


def _by_name(values: Mapping[Any, Any]) -> dict[str, Any]:
    return {getattr(variable, "name", variable): value for variable, value in values.items()}


def _model_in_context(pymc: Any) -> Any:
    try:
        return pymc.modelcontext(None)
    except TypeError as error:
        raise ModelError(
            "There is no model to sample: write `with model: mp.sample_pymc()`, or give the argument model."
        ) from error
