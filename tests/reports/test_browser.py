"""The report and the live page in a real browser: sorting, hovering, modes, access, no network.

Screenshots go to build/screenshots, for people to look at; nothing is compared with them.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from projected_kmeans import ProjectedKMeans
from projected_kmeans.demo.comparison import run_demo, write_demo
from projected_kmeans.reports.build import describe_report, write_page
from projected_kmeans.reports.live_fit import watch_fit
from projected_kmeans.reports.page import render_report
from projected_kmeans.reports.page_server import PageServer
from projected_kmeans.reports.rows import MAP_ROWS
from projected_kmeans.reports.values import ClusterFacts, Report, RowMap
from projected_kmeans.results import FitState

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
DRIVER = shutil.which("chromedriver")
PACKAGES = all(find_spec(name) for name in ("selenium", "axe_core_python"))
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER and PACKAGES),
    reason="no chromium, chromedriver, selenium or axe-core-python here; install them to test the "
    "pages in a browser",
)

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
EVIL = "<script>alert(1)</script>"
DESK, PHONE = (1200, 900), (380, 780)
PATIENCE = 20.0

# The view of the map, whether this version of Bokeh keeps views in a list or by name.
FIRST_PLOT = "const view = Object.values(Bokeh.index)[0] || [...Bokeh.index][0];"


class Browser:
    """One chromium for all tests, with what they ask of it."""

    def __init__(self) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM or ""
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver: Any = webdriver.Chrome(options=options, service=Service(DRIVER or ""))
        self.driver.execute_cdp_cmd("Network.enable", {})

    def show(self, address: str, size: tuple[int, int] = DESK, mode: str = "light") -> float:
        """Open a page in a size and a mode; return the seconds until all its plots are drawn."""
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.resize(*size)
        features = [{"name": "prefers-color-scheme", "value": mode}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        begin = time.perf_counter()
        self.driver.get(address)
        self.wait("return document.documentElement.dataset.plots === 'ready' || !window.Bokeh")
        return time.perf_counter() - begin

    def resize(self, width: int, height: int) -> None:
        """Give the page a size."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def run(self, script: str, *values: Any) -> Any:
        """Run a script in the page."""
        return self.driver.execute_script(script, *values)

    def wait(self, condition: str | Callable[[], object]) -> Any:
        """Return what a script or a function gives, once it is true."""
        end = time.monotonic() + PATIENCE
        while True:
            found = self.run(condition) if isinstance(condition, str) else condition()
            if found:
                return found
            assert time.monotonic() < end, f"the page never came to: {condition}"
            time.sleep(0.05)

    def picture(self, name: str) -> None:
        """Keep a screenshot of the whole page."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        width = self.run("return innerWidth")
        self.resize(width, min(9000, self.run("return document.documentElement.scrollHeight")))
        self.driver.save_screenshot(str(SCREENSHOTS / f"{name}.png"))

    def errors(self) -> list[str]:
        """Return what the page complained of since it was opened."""
        log = self.driver.get_log("browser")
        return [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """Return the addresses that the page asked for since it was opened."""
        messages = (
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        )
        asked = [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]
        return [address for address in asked if not address.startswith("data:")]

    def barriers(self) -> list[str]:
        """Return what axe finds serious or critical in the page."""
        from axe_core_python.base import AXE_SCRIPT

        self.run(AXE_SCRIPT)
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run().then((result) => done(result.violations))"
        )
        return [
            f"{one['id']}: {one['help']}, {one['nodes'][0]['html'][:200]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        wide: int = self.run("return document.documentElement.scrollWidth - innerWidth")
        return wide


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return the one browser."""
    opened = Browser()
    yield opened
    opened.driver.quit()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of the demo's report."""
    folder = tmp_path_factory.mktemp("demo")
    return write_demo(run_demo(400, seed=0), folder)[-1].as_uri()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a report of named columns, one of which is named like a script."""
    stream = np.random.default_rng(0)
    rows = stream.normal(size=(240, 30)) + 6 * stream.normal(size=(4, 30))[np.arange(240) % 4]
    frame = pd.DataFrame(rows, columns=[EVIL, *(f"column {i}" for i in range(1, 30))])
    frame[EVIL] *= 20
    model = ProjectedKMeans(4, n_components=6, random_state=0, certificate="spectral").fit(frame)
    page = tmp_path_factory.mktemp("table") / "report.html"
    model.to_html(frame, page, name=EVIL)
    return page.as_uri()


@pytest.mark.parametrize("page", ["demo", "table"])
@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_pages_are_whole(
    browser: Browser,
    request: pytest.FixtureRequest,
    page: str,
    mode: str,
    size: tuple[int, int],
) -> None:
    """No error, no request, no overflow, no barrier, in both modes, at a desk and on a phone."""
    address = request.getfixturevalue(page)
    browser.show(address, size, mode)
    assert browser.errors() == []
    assert browser.requests() == [address]
    assert browser.overflow() <= 0
    if size == DESK:  # what axe looks at depends on colours, not on widths
        assert browser.barriers() == []
    browser.picture(f"{page}-{mode}-{size[0]}")


def test_the_checks_can_fail(browser: Browser, table: str) -> None:
    """An error, a request, a wide element and a picture without a text are all noticed."""
    browser.show(table)
    browser.run(
        "document.body.insertAdjacentHTML('beforeend',"
        " '<div style=\"width: 3000px\"><img src=\"missing.png\"></div>'); console.error('oh')"
    )
    browser.wait(lambda: len(browser.errors()) > 0)
    assert browser.overflow() > 0
    assert any(barrier.startswith("image-alt") for barrier in browser.barriers())


def test_tables_sort_by_mouse_and_keyboard(browser: Browser, demo: str) -> None:
    """A click sorts upwards, Enter on the same head downwards; aria-sort follows."""
    from selenium.webdriver.common.keys import Keys

    browser.show(demo)
    heads = browser.driver.find_elements("css selector", "#clusters th button")
    column = [head.text for head in heads].index("Rows")
    cell = browser.run("return arguments[0].closest('th').cellIndex", heads[column])

    def values() -> list[float]:
        found: list[float] = browser.run(
            "return [...document.querySelectorAll('#clusters tbody tr')]"
            ".map((row) => Number(row.cells[arguments[0]].dataset.value))",
            cell,
        )
        return found

    def sorts() -> list[str]:
        heads = "return [...document.querySelectorAll('#clusters th[aria-sort]')]"
        found: list[str] = browser.run(f"{heads}.map((head) => head.getAttribute('aria-sort'))")
        return found

    before = values()
    assert before != sorted(before)
    heads[column].click()
    assert values() == sorted(before)
    assert sorts().count("none") == len(heads) - 1
    heads[column].send_keys(Keys.ENTER)
    assert values() == sorted(before, reverse=True)
    assert "descending" in sorts()


def test_hovering_the_map_tells_row_and_cluster(browser: Browser, table: str) -> None:
    """A pointer over a point of the map shows the row's index and its cluster."""
    from selenium.webdriver import ActionChains

    browser.show(table)
    place = browser.driver.find_element("id", "plot-map")
    browser.run("arguments[0].scrollIntoView({block: 'center'})", place)
    found = browser.run(
        f"{FIRST_PLOT} const points = view.model.renderers.find((one) => one.name === 'map-rows');"
        "const data = points.data_source.data, frame = view.frame;"
        "const x = [...data.x], lowest = x.indexOf(Math.min(...x));"
        "const box = view.el.getBoundingClientRect(), place = arguments[0].getBoundingClientRect();"
        "return {row: data.row[lowest], cluster: data.cluster[lowest],"
        " x: frame.x_scale.compute(x[lowest]) + box.x - place.x - place.width / 2,"
        " y: frame.y_scale.compute(data.y[lowest]) + box.y - place.y - place.height / 2}",
        place,
    )
    chain = ActionChains(browser.driver)
    chain.move_to_element_with_offset(place, round(found["x"]) + 40, round(found["y"]))
    chain.move_to_element_with_offset(place, round(found["x"]), round(found["y"])).perform()
    text = browser.wait(
        "const seek = (node) => { let text = '';"
        "  for (const one of node.querySelectorAll('*')) if (one.shadowRoot) {"
        "    const tip = [...one.shadowRoot.querySelectorAll('.bk-tooltip-row-value')];"
        "    text += tip.map((part) => part.textContent).join(' ') + seek(one.shadowRoot); }"
        "  return text; };"
        "return seek(document.getElementById('plot-map').getRootNode())"
    )
    assert text.split() == [str(found["row"]), str(found["cluster"])]


def test_one_cluster_can_be_shown_alone(browser: Browser, table: str) -> None:
    """Choosing a cluster selects its points on the map; reset shows all again."""
    from selenium.webdriver.support.ui import Select

    browser.show(table)
    chosen = (
        f"{FIRST_PLOT} const data = view.model.renderers"
        ".find((one) => one.name === 'map-rows').data_source;"
        "return data.selected.indices.map((index) => data.data.cluster[index])"
    )
    Select(browser.driver.find_element("id", "map-cluster")).select_by_value("2")
    labels = browser.run(chosen)
    assert len(labels) == 60
    assert set(labels) == {2}
    browser.driver.find_element("id", "map-closer").click()
    browser.driver.find_element("id", "map-reset").click()
    assert browser.run(chosen) == []


def test_a_script_in_a_name_stays_text(browser: Browser, table: str) -> None:
    """Names that look like scripts are shown as they are, and nothing of them runs."""
    browser.show(table)
    assert browser.driver.find_element("tag name", "h1").text == EVIL
    heads = browser.driver.find_elements("css selector", "#members th")
    assert EVIL in [head.text for head in heads]
    assert browser.run("return document.scripts.length") == 3


def test_a_million_rows_open_in_three_seconds(browser: Browser, tmp_path: Path) -> None:
    """The page of a million rows and a thousand clusters is below 5 MB and opens in 3 s."""
    stream = np.random.default_rng(0)
    small = ProjectedKMeans(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])
    facts = describe_report(small, [[0.0], [1.0], [8.0], [9.0]]).facts
    points = stream.normal(size=(MAP_ROWS, 2)).tolist()
    rows = np.sort(stream.choice(1_000_000, MAP_ROWS, replace=False))
    results = facts.results.__class__(
        **{**vars(facts.results), "cluster_sizes": (1000,) * 1000, "n_components": 64}
    )
    data = facts.data.__class__("million.npy", (1_000_000, 784), "float32")
    report = Report(
        facts.__class__(**{**vars(facts), "data": data, "results": results}),
        tuple(ClusterFacts(label, 1000, 5.0, 1.0, 9.0) for label in range(1000)),
        row_map=RowMap(
            tuple(rows.tolist()),
            tuple((rows % 1000).tolist()),
            *map(tuple, zip(*points, strict=True)),
            *(tuple(stream.normal(size=1000).tolist()) for _ in range(2)),
            kept=0.3,
        ),
    )
    page = write_page(render_report(report), tmp_path / "million.html")
    assert page.stat().st_size < 5e6
    # Best of two, as other programs may hold the machine for a moment.
    assert min(browser.show(page.as_uri()) for _ in range(2)) < 3.0
    assert browser.errors() == []


def test_the_live_page_stops_the_fit_and_becomes_the_report(browser: Browser) -> None:
    """The page follows a fit, its button ends it, and the report of the best result appears."""
    rows = np.random.default_rng(0).normal(size=(400, 20))
    pace = threading.Event()

    def slow_down(state: FitState) -> None:
        if state.step == "cluster":
            pace.wait(0.2)

    with watch_fit("rows.npy", 6) as (live, address):
        model = ProjectedKMeans(6, projection=None, solver="lloyd", tol=0, random_state=0)
        model.set_params(n_init=9, callback=live.listen(lambda: 30.0, slow_down))
        work = threading.Thread(target=model.fit, args=(rows,))
        work.start()
        browser.show(address, PHONE)
        browser.wait("return document.getElementById('step').textContent.startsWith('cluster')")
        browser.wait("return document.querySelector('polyline').points.length > 1")
        assert browser.run("return document.getElementById('left').textContent").startswith("about")
        assert browser.overflow() <= 0
        assert browser.barriers() == []
        browser.picture("live-light-380")
        browser.driver.find_element("id", "stop").click()
        browser.wait(lambda: live.state()["stopping"])
        pace.set()
        work.join()
        assert model.stopped_ == "callback"
        model.set_params(callback=None)
        live.finish(render_report(describe_report(model, rows, name="rows.npy")))
        browser.wait(
            "return document.querySelector('.answer').textContent.includes('kept its best')"
        )
        browser.wait("return document.documentElement.dataset.plots === 'ready'")
        assert browser.errors() == []
        assert all(asked.startswith(address) for asked in browser.requests())


def test_a_served_report_is_the_page_itself(browser: Browser, table: str) -> None:
    """Behind the server's headers the report has its plots, and asks nobody else."""
    page = Path(table.removeprefix("file://")).read_text("utf-8")
    with PageServer(lambda: page) as server:
        browser.show(server.address, mode="dark")
        assert browser.run("return document.documentElement.dataset.plots") == "ready"
        assert all(asked.startswith(server.address) for asked in browser.requests())
        assert browser.errors() == []
