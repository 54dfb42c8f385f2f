"""A real browser without a window, for tests that look at pages."""

import base64
import os
import shutil
from contextlib import contextmanager

import pytest

SCREENS = pytest.mark.parametrize(("name", "width", "height"), [("desktop", 1280, 900), ("phone", 390, 844)])


@contextmanager
def a_browser(width, height, *, dark=False):
    """A session of Chromium of this size; the test skips where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if not browser or not driver:
        pytest.skip("there is no Chromium with its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in (
        "--headless=new",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--hide-scrollbars",
    ):
        options.add_argument(argument)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # which root has to do without
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    session = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        session.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)  # a window has a least width
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        session.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        yield session
    finally:
        session.quit()


def shoot(session, path):
    """A picture of the whole page."""
    shot = session.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
    path.write_bytes(base64.b64decode(shot["data"]))


def assert_fits(session, width):
    """Nothing sticks out, no letter is small, and nothing is loaded from elsewhere or complained of."""
    assert session.execute_script("return document.documentElement.clientWidth") == width
    assert session.execute_script("return document.documentElement.scrollWidth") == width
    sizes = session.execute_script(
        "return Array.from(document.querySelectorAll('body *'), e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 16
    loaded = session.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert [name for name in loaded if not name.startswith("data:")] == []
    assert [entry for entry in session.get_log("browser") if entry["level"] == "SEVERE"] == []


def assert_is_drawn(session, image):
    """The picture is there."""
    assert session.execute_script("return arguments[0].complete && arguments[0].naturalWidth > 0", image)
