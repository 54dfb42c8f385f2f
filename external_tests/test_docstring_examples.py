"""Examples in the docstrings of functions that need PyMC or Stan run."""

import pytest
from test_docstrings import OTHERS, run_examples


@pytest.mark.parametrize("name", sorted(OTHERS))
@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # examples are short runs
def test_examples_run(name):
    pytest.importorskip("stan" if name.endswith("stan") else "pymc")
    run_examples(name)
