"""Chains that start from exact draws must stay exact: moments and quantiles within Monte Carlo standard errors.

Every kernel, metric and trajectory of the library goes through the same suite, in every combination that makes sense;
combinations that run no line of the library that others do not run are among the slow tests.
The list is made from what the library holds: what is added to it is tested by existing, or the suite asks for an
example.

Thousands of independent chains start at draws of the truth itself, so there is no burn-in to argue about, and the
standard error of a pooled estimate is the spread of the chains' own estimates. `test_mutations.py` turns the method on
itself.
"""

import inspect
import re

import pytest
from invariance import (
    MAX_STANDARD_ERRORS,
    MEMBERS,
    TARGETS,
    compiled,
    compiled_at_own_pace,
    information,
    means,
    narrow_patch,
    patch,
    prior_precision,
    run,
)
from invariance import standard_errors_off as off
from problems import ALPHAS

import mongepatch as mp
from mongepatch import integrators, kernels, metrics, trajectories

pytestmark = pytest.mark.usefixtures("optimized")  # it draws for longer than it compiles

KERNELS = {
    "LMC": [kernels.LMC("merged"), kernels.LMC("paper")],
    "RMHMC": [kernels.RMHMC(integrators.GeneralizedLeapfrog()), kernels.RMHMC(integrators.ImplicitMidpoint())],
    "ExplicitRMHMC": [kernels.ExplicitRMHMC(stiffness=5.0)],
    "MMALA": [kernels.MMALA()],
}
# From a member of the family and a setting; with the settings to try. A second example of a class has a second name.
METRICS = {
    "Euclidean": (lambda member, _: mp.Euclidean([0.8, 1.2]), (0.0,)),
    "Euclidean-turning": (lambda member, _: mp.Euclidean([0.8, 1.2], [0.2, -0.3], 0.9), (0.0,)),
    "Monge": (lambda member, alpha: mp.Monge(alpha), ALPHAS),
    "Dense": (lambda member, _: mp.Dense(lambda x: information(member)(x) + prior_precision(member)), (0.0,)),
    "Fisher": (lambda member, _: mp.Fisher(information(member), prior_precision(member)), (0.0,)),
    "GaussNewtonFisher": (
        lambda member, _: metrics.GaussNewtonFisher(means(member), prior_precision(member)),
        (0.0,),
    ),
    "SoftAbs": (lambda member, kappa: mp.SoftAbs(kappa), (2.0,)),
    "Patch": (patch, (0.7,)),
    "Patch-narrow": (narrow_patch, (1.0,)),
}
TRAJECTORIES = {
    "Static": mp.Static(4, jitter=0.5),
    "Static-stretched": mp.Static(4, step_size_jitter=0.5),
    "NUTS": mp.NUTS(4),
    # As trees it makes the draws of NUTS: see tests/trajectories/test_nuts_or_static.py.
    "NUTSOrStatic": trajectories.NUTSOrStatic.trees(mp.NUTS(4)).with_static(mp.Static(4, 0.5, 0.5)),
}

# What `make test` runs: every kernel, integrator, scheme, metric and trajectory, so that no line of the library is left
# out. All other combinations are slow.
FAST = {
    "lmc-merged-Euclidean-Static",
    "lmc-merged-Euclidean-turning-Static-stretched",
    "lmc-merged-Euclidean-turning-NUTSOrStatic",
    "lmc-merged-Monge-Static",
    "lmc-paper-Dense-Static",
    "lmc-merged-Euclidean-NUTS",
    "lmc-merged-Patch-NUTS",
    "rmhmc-GeneralizedLeapfrog-Monge-Static",
    "rmhmc-ImplicitMidpoint-Euclidean-Static",
    "explicit-rmhmc-Monge-Static",
    *(f"mmala-{metric}-none" for metric in ("Monge", "Fisher", "GaussNewtonFisher", "SoftAbs", "Patch-narrow")),
}

IN_TREES = ("Euclidean", "Monge", "Patch")
CHEAP = ("Euclidean", "Euclidean-turning", "Monge")
"""Metrics without matrices."""

# Steps that neither make it so easy nor so hard that errors would not show; metrics that measure in standard deviations
# take longer ones.
STEP_SIZES = {"gaussian": 0.8, "quartic": 0.9, "banana": 0.2}
OF_CURVED = {"gaussian": 1.0, "quartic": 0.8, "banana": 0.6}


def classes(module, member):
    """Names of the public classes of a module that have a member, protocols apart."""
    found = {name: getattr(module, name) for name in module.__all__}
    return [
        name
        for name, value in found.items()
        if inspect.isclass(value) and hasattr(value, member) and not getattr(value, "_is_protocol", False)
    ]


def follows(kernel, metric):
    """Whether a kernel follows the motion of a metric between kicks."""
    try:
        kernels.check_motion(kernel, metric)
    except mp.SettingError:
        return False
    return True


def combinations():
    """Every kernel with every metric and every trajectory that it takes, or none."""
    for kernel_class in classes(kernels, "check"):
        for kernel in KERNELS[kernel_class]:
            for trajectory_name, trajectory in {"none": None, **TRAJECTORIES}.items():
                try:
                    kernel.check(trajectory)
                except mp.SettingError:
                    continue
                in_tree = trajectory_name in ("NUTS", "NUTSOrStatic")
                if kernel == kernels.LMC("paper") and in_tree:
                    continue  # trees know no schemes
                for metric, (make, settings) in METRICS.items():
                    if not follows(kernel, make(MEMBERS["gaussian"], settings[0])):
                        continue
                    if trajectory_name == "Static-stretched" and metric not in CHEAP:
                        continue  # the length of steps knows no metric
                    kind = getattr(kernel, "scheme", type(getattr(kernel, "integrator", None)).__name__)
                    way = kernel.name if kind == "NoneType" else f"{kernel.name}-{kind}"
                    # Trees know no metric: with implicit steps, which take minutes to compile in one, some will do.
                    if isinstance(kernel, kernels.RMHMC) and in_tree and metric not in IN_TREES:
                        continue
                    name = f"{way}-{metric}-{trajectory_name}"
                    marks = [] if name in FAST else [pytest.mark.slow]
                    yield pytest.param(kernel, metric, trajectory, id=name, marks=marks)


@pytest.mark.parametrize(
    ("examples", "module", "member"),
    [(KERNELS, kernels, "check"), (METRICS, metrics, "kick"), (TRAJECTORIES, trajectories, "propose")],
    ids=["kernels", "metrics", "trajectories"],
)
def test_there_is_an_example_of_everything(examples, module, member):
    covered = {name.partition("-")[0] for name in examples}
    assert covered == set(classes(module, member)), "add an example of what is new to this file"


def size(kernel, metric, trajectory):
    """Chains and draws: fewer where a draw takes hundreds of products, or where thousands of trees are waited for."""
    matrix_free = metric in CHEAP
    if isinstance(kernel, kernels.RMHMC):
        return (2000, 10) if matrix_free else (1000, 8)
    if not matrix_free:
        return (1000, 12) if isinstance(trajectory, mp.NUTS) and metric != "Patch" else (4000, 25)
    return (8000, 25) if isinstance(trajectory, mp.NUTS) else (8000, 60)


def settings(kernel, metric, most):
    """Numbers to try of a metric, at most so many from the middle on; one where the kernel takes long."""
    every = METRICS[metric][1]
    if len(every) <= most and isinstance(kernel, kernels.LMC):
        return every
    return every[len(every) // 2 :][: most if isinstance(kernel, kernels.LMC) else 1]


@pytest.mark.parametrize(("kernel", "metric", "trajectory"), list(combinations()))
def test_exact_draws_stay_exact(kernel, metric, trajectory):
    look(kernel, metric, trajectory, settings(kernel, metric, 2), *size(kernel, metric, trajectory))


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "metric", "trajectory"), [param for param in combinations() if param.id in FAST])
def test_exact_draws_stay_exact_for_long(kernel, metric, trajectory):
    chains, draws = size(kernel, metric, trajectory)
    look(kernel, metric, trajectory, settings(kernel, metric, 5), 4 * chains, draws)


@pytest.mark.slow  # tests/chains/test_own_pace.py shows that draws are those of chains in lockstep
@pytest.mark.parametrize("metric", METRICS)
def test_exact_draws_stay_exact_at_their_own_pace(metric):
    """Chains that do not wait for each other: which of them make a draw together depends on their trees."""
    kernel, trajectory = kernels.LMC(), TRAJECTORIES["NUTS"]
    size_of_run = size(kernel, metric, trajectory)
    look(kernel, metric, trajectory, settings(kernel, metric, 1), *size_of_run, make=compiled_at_own_pace)


def look(kernel, metric, trajectory, tried, chains, draws, make=compiled):
    sampler = make(kernel, METRICS[metric][0], trajectory, draws)
    for name in TARGETS:
        step_size = (STEP_SIZES if metric in CHEAP else OF_CURVED)[name]
        if not isinstance(kernel, kernels.LMC | kernels.MMALA):
            step_size *= 0.3 if isinstance(kernel, kernels.ExplicitRMHMC) else 0.7
        for setting in tried:
            found, acceptance = run(sampler, name, setting, step_size, chains, seed=int(10 * setting))
            worst = off(name, found).max()
            print(f"{name} at {setting:g}: acceptance {acceptance:.2f}, {worst:.1f} standard errors off")
            assert acceptance > 0.2
            assert worst < MAX_STANDARD_ERRORS


def test_the_fast_combinations_exist_and_leave_nothing_out():
    names = {param.id for param in combinations()}
    assert names >= FAST
    for part in {part for name in names for part in re.split(r"-(?=[A-Z])", name.removesuffix("-none"))}:
        assert any(part in name for name in FAST), f"no fast test has {part}"
