"""The explorer of the docs: its integrator is the library's, its sampler is exact, and its page works in a browser."""

import json
import runpy
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from browser import a_browser, shoot
from helpers import slow_but

ROOT = Path(__file__).parent.parent
EXPLORER = ROOT / "docs" / "explorer"
STORED = json.loads((EXPLORER / "trajectories.json").read_text(encoding="utf-8"))
FIELDS = ("position", "velocity", "energy", "log_volume")
LOAD = "const fs = require('fs'); for (const name of ['targets', 'dynamics']) require(`${process.argv[1]}/${name}.js`);"
FOLLOW = """
const { targets, integrate } = mongepatchExplorer;
const follow = ({ target, alpha, position, velocity, step_size, energy }) =>
  integrate(targets[target], alpha, position[0], velocity[0], step_size, energy.length - 1);
console.log(JSON.stringify(JSON.parse(fs.readFileSync(0)).map(follow)));
"""
STAY = """
const { targets, transition, randomFrom } = mongepatchExplorer;
const random = randomFrom(7);
const { name, alpha, stepSize, steps, chains } = JSON.parse(fs.readFileSync(0));
const exact = () => Array.from({ length: chains }, () => targets[name].fromNoise(...random.normals()));
const ends = exact().map((position) => {
  for (let k = 0; k < 3; k++) position = transition(targets[name], alpha, position, stepSize, steps, random).position;
  return position;
});
console.log(JSON.stringify({ ends, exact: exact() }));
"""


def run_node(code, given):
    """What a script prints that has the explorer's targets and dynamics, from JSON to JSON."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    done = subprocess.run(
        [node, "-e", LOAD + code, str(EXPLORER)], input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", slow_but(("funnel", "whitened", "ring", "squiggle", "banana"), "funnel", "banana"))
def test_the_stored_trajectories_are_those_of_the_library(name):
    made = runpy.run_path(str(ROOT / "scripts" / "make_trajectories.py"))["trajectories"](name)
    kept = [path for path in STORED if path["target"] == name]
    assert made
    for ours, stored in zip(made, kept, strict=True):
        assert (ours["alpha"], ours["step_size"]) == (stored["alpha"], stored["step_size"])
        for field in FIELDS:
            np.testing.assert_allclose(ours[field], stored[field], rtol=1e-9, atol=1e-9, err_msg=ours["target"])


def test_the_explorer_follows_the_stored_trajectories():
    for path, stored in zip(run_node(FOLLOW, STORED), STORED, strict=True):
        rows = {name: [row[name] for row in path] for name in ("position", "velocity", "energy")}
        rows["log_volume"] = [row["logVolume"] for row in path]
        for field in FIELDS:
            np.testing.assert_allclose(rows[field], stored[field], rtol=1e-9, atol=1e-9, err_msg=stored["target"])


@pytest.mark.parametrize(
    ("name", "alpha", "step_size", "steps"),
    slow_but(
        (
            ("funnel", 1.0, 0.2, 9),
            ("funnel", 0.0, 0.2, 9),
            ("whitened", 0.0, 0.4, 9),
            ("ring", 1.0, 0.1, 30),
            ("squiggle", 0.1, 0.01, 30),
            ("banana", 0.3, 0.1, 15),
        ),
        ("funnel", 1.0, 0.2, 9),
    ),
)
def test_the_explorers_sampler_leaves_its_targets_invariant(name, alpha, step_size, steps):
    """Chains that start from exact draws stay exact. Chains are independent, so that standard errors are simple."""
    settings = {"name": name, "alpha": alpha, "stepSize": step_size, "steps": steps, "chains": 20_000}
    found = run_node(STAY, settings)
    ends, exact = np.asarray(found["ends"]), np.asarray(found["exact"])
    for moment in (lambda x: x, np.square, lambda x: x[:, :1] * x[:, 1:], np.abs):
        ours, true = moment(ends), moment(exact)
        error = np.sqrt(ours.var(axis=0) / len(ours) + true.var(axis=0) / len(true))
        assert (np.abs(ours.mean(axis=0) - true.mean(axis=0)) < 4 * error).all()


def pixels(session):
    """What every canvas shows, as text."""
    return session.execute_script(
        "return Array.from(document.querySelectorAll('canvas'), c => c.width * c.height ? c.toDataURL() : '')"
    )


def numbers(session, panel):
    """The numbers below a panel, by name."""
    return session.execute_script(
        "return Object.fromEntries(Array.from(document.querySelectorAll(`.${arguments[0]} [data-number]`),"
        " cell => [cell.dataset.number, cell.textContent]))",
        panel,
    )


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)], ids=["desktop", "phone"])
def test_every_target_in_a_browser(tmp_path, width, height, dark):
    with a_browser(width, height, dark=dark) as session:
        session.get((EXPLORER / "index.html").as_uri())
        sentences = set()
        for name in ("funnel", "ring", "squiggle", "banana"):
            session.execute_script(f"document.querySelector('[value={name}]').click()")
            shown = [figure for figure in session.find_elements("css selector", "figure") if figure.is_displayed()]
            assert len(shown) == (3 if name == "funnel" else 2)
            sentences.add(session.find_element("id", "seen").text)
            assert session.execute_script("return document.documentElement.scrollWidth") == width
            shoot(session, tmp_path / f"{name}.png")
            assert (tmp_path / f"{name}.png").stat().st_size > 30_000
        assert len(sentences) == 4
        loaded = session.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
        assert all(name.startswith(("file:", "data:")) for name in loaded)
        assert session.get_log("browser") == []


@pytest.mark.slow
def test_controls_change_what_is_shown():
    from selenium.webdriver import ActionChains, Keys

    with a_browser(1280, 900) as session:
        session.get((EXPLORER / "index.html").as_uri())
        slider = session.find_element("id", "alpha")
        before, lmc, hmc = pixels(session), numbers(session, "lmc"), numbers(session, "hmc")
        assert float(lmc["probability"]) > 0.9
        assert float(hmc["probability"]) < 0.1
        ActionChains(session).drag_and_drop_by_offset(slider, -slider.size["width"] // 2 + 2, 0).perform()
        assert session.find_element("id", "alpha-value").text == "0"
        assert pixels(session)[0] != before[0]
        assert numbers(session, "lmc") == hmc  # α = 0 is HMC
        assert numbers(session, "hmc") == hmc

        session.find_element("id", "reset").click()
        assert numbers(session, "lmc") == lmc
        session.find_element("id", "steps").send_keys(Keys.ARROW_RIGHT)
        assert session.find_element("id", "steps-value").text == "10"
        assert numbers(session, "lmc")["cost"] == "33"

        for handle in ("start", "velocity"):
            held = numbers(session, "lmc")
            element = session.find_element("css selector", f".lmc .handle.{handle}")
            ActionChains(session).drag_and_drop_by_offset(element, 12, -15).perform()
            dragged = numbers(session, "lmc")
            assert dragged != held
            element.send_keys(Keys.ARROW_UP)
            assert numbers(session, "lmc") != dragged
        assert session.get_log("browser") == []


@pytest.mark.slow
def test_both_samplers_draw():
    from selenium.webdriver.support.wait import WebDriverWait

    with a_browser(1280, 900) as session:
        session.get((EXPLORER / "index.html").as_uri())
        button = session.find_element("id", "sample")
        button.click()
        assert button.text == "Pause"
        WebDriverWait(session, 60).until(lambda _: button.text == "Sample")  # all draws are made
        panels = {name: numbers(session, name) for name in ("lmc", "hmc", "whitened")}
        assert {shown["draws"] for shown in panels.values()} == {"4000"}
        smallest = {name: float(shown["smallest"].replace("−", "-")) for name, shown in panels.items()}
        assert max(smallest["lmc"], smallest["whitened"]) < -8 < smallest["hmc"]
        session.find_element("css selector", ".whitened .back input").click()
        assert session.get_log("browser") == []
        session.find_element("id", "clear").click()
        assert numbers(session, "hmc")["draws"] == "0"
