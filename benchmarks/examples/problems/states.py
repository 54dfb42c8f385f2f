"""Discrete states that are summed out by the forward algorithm: a hidden Markov model, and capture–recapture."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import logsumexp

from benchmarks.patches.problems import NumpyroProblem

CATEGORIES, WORDS = 3, 10


def hidden_markov(categories: np.ndarray, words: np.ndarray, unlabelled: np.ndarray) -> None:
    """Words of hidden categories, of which the first are labelled."""
    transition = numpyro.sample("transition", dist.Dirichlet(jnp.ones((CATEGORIES, CATEGORIES))).to_event(1))
    emission = numpyro.sample("emission", dist.Dirichlet(jnp.full((CATEGORIES, WORDS), 0.1)).to_event(1))
    numpyro.sample("categories", dist.Categorical(transition[categories[:-1]]).to_event(1), obs=categories[1:])
    numpyro.sample("words", dist.Categorical(emission[categories]).to_event(1), obs=words)
    log_transition, log_emission = jnp.log(transition), jnp.log(emission)

    def step(before: jnp.ndarray, word: jnp.ndarray) -> tuple[jnp.ndarray, None]:
        return logsumexp(before[:, None] + log_transition, axis=0) + log_emission[:, word], None

    last, _ = jax.lax.scan(step, log_emission[:, unlabelled[0]], jnp.asarray(unlabelled[1:]))
    numpyro.factor("unlabelled", logsumexp(last))


def capture_recapture(histories: np.ndarray) -> None:
    """Survival that varies from year to year, and recapture (Cormack, Jolly and Seber), as the third example has it.

    Of an animal that was captured before, `alive` and `dead` are the probabilities of its history until now, together
    with that state.
    """
    animals, years = histories.shape
    mean, sigma = numpyro.sample("mean", dist.Uniform(0, 1)), numpyro.sample("sigma", dist.Uniform(0, 10))
    recapture = numpyro.sample("recapture", dist.Uniform(0, 1))
    with numpyro.plate("year", years - 1):
        z = numpyro.sample("z", dist.Normal(0, 1))
        logits = numpyro.deterministic("logits", jnp.log(mean) - jnp.log1p(-mean) + sigma * z)
    known = np.maximum.accumulate(histories, axis=1)[:, :-1].T == 1

    def step(
        before: tuple[jnp.ndarray, jnp.ndarray], year: tuple[jnp.ndarray, jnp.ndarray, jnp.ndarray]
    ) -> tuple[tuple[jnp.ndarray, jnp.ndarray], None]:
        (alive, dead), (survival, seen, known) = before, year
        new_alive = alive * survival * jnp.where(seen == 1, recapture, 1 - recapture)
        new_dead = (dead + alive * (1 - survival)) * (seen == 0)
        return (jnp.where(known, new_alive, alive), jnp.where(known, new_dead, dead)), None

    steps = (jax.nn.sigmoid(logits), jnp.asarray(histories[:, 1:].T), jnp.asarray(known))
    (alive, dead), _ = jax.lax.scan(step, (jnp.ones(animals), jnp.zeros(animals)), steps)
    numpyro.factor("histories", jnp.log(alive + dead).sum())


def problems() -> list[NumpyroProblem]:
    """100 words with labels and 200 without; 150 animals in 7 years."""
    return [
        NumpyroProblem("hmm", hidden_markov, _words(), others=("transition", "emission")),
        NumpyroProblem(
            "capture-recapture",
            capture_recapture,
            _histories(),
            scales=("sigma",),
            others=("mean", "recapture", "logits"),
        ),
    ]


def _words() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(70)
    transition = rng.dirichlet(np.ones(CATEGORIES), size=CATEGORIES)
    emission = rng.dirichlet(np.full(WORDS, 0.1), size=CATEGORIES)
    categories = [0]
    while len(categories) < 300:
        categories.append(int(rng.choice(CATEGORIES, p=transition[categories[-1]])))
    words = np.array([rng.choice(WORDS, p=emission[category]) for category in categories])
    return np.array(categories[:100]), words[:100], words[100:]


def _histories() -> tuple[np.ndarray]:
    rng = np.random.default_rng(71)
    first, survival = rng.integers(0, 6, size=150), 1.0 / (1.0 + np.exp(-rng.normal(0.3, 0.5, size=6)))
    histories = np.zeros((150, 7), int)
    for animal, start in enumerate(first):
        histories[animal, start] = 1
        for year in range(start, 6):
            if rng.random() > survival[year]:
                break
            histories[animal, year + 1] = rng.random() < 0.8
    return (histories,)
