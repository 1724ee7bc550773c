"""The site of docs/ builds without a warning and refers to no other host."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import projected_kmeans

pytest.importorskip("material", reason="mkdocs-material is not installed")

ROOT = Path(__file__).parents[2]

# What a browser fetches by itself; an <a> is for people to click.
FETCHED = {"script", "link", "img", "iframe", "source", "video", "audio", "object", "embed", "use"}
OTHER_HOST = re.compile(r"^\s*(https?:)?//", re.IGNORECASE)


class References(HTMLParser):
    """Collects what the elements of a page fetch, and all that its links lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take the addresses of an element."""
        for name, value in attrs:
            if name in ("src", "href", "srcset", "data", "poster", "xlink:href") and value:
                (self.fetched if tag in FETCHED else self.links).append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, built strictly and in silence."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


def test_no_page_fetches_from_elsewhere(site: Path) -> None:
    """Scripts, styles, images and fonts are the site's own, in pages and in styles."""
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        references = References()
        references.feed(page.read_text(encoding="utf-8"))
        assert references.fetched
        assert [one for one in references.fetched if OTHER_HOST.match(one)] == [], page.name
    for style in site.rglob("*.css"):
        addresses = re.findall(r"(?:url\(|@import)\s*['\"]?([^'\")]+)", style.read_text())
        assert [one for one in addresses if OTHER_HOST.match(one)] == [], style.name


def test_what_is_fetched_is_there(site: Path) -> None:
    """Every script, style and image of a page is a file of the site, also from a folder."""
    for page in sorted(site.rglob("*.html")):
        if page.name == "404.html":  # which a server shows, with addresses from its root
            continue
        references = References()
        references.feed(page.read_text(encoding="utf-8"))
        for one in references.fetched:
            path = re.split("[?#]", one)[0]
            assert not path or path.startswith("data:") or (page.parent / path).exists(), one


def test_search_and_reference_are_complete(site: Path) -> None:
    """The search knows every page of the site, and the reference all that is public."""
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert {name or "index.html" for name in found} >= pages - {"404.html"}
    assert (site / "search" / "search_index.js").exists()
    reference = (site / "reference.html").read_text(encoding="utf-8")
    missing = [name for name in projected_kmeans.__all__ if f">{name}" not in reference]
    assert missing == []


def test_search_works_from_a_folder(site: Path) -> None:
    """Opened as a file, without a server, a page finds words of other pages; nothing is blocked."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    driver = shutil.which("chromedriver")
    if driver is None:
        pytest.skip("chromedriver is not installed")
    options = webdriver.ChromeOptions()
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,900"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.chrome.service.Service(driver)
    with webdriver.Chrome(options=options, service=service) as browser:
        browser.get((site / "howto" / "text.html").as_uri())
        box = browser.find_element("css selector", ".md-search__input")
        browser.execute_script("arguments[0].focus()", box)
        box.send_keys("certificate")
        browser.implicitly_wait(30)
        first = browser.find_element("css selector", ".md-search-result__link")
        assert "explanation/certificate.html" in first.get_attribute("href")
        assert browser.get_log("browser") == []
