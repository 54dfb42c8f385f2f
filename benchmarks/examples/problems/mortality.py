"""Deaths by age, place and year: places within regions, and random walks over ages and years."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer.reparam import LocScaleReparam

from benchmarks.patches.problems import NumpyroProblem

AGES, REGIONS, PLACES, YEARS = 8, 4, 16, 8
WIDE = 10.0
"""The scale of the first intercept and of the first slope."""
EFFECTS = ("region", "place", "age_steps", "slope_steps", "year_steps")


def centred(deaths: np.ndarray, population: np.ndarray, region_of: np.ndarray) -> None:
    """Log odds of death by age, place and year: intercepts and slopes of ages, and effects of places and of years."""
    scales = {name: numpyro.sample(f"sigma_{name}", dist.HalfNormal(1)) for name in EFFECTS}

    def walk_scales(name: str) -> jnp.ndarray:
        return jnp.append(WIDE, jnp.broadcast_to(scales[name], AGES - 1))

    with numpyro.plate("regions", REGIONS):
        region = numpyro.sample("region", dist.Normal(0, scales["region"]))
    with numpyro.plate("places", PLACES):
        place = numpyro.sample("place", dist.Normal(region[region_of], scales["place"]))
    with numpyro.plate("ages", AGES):
        age_steps = numpyro.sample("age_steps", dist.Normal(0, walk_scales("age_steps")))
        slope_steps = numpyro.sample("slope_steps", dist.Normal(0, walk_scales("slope_steps")))
    with numpyro.plate("years", YEARS - 1):
        year_steps = numpyro.sample("year_steps", dist.Normal(0, scales["year_steps"]))
    age, slope = jnp.cumsum(age_steps), jnp.cumsum(slope_steps)
    year = jnp.append(0.0, jnp.cumsum(year_steps))
    by_age = age[:, None, None] + slope[:, None, None] * jnp.arange(YEARS)
    numpyro.sample("deaths", dist.Binomial(population, logits=by_age + place[:, None] + year).to_event(3), obs=deaths)


as_in_the_example = numpyro.handlers.reparam(centred, config={name: LocScaleReparam(0) for name in EFFECTS})
"""All effects non-centred."""


def problems() -> list[NumpyroProblem]:
    """8 ages, 16 places in 4 regions, 8 years."""
    scales = tuple(f"sigma_{name}" for name in EFFECTS)
    return [
        NumpyroProblem("mortality", as_in_the_example, _data(), scales=scales, others=EFFECTS),
        NumpyroProblem("mortality-centred", centred, _data(), scales=scales, others=EFFECTS),
    ]


def _data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(80)
    region_of = np.repeat(np.arange(REGIONS), PLACES // REGIONS)
    place = rng.normal(0.0, 0.2, size=REGIONS)[region_of] + rng.normal(0.0, 0.1, size=PLACES)
    age = -4.5 + np.cumsum(np.abs(rng.normal(0.0, 0.5, size=AGES)))
    slope, year = rng.normal(-0.02, 0.01, size=AGES), np.cumsum(rng.normal(0.0, 0.03, size=YEARS))
    logits = age[:, None, None] + slope[:, None, None] * np.arange(YEARS) + place[:, None] + year
    population = rng.integers(200, 2000, size=logits.shape)
    return rng.binomial(population, 1.0 / (1.0 + np.exp(-logits))), population, region_of
