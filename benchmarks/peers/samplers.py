"""Our sampler and its peers, each as its own documentation recommends, by the name that tables give it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

from benchmarks.measures.versions import versions
from benchmarks.patches.problems import NumpyroProblem
from benchmarks.patches.samplers import (
    Sampler,
    SamplerTask,
    blackjax_nuts,
    learnt_centring,
    numpyro_nuts_in_one_call,
    ours,
)
from benchmarks.peers.in_numpy import mici_nuts, nutpie_flows
from benchmarks.peers.in_pymc import in_pymc, walnuts
from benchmarks.peers.microcanonical import mams, mclmc
from benchmarks.pymc.samplers import nutpie_nuts, pymc_nuts

CORRELATED = ("heart", "german", "australian", "normal-100")
"""Problems on which a dense mass matrix may pay."""
WITH_SCALES = ("neal-9", "schools", "groups-uneven", "groups-100")
"""Problems with sites that have a location and a scale."""


class PeerSampler(NamedTuple):
    """A sampler with what it needs."""

    make: Callable[[NumpyroProblem], Sampler]
    packages: tuple[str, ...]
    """On PyPI; a sampler is left out where one is not installed."""
    kind: Literal["ours", "peer", "by hand"] = "peer"
    problems: tuple[str, ...] | None = None
    """Names of the problems that it suits; None for all."""
    modules: tuple[str, ...] = ()
    """Imported before the clock starts."""
    forks: bool = False
    """Whether it forks processes, which is not safe once JAX has started threads."""

    @property
    def missing(self) -> list[str]:
        """Packages that are not installed."""
        return [package for package in self.packages if not versions([package])]

    def suits(self, problem: str) -> bool:
        """Whether the sampler is measured on a problem."""
        return self.problems is None or problem in self.problems

    def task(self, problem: NumpyroProblem) -> SamplerTask:
        """The model as written, or the first form that is made by hand."""
        model = next(iter(problem.forms.values())) if self.kind == "by hand" else problem.centred
        return SamplerTask(model, problem.data)


def _alone(make: Callable[[], Sampler]) -> Callable[[NumpyroProblem], Sampler]:
    return lambda _: make()


_BLACKJAX, _NUMPYRO, _PYMC = ("blackjax",), ("numpyro.infer",), ("pymc",)
_NUTPIE = ("nutpie", "numba", "pymc")

SAMPLERS: Mapping[str, PeerSampler] = {
    "ours": PeerSampler(
        _alone(lambda: ours("auto")),
        (),
        "ours",
        modules=("arviz_base", "arviz_stats.base", "blackjax", "mongepatch.frontends.numpyro.build", "xarray"),
    ),
    "BlackJAX NUTS": PeerSampler(_alone(blackjax_nuts), ("blackjax",), modules=_BLACKJAX),
    "BlackJAX NUTS, dense mass": PeerSampler(
        _alone(lambda: blackjax_nuts(dense_mass=True)), ("blackjax",), problems=CORRELATED, modules=_BLACKJAX
    ),
    "NumPyro NUTS": PeerSampler(_alone(numpyro_nuts_in_one_call), ("numpyro",), modules=_NUMPYRO),
    "NumPyro NUTS, dense mass": PeerSampler(
        _alone(lambda: numpyro_nuts_in_one_call(dense_mass=True)), ("numpyro",), problems=CORRELATED, modules=_NUMPYRO
    ),
    "NumPyro NUTS, learnt centring": PeerSampler(
        _alone(learnt_centring), ("numpyro",), problems=WITH_SCALES, modules=_NUMPYRO
    ),
    "NumPyro NUTS, non-centred by hand": PeerSampler(
        _alone(numpyro_nuts_in_one_call),
        ("numpyro",),
        "by hand",
        problems=(*WITH_SCALES, "random-walk"),
        modules=_NUMPYRO,
    ),
    "PyMC": PeerSampler(in_pymc(pymc_nuts), ("pymc",), modules=_PYMC, forks=True),
    "nutpie": PeerSampler(in_pymc(nutpie_nuts), _NUTPIE, modules=_NUTPIE),
    "nutpie, low-rank mass": PeerSampler(
        in_pymc(lambda model: nutpie_nuts(model, low_rank_modified_mass_matrix=True)),
        _NUTPIE,
        problems=(*CORRELATED, "random-walk"),
        modules=_NUTPIE,
    ),
    "nutpie, flows": PeerSampler(
        _alone(nutpie_flows), ("nutpie", "flowjax"), modules=("nutpie", "flowjax", "nutpie.transform_adapter")
    ),
    "WALNUTS": PeerSampler(in_pymc(walnuts), ("walnutpie", *_NUTPIE), modules=("walnutpie", *_NUTPIE)),
    "mici": PeerSampler(_alone(mici_nuts), ("mici",), modules=("mici",)),
    "BlackJAX MCLMC": PeerSampler(_alone(mclmc), ("blackjax",), modules=_BLACKJAX),
    "BlackJAX MAMS": PeerSampler(_alone(mams), ("blackjax",), modules=_BLACKJAX),
}


def installed_packages() -> dict[str, str]:
    """Versions of all packages that samplers need, and of ours."""
    named: Iterable[str] = (package for sampler in SAMPLERS.values() for package in sampler.packages)
    return versions(dict.fromkeys(("mongepatch", "jax", "arviz-stats", *named)))
