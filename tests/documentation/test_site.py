"""The site builds without a warning, needs no network, and can be read and searched in a real browser."""

import os
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser import a_browser

pytestmark = pytest.mark.slow  # it builds all pages, and looks at each of them four times

ROOT = Path(__file__).parent.parent.parent
READABLE = 4.5
"""The least ratio of contrast between text and what is behind it, of level AA in WCAG."""

LEAST_CONTRAST = """
const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const rgba = (text) => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
};
const over = (top, below) => [0, 1, 2].map((i) => top[3] * top[i] + (1 - top[3]) * below[i]);
const behind = (element) => {
  const layers = [];
  for (let e = element; e; e = e.parentElement) {
    const layer = rgba(getComputedStyle(e).backgroundColor);
    layers.push(layer); if (layer[3] === 1) break;
  }
  return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
};
let least = [100, ""];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const text = walker.currentNode, element = text.parentElement;
  if (!text.data.trim() || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
  const background = behind(element), colour = over(rgba(getComputedStyle(element).color), background);
  const [dark, light] = [luminance(background), luminance(colour)].sort((a, b) => a - b);
  const ratio = (light + 0.05) / (dark + 0.05);
  if (ratio < least[0]) least = [ratio, element.className + ": " + text.data.trim().slice(0, 60)];
}
return least;
"""
WIDER_THAN_THE_PAGE = """
const clips = (e) => ["auto", "scroll", "hidden"].includes(getComputedStyle(e).overflowX);
const inside = (e) => e.closest("article") && (clips(e) || (e.parentElement && inside(e.parentElement)));
const wide = (e) => e.getBoundingClientRect().right > innerWidth + 1 && !inside(e);
const found = [...document.querySelectorAll("article *")].filter(wide).map((e) => e.outerHTML.slice(0, 80));
return [document.documentElement.scrollWidth - innerWidth, found.slice(0, 3)];
"""
RESULTS = "return [...document.querySelectorAll('#search-results li a')].map((a) => a.href)"
BROKEN_PICTURES = "return [...document.images].filter((e) => e.complete && !e.naturalWidth).map((e) => e.src)"


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.places = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.places.update(filter(None, (found.get("id"), found.get("name") if tag == "a" else None)))
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        elif tag in ("img", "script", "link", "iframe", "source"):
            self.loads.extend(filter(None, (found.get("src"), found.get("href"))))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built as by `make docs`."""
    for module in ("sphinx", "furo", "myst_nb", "sphinx_copybutton"):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install '.[docs]'")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "-q", "-b", "html", "docs", out]
    environment = {**os.environ, "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def pages_of(site):
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_a_network(site):
    pages = pages_of(site)
    assert len(pages) > 40
    for path, page in pages.items():
        for link in page.loads:
            assert urlsplit(link).scheme in ("", "data"), (path.name, link)
        for link in (*page.links, *page.loads):
            parts = urlsplit(link)
            if parts.scheme:
                continue
            linked = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert linked.is_file(), (path.name, link)
            if parts.fragment and linked.suffix == ".html":
                assert unquote(parts.fragment) in pages[linked].places, (path.name, link)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)], ids=["desktop", "phone"])
def test_pages_in_a_browser(site, width, height, dark):
    """No error on the console, no page wider than the screen, and all text readable; from files, without a server."""
    faults = []
    with a_browser(width, height, dark=dark) as session:
        for path in sorted(site.glob("*.html")):
            session.get(path.as_uri())
            name = path.name
            faults += [(name, entry["message"]) for entry in session.get_log("browser") if entry["level"] == "SEVERE"]
            overflow, widest = session.execute_script(WIDER_THAN_THE_PAGE)
            if overflow > 0 or widest:
                faults.append((name, f"{overflow} pixels too wide", widest))
            ratio, text = session.execute_script(LEAST_CONTRAST)
            if ratio < READABLE:
                faults.append((name, f"contrast {ratio:.2f}", text))
            faults += [(name, "no picture", source) for source in session.execute_script(BROKEN_PICTURES)]
    assert not faults


def test_the_search_finds_pages_without_a_server(site):
    wait = pytest.importorskip("selenium.webdriver.support.wait", reason="selenium is not installed")

    def found(session):  # results come one by one
        return any(link.split("?")[0].endswith("whitening.html") for link in session.execute_script(RESULTS))

    with a_browser(1280, 900) as session:
        session.get(site.joinpath("search.html").as_uri() + "?q=whitened")
        assert wait.WebDriverWait(session, 60).until(found)
