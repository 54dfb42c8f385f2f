"""What would help a run in trouble: that depends on its target, and on what its user has set."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mongepatch.sampling.form import Form
from mongepatch.targets.inner import listed

if TYPE_CHECKING:
    from xarray import DataTree

_READ = (
    'Residuals of the model make coordinates that suit it, with metric="auto": '
    "print(mp.residuals_of(logdensity, init)) shows those that were read off the density. If some are "
    "missing, give all of them, such as "
    "mp.sample(logdensity, init, residuals=lambda p: [(p['theta'] - p['mu']) / jnp.exp(p['log_tau'])]), or the "
    "model itself, by mp.from_numpyro or mp.from_pymc."
)
_SCALES = "an inverse_mass in the scale of the posterior"
_WITH_INVERSE_MASS = ("Euclidean", "Monge", "Patch")
_OTHER_FORM = "its other form: non-centred where it is centred, centred where it is non-centred"


class Situation(NamedTuple):
    """What there is to know of a run besides its draws."""

    origin: str = "density"
    """Where the target comes from: "density", "NumPyro", "PyMC" or "Stan"."""
    has_residuals: bool = False
    """Whether the target has residuals."""
    whitened: bool = False
    """Whether chains moved in whitened coordinates."""
    metric: str = ""
    """The class of the metric that chains moved in."""
    given: frozenset[str] = frozenset()
    """Arguments of `sample` that its user set."""
    kernel: str = "lmc"
    """The name of the kernel."""
    parameters: tuple[str, ...] = ()
    """Variables of the result that are sampled, where it is known that others are computed from them."""

    def of(self, tree: "DataTree") -> "Situation":
        """The same, with what a result says of its run: whitened coordinates are those of a Euclidean metric."""
        metric = str(tree["posterior"].attrs.get("metric", ""))
        return self._replace(metric=metric, whitened=self.whitened and metric == "Euclidean")

    @property
    def facts(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return self._asdict() | {"given": sorted(self.given), "parameters": list(self.parameters)}

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> "Situation":
        """The inverse of `facts`, of which an older store has none."""
        known = {name: value for name, value in facts.items() if name in cls._fields}
        kinds = {"given": frozenset, "parameters": tuple}
        return cls(**known | {name: kind(known[name]) for name, kind in kinds.items() if name in known})


def for_geometry(situation: Situation, form: Form | None = None) -> str:
    """What helps where a density is steeper in some places than in others.

    Args:
        situation: what there is to know of the run besides its draws.
        form: the form in which its hierarchy is written, where draws show it.
    """
    given = situation.given
    if situation.has_residuals and "metric" in given and situation.metric != "Patch":
        return (
            "The model has residuals, which metric= leaves unused: leave it out, and chains move in whitened "
            "coordinates, or on a patch, whose steps are as short as each place needs."
        )
    if situation.has_residuals and "whiten" in given and not situation.whitened:
        return "The model has residuals: leave out whiten=False, and chains move in whitened coordinates."
    if situation.whitened or situation.metric == "Patch":
        return (
            "Coordinates follow the residuals of the model already: see whether its priors allow values far too large."
        )
    if situation.origin == "Stan":
        return (
            "A Stan program does not tell its residuals, by which coordinates are made that suit a model: write it for "
            f"mp.from_numpyro or mp.from_pymc, give residuals=, or {_stan_form(situation, form)}."
        )
    if situation.has_residuals:
        return f'Try metric="patch", whose steps are as short as each place needs, or write the model in {_OTHER_FORM}.'
    if situation.origin == "density":
        return f"{_READ} Or write {_OTHER_FORM}."
    return f"Try {_OTHER_FORM}."


def _stan_form(situation: Situation, form: Form | None) -> str:
    """What to write in another way; never the form that a program has already."""
    if form is None and not situation.parameters:
        return f"write {_OTHER_FORM}"
    if form is None:
        return "see whether its priors allow values far too large"
    if form.is_centred:
        return (
            f"write {form.effects!r}, whose spread follows {form.scale!r}, in its non-centred form: parameters z ~ "
            f"std_normal(), and {form.effects} as its mean + {form.scale} * z in transformed parameters"
        )
    return (
        f"write {form.effects!r} in its centred form: the larger {form.scale!r}, the smaller its spread, since data "
        "say much of their product"
    )


def for_step_size(situation: Situation) -> str:
    """What makes steps shorter."""
    if "step_size" in situation.given:
        return "Try a smaller step_size, and see whether the tails change."
    return (
        "Try a target_acceptance nearer to 1, such as 0.95, or a smaller step_size, and see whether the tails change."
    )


def for_still_chains(situation: Situation) -> str:
    """What lets chains move that hardly do."""
    options = ["a larger step_size" if "step_size" in situation.given else "a step_size of your own, such as 0.1"]
    if situation.kernel == "explicit-rmhmc":
        options.append("mp.kernels.ExplicitRMHMC(stiffness=...), the typical size of the metric")
    if situation.kernel != "lmc":
        options.append('kernel="lmc"')
    if "metric" in situation.given:
        options.append('metric="auto"')
    return f"Try {'; or '.join(options)}."


def scales_of(situation: Situation) -> str:
    """The scales that the user's metric has and warm-up would find; nothing for metrics without."""
    return _SCALES if "metric" in situation.given and situation.metric in _WITH_INVERSE_MASS else ""


def for_mixing(situation: Situation) -> str:
    """What makes chains that do not agree mix better."""
    settings = {
        "longer trajectories": "trajectory" in situation.given,
        _SCALES: bool(scales_of(situation)),
        "a smaller alpha": situation.metric == "Monge",
    }
    options = [words for words, helps in settings.items() if helps]
    if options:
        return f"Try more draws or warmup; or {listed(options)}, which warm-up finds where they are not given."
    return (
        "Try more draws or warmup. Chains that stay at different levels may be in different modes, and then no number "
        "of draws helps."
    )
