"""Discrete latent sites are summed out as NumPyro's own NUTS does: the density is that of sums written by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import logsumexp

import mongepatch as mp

pytest.importorskip("funsor", reason='needs funsor: pip install "mongepatch[enumerate]"')
numpyro = pytest.importorskip("numpyro")
dist = numpyro.distributions
scan = pytest.importorskip("numpyro.contrib.control_flow").scan

RNG = np.random.default_rng(0)

# Two kinds of observation.
Y = np.concatenate([RNG.normal(-2, 1, 40), RNG.normal(2, 1, 60)])


def mixture(y):
    weight = numpyro.sample("weight", dist.Beta(2.0, 2.0))
    gap = numpyro.sample("gap", dist.HalfNormal(5.0))
    numpyro.deterministic("upper", gap / 2)
    with numpyro.plate("observation", len(y)):
        kind = numpyro.sample("kind", dist.Bernoulli(weight), infer={"enumerate": "parallel"})
        centre = numpyro.deterministic("centre", jnp.where(kind == 1, gap / 2, -gap / 2))
        numpyro.sample("y", dist.Normal(centre, 1.0), obs=y)


def mixture_by_hand(y):
    weight = numpyro.sample("weight", dist.Beta(2.0, 2.0))
    gap = numpyro.sample("gap", dist.HalfNormal(5.0))
    parts = jnp.stack([dist.Normal(-gap / 2, 1.0).log_prob(y), dist.Normal(gap / 2, 1.0).log_prob(y)])
    numpyro.factor("y", logsumexp(parts + jnp.log(jnp.array([1 - weight, weight]))[:, None], axis=0).sum())


# Votes of four annotators on thirty items of three classes.
ITEMS, ANNOTATORS, CLASSES = 30, 4, 3
VOTES = RNG.integers(0, CLASSES, size=(ITEMS, ANNOTATORS))


def annotation(votes):
    prevalence = numpyro.sample("prevalence", dist.Dirichlet(jnp.ones(CLASSES)))
    with numpyro.plate("annotator", ANNOTATORS, dim=-1), numpyro.plate("class", CLASSES, dim=-2):
        confusion = numpyro.sample("confusion", dist.Dirichlet(jnp.ones(CLASSES)))
    with numpyro.plate("item", ITEMS, dim=-2):
        truth = numpyro.sample("truth", dist.Categorical(prevalence), infer={"enumerate": "parallel"})
        with numpyro.plate("vote", ANNOTATORS, dim=-1):
            probabilities = confusion[truth, jnp.arange(ANNOTATORS)]
            numpyro.sample("votes", dist.Categorical(probabilities), obs=votes)


def annotation_by_hand(votes):
    prevalence = numpyro.sample("prevalence", dist.Dirichlet(jnp.ones(CLASSES)))
    with numpyro.plate("annotator", ANNOTATORS, dim=-1), numpyro.plate("class", CLASSES, dim=-2):
        confusion = numpyro.sample("confusion", dist.Dirichlet(jnp.ones(CLASSES)))
    chances = jnp.log(confusion)[:, jnp.arange(ANNOTATORS)[None, :], votes]  # [class, item, annotator]
    numpyro.factor("votes", logsumexp(chances.sum(-1) + jnp.log(prevalence)[:, None], axis=0).sum())


# Animals that are marked on the first occasion, and seen or not on five more.
SEEN = jnp.asarray(RNG.integers(0, 2, size=(20, 5)))


def capture_recapture(seen):
    survival = numpyro.sample("survival", dist.Uniform(0.0, 1.0))
    recapture = numpyro.sample("recapture", dist.Uniform(0.0, 1.0))

    def occasion(alive, y):
        with numpyro.plate("animal", len(seen), dim=-1):
            alive = numpyro.sample("alive", dist.Bernoulli(survival * alive), infer={"enumerate": "parallel"})
            numpyro.sample("y", dist.Bernoulli(recapture * alive), obs=y)
        return alive, None

    scan(occasion, jnp.ones(len(seen), int), seen.T)


def capture_recapture_by_hand(seen):
    survival = numpyro.sample("survival", dist.Uniform(0.0, 1.0))
    recapture = numpyro.sample("recapture", dist.Uniform(0.0, 1.0))
    forward = jnp.stack([jnp.zeros(len(seen)), jnp.ones(len(seen))])  # [dead or alive, animal]
    for y in seen.T:
        dead = forward[0] + (1 - survival) * forward[1]
        forward = jnp.stack([dead * (y == 0), survival * forward[1] * jnp.where(y == 1, recapture, 1 - recapture)])
    numpyro.factor("y", jnp.log(forward.sum(0)).sum())


# Three series of two hidden states under noise.
SERIES = jnp.asarray(RNG.normal(size=(12, 3)))


def hidden_markov(y):
    stay = numpyro.sample("stay", dist.Beta(5.0, 1.0))
    means = numpyro.sample("means", dist.Normal(0.0, 3.0).expand([2]).to_event(1))
    chances = jnp.array([[stay, 1 - stay], [1 - stay, stay]])

    def step(state, values):
        with numpyro.plate("series", y.shape[1], dim=-1):
            state = numpyro.sample("state", dist.Categorical(chances[state]), infer={"enumerate": "parallel"})
            numpyro.sample("y", dist.Normal(means[state], 1.0), obs=values)
        return state, None

    scan(step, jnp.zeros(y.shape[1], int), y)


def hidden_markov_by_hand(y):
    stay = numpyro.sample("stay", dist.Beta(5.0, 1.0))
    means = numpyro.sample("means", dist.Normal(0.0, 3.0).expand([2]).to_event(1))
    chances = jnp.log(jnp.array([[stay, 1 - stay], [1 - stay, stay]]))
    forward = jnp.broadcast_to(jnp.array([0.0, -jnp.inf])[:, None], (2, y.shape[1]))
    for values in y:
        emission = dist.Normal(means[:, None], 1.0).log_prob(values)
        forward = logsumexp(forward[:, None] + chances[..., None], axis=0) + emission
    numpyro.factor("y", logsumexp(forward, axis=0).sum())


MODELS = {
    "mixture": (mixture, mixture_by_hand, Y),
    "annotation": (annotation, annotation_by_hand, VOTES),
    "capture-recapture": (capture_recapture, capture_recapture_by_hand, SEEN),
    "hidden Markov": (hidden_markov, hidden_markov_by_hand, SERIES),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_density_is_that_of_sums_by_hand(name):
    model, by_hand, data = MODELS[name]
    target, reference = mp.from_numpyro(model, data), mp.from_numpyro(by_hand, data)
    assert target.layout == reference.layout
    positions = jax.random.normal(jax.random.key(1), (5, target.dimension))
    differences = [float(target(x) - reference(x)) for x in positions]
    np.testing.assert_allclose(differences, differences[0], atol=1e-8)
    gradients = [jax.grad(one.logdensity)(positions[0]) for one in (target, reference)]
    np.testing.assert_allclose(*gradients, rtol=1e-6, atol=1e-8)


def test_results_have_what_does_not_depend_on_what_was_summed_out():
    target = mp.from_numpyro(mixture, Y)
    assert set(target.variables) == {"weight", "gap", "upper"}
    assert "summed out" in target.describe()
    tree = mp.sample(target, draws=500, warmup=400, progress=False, keep=["gap"])
    gap = tree["posterior"]["gap"]
    assert abs(float(gap.mean()) - 4.0) < 0.6


def test_what_has_infinitely_many_values_is_refused():
    def counts():
        rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0))
        count = numpyro.sample("count", dist.Poisson(rate))
        numpyro.sample("y", dist.Normal(count, 1.0), obs=3.0)

    with pytest.raises(mp.ModelError, match=r"'count' \(Poisson\) is discrete.*infinitely many values"):
        mp.from_numpyro(counts)
