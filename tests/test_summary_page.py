"""The page of `mongepatch summary --html` in a browser."""

import numpy as np
import pandas as pd
import pytest
import xarray
from browser import SCREENS, a_browser, assert_fits, assert_is_drawn, shoot

from mongepatch.summary_page import write_page

pytest.importorskip("matplotlib")


@pytest.fixture
def page(tmp_path):
    """Of a run with a name of its own mind, one variable that mixes badly, and some divergences."""
    rng = np.random.default_rng(1)
    chain = {"chain": np.arange(4), "draw": np.arange(300)}
    values = {
        "a": (("chain", "draw"), rng.normal(size=(4, 300))),
        "b": (("chain", "draw", "x"), rng.normal(size=(4, 300, 2))),
    }
    tree = xarray.DataTree.from_dict(
        {
            "posterior": xarray.Dataset(values, {**chain, "x": ["<i>", "y"]}, {"chosen": "metric: <b>Euclidean</b>"}),
            "sample_stats": xarray.Dataset({"diverging": (("chain", "draw"), rng.random((4, 300)) < 0.01)}, chain),
        }
    )
    names, columns = ["a", "b[<i>]", "b[y]"], ["mean", "sd", "ess_bulk", "ess_tail", "r_hat", "mcse_mean", "mcse_sd"]
    figures = [
        [0.0, 1.0, 900.0, 800.0, 1.001, 0.02, 0.03],
        [0.0, 1.0, 90.0, 80.0, 1.2, 0.1, 0.1],
        [0.0, 1.0, 500.0, np.nan, 1.0, 0.1, 0.1],
    ]
    path = tmp_path / "page.html"
    write_page(path, "/data/" + "long_name_" * 12 + ".zarr", tree, pd.DataFrame(figures, names, columns))
    return path


@SCREENS
def test_the_page_in_a_browser(page, tmp_path, name, width, height):
    with a_browser(width, height) as session:
        session.get(page.as_uri())
        images = session.find_elements("css selector", "img")
        assert len(images) == 7  # trace and ranks of three variables, and a pair
        for image in images:
            assert_is_drawn(session, image)
            assert image.size["width"] > 0.8 * min(width, 440)
        doubtful = [cell.text for cell in session.find_elements("css selector", "td.doubtful")]
        assert doubtful == ["90", "80", "1.2", "nan"]
        assert "<b>Euclidean</b>" in session.find_element("css selector", "p").text
        shoot(session, tmp_path / f"{name}.png")
        assert_fits(session, width)
