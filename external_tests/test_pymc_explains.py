"""A PyMC model whose log density is not finite: the message names the variable and what is wrong with it."""

import numpy as np
import pytest

import mongepatch as mp

pm = pytest.importorskip("pymc", reason='needs pymc: pip install "mongepatch[pymc]"')


def counts():
    pm.Poisson("y", pm.HalfNormal("rate"), observed=np.array([3, -1, 2, -4]))


def scale():
    pm.Normal("y", 0.0, pm.math.minimum(pm.Normal("s"), 0.0) - 1.0, observed=np.zeros(3))


def parameter():
    pm.Normal("y", pm.math.log(-pm.math.exp(pm.Normal("s"))), 1.0, observed=np.zeros(3))


def potential():
    pm.Potential("bound", pm.math.switch(pm.Normal("s") > -np.inf, -np.inf, 0.0))


MODELS = {
    counts: r"The variable 'y' \(Poisson\): 2 of its 4 observed values have the log density -inf, "
    r"the first y\[1\] = -1, outside of the support",
    scale: r"The variable 'y' \(Normal\) has parameters for which sigma > 0 does not hold there",
    parameter: r"The variable 'y' \(Normal\) has a parameter that is nan there",
    potential: "The potential 'bound' is -inf there",
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_what_is_not_finite_is_told_by_the_name_of_the_variable(model):
    with pm.Model() as built:
        model()
    with pytest.raises(mp.LogDensityError, match=MODELS[model]):
        mp.sample(mp.from_pymc(built), progress=False)
