"""Keywords of other libraries, and misspelt ones, are answered with ours, before anything else happens."""

import inspect

import jax.numpy as jnp
import pytest

import mongepatch as mp
from mongepatch._keywords import _HINTS, _WORDS, check_keywords

SAMPLE = inspect.signature(mp.sample).parameters


def unused(x):
    raise AssertionError("the density must not be looked at")


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("num_warmup", "warmup"),
        ("tune", "warmup"),
        ("num_samples", "draws"),
        ("target_accept", "target_acceptance"),
        ("target_accept_prob", "target_acceptance"),
        ("adapt_delta", "target_acceptance"),
        ("random_seed", "seed"),
        ("rng_key", "seed"),
        ("num_chains", "chains"),
        ("progressbar", "progress"),
        ("progress_bar", "progress"),
        ("initvals", "init"),
        ("var_names", "keep"),
        ("stepsize", "step_size"),
        ("Draws", "draws"),
        ("warm_up", "warmup"),
        ("chain", "chains"),
        ("tragectory", "trajectory"),
        ("num_sample", "draws"),
        ("init_spred", "init_spread"),
    ],
)
def test_words_of_others_and_typing_errors(word, ours):
    with pytest.raises(mp.ArgumentError, match=rf"sample has no argument '{word}': .*'{ours}'") as caught:
        mp.sample(unused, jnp.zeros(2), **{word: 1})
    assert isinstance(caught.value, TypeError)  # as Python's own answer is


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("max_tree_depth", r"mp\.NUTS\(max_depth=…\)"),
        ("num_steps", r"mp\.Static\(num_steps\)"),
        ("inverse_mass_matrix", r"mp\.Euclidean\(inverse_mass\)"),
        ("alpha", r"mp\.Monge\(alpha\)"),
        ("dense_mass", r'mp\.Euclidean\("dense"\)'),
        ("cores", "side by side"),
        ("thinning", "it is called 'thin' here"),
        ("model", r"mp\.from_numpyro"),
        ("nonsense", "Its arguments are target, init, residuals"),
    ],
)
def test_what_is_asked_for_in_another_way(word, answer):
    with pytest.raises(mp.ArgumentError, match=answer):
        mp.sample(unused, jnp.zeros(2), **{word: 1})


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda: mp.NUTS(max_tree_depth=8), "NUTS has no argument 'max_tree_depth': it is called 'max_depth' here"),
        (lambda: mp.Static(n_steps=8), "'num_steps'"),
        (lambda: mp.Static(8, jiter=0.5), "did you mean 'jitter'"),
        (lambda: mp.Monge(1.0, inverse_mass_matrix=jnp.ones(2)), "'inverse_mass'"),
        (lambda: mp.Euclidean(mass_matrix=jnp.ones(2)), "'inverse_mass'"),
        (lambda: mp.lmc(unused, mp.Euclidean(), stepsize=0.1, trajectory=mp.Static(3)), "'step_size'"),
        (lambda: mp.baselines.nuts(unused, jnp.zeros(2), num_warmup=100), "'warmup'"),
        (lambda: mp.baselines.nuts(unused, jnp.zeros(2), max_treedepth=100), "'max_depth'"),
        (
            lambda: mp.sample(unused, jnp.zeros(2), 1000),
            r"takes 2 arguments by place \(target, init\), and was given 3",
        ),
        (lambda: mp.sample_pymc(adapt_delta=0.9), "sample_pymc has no argument 'adapt_delta'.*'target_acceptance'"),
        (lambda: mp.sample_pymc(num_warmup=9), "'warmup'"),
        (lambda: mp.Until(esss=100), "Until has no argument 'esss': did you mean 'ess'"),
        (lambda: mp.Store("run.zarr", chunk_draw=9), "did you mean 'chunk_draws'"),
        (lambda: mp.resume("run.zarr"), r"resume needs target: write resume\(store, target\)"),
        (lambda: mp.extend("run.zarr", unused, metric="monge"), r"extend\(run, target, draws=…\)"),
        (lambda: mp.extend("run.zarr", unused, drws=5), "extend has no argument 'drws': did you mean 'draws'"),
        (lambda: mp.sample(), r"sample needs target: write sample\(target\)"),
        (lambda: mp.Monge(), "Monge needs alpha"),
    ],
)
def test_other_functions_and_classes_answer_too(call, answer):
    with pytest.raises(mp.ArgumentError, match=answer):
        call()


def test_signatures_stay_what_they_were():
    assert list(SAMPLE)[:2] == ["target", "init"]
    assert list(inspect.signature(mp.Static).parameters) == ["num_steps", "jitter", "step_size_jitter"]
    assert mp.Static(num_steps=5, jitter=0.5).num_steps == 5


def test_every_word_has_an_argument_and_no_argument_is_another_word():
    """A word that is an argument of ours would never be answered."""
    words = [word for words in _WORDS.values() for word in words.split()]
    assert len(set(words)) == len(words)
    assert not set(words) & set(SAMPLE)
    assert not set(_HINTS) & set(SAMPLE)
    for ours, theirs in _WORDS.items():
        for word in theirs.split():
            with pytest.raises(mp.ArgumentError, match=f"it is called {ours!r} here"):
                check_keywords("f", [word], [ours])
