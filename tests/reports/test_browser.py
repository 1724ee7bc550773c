"""The report and the live page in a real browser: sorting, hovering, modes, access, no network."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from projected_kmeans import ProjectedKMeans
from projected_kmeans.demo.comparison import run_demo, write_demo
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.live_fit import watch_fit
from projected_kmeans.reports.page import render_report, write_page
from projected_kmeans.reports.page_server import PageServer
from projected_kmeans.reports.sample import MAX_MAP_ROWS
from projected_kmeans.reports.values import ClusterFacts, DataFacts, Report, RowMap, SilhouetteFacts
from projected_kmeans.results import FitState
from tests.support.browser import DESK, IS_INSTALLED, PHONE, Browser

pytestmark = pytest.mark.skipif(
    not IS_INSTALLED,
    reason="chromium, chromedriver, selenium or axe-core-python is missing; install them to test "
    "the pages in a browser",
)

EVIL = "<script>alert(1)</script>"

# Members of a cluster are folded; some are opened.
OPEN_MEMBERS = (
    "for (const one of [...document.querySelectorAll('.member')].slice(0, 2)) one.open = true"
)

# The view of the map, for versions of Bokeh that keep views in a list or by name.
FIRST_PLOT = "const view = Object.values(Bokeh.index)[0] || [...Bokeh.index][0];"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return the browser that all tests share."""
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


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a report of sparse rows with a vocabulary and true labels."""
    stream = np.random.default_rng(0)
    topics = np.repeat(np.arange(6), 50)
    rows = scipy.sparse.random(300, 200, density=0.03, format="csr", random_state=1).tolil()
    for row, topic in enumerate(topics):
        rows[row, 20 * topic + stream.integers(20, size=6)] = 2.0
    model = ProjectedKMeans(6, random_state=0).fit(rows.tocsr())
    page = tmp_path_factory.mktemp("texts") / "report.html"
    model.to_html(
        rows.tocsr(), page, feature_names=[f"word{i}" for i in range(200)], true_labels=topics
    )
    return page.as_uri()


@pytest.fixture(scope="module")
def cosine(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a report of directions in 30 clusters, some of which overlap."""
    stream = np.random.default_rng(1)
    rows = stream.normal(size=(30, 40))[np.arange(600) % 30] + 0.7 * stream.normal(size=(600, 40))
    model = ProjectedKMeans(30, metric="cosine", random_state=0, n_init=1).fit(rows)
    page = tmp_path_factory.mktemp("cosine") / "report.html"
    model.to_html(rows, page, name="embeddings")
    return page.as_uri()


PAGES = ("demo", "table", "texts", "cosine")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole_at_a_desk(
    browser: Browser, request: pytest.FixtureRequest, page: str
) -> None:
    """No error, no request, no overflow, and no barrier in light and in dark."""
    address = request.getfixturevalue(page)
    browser.show(address)
    browser.run(OPEN_MEMBERS)
    assert browser.overflow() <= 0
    assert browser.barriers() == []
    browser.set_mode("dark")  # changes colours and nothing else
    assert browser.barriers("color-contrast") == []
    browser.take_screenshot(f"{page}-dark-desk")
    assert browser.errors() == []
    assert browser.requests() == [address]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole_on_a_phone(
    browser: Browser, request: pytest.FixtureRequest, page: str
) -> None:
    """No error, no request and no overflow on a narrow screen in dark mode."""
    address = request.getfixturevalue(page)
    browser.show(address, PHONE, "dark")
    browser.run(OPEN_MEMBERS)
    assert browser.errors() == []
    assert browser.requests() == [address]
    assert browser.overflow() <= 0
    browser.take_screenshot(f"{page}-dark-phone")


def test_the_checks_can_fail(browser: Browser, table: str) -> None:
    """An error, a wide element and a picture without a text are noticed."""
    browser.show(table)
    browser.run(
        "document.body.insertAdjacentHTML('beforeend',"
        " '<div style=\"width: 3000px\"><img src=\"missing.png\"></div>'); console.error('oh')"
    )
    browser.wait(lambda: len(browser.errors()) > 0)
    assert browser.overflow() > 0
    assert any(barrier.startswith("image-alt") for barrier in browser.barriers("image-alt"))


def test_tables_sort_by_mouse_and_keyboard(browser: Browser, demo: str) -> None:
    """A click on a heading sorts up, Enter on the same heading sorts down; aria-sort follows."""
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
    """Hovering over a point of the map shows its row and cluster."""
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


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_numbers_on_the_map_do_not_overlap(
    browser: Browser, cosine: str, size: tuple[int, int]
) -> None:
    """All numbers of centers are apart at any width, and after a zoom."""
    browser.show(cosine, size)
    nearest = (
        f"{FIRST_PLOT} const {{x, y, center_x: cx, center_y: cy}} = view.model.renderers"
        ".find((one) => one.name === 'map-numbers').data_source.data, frame = view.frame;"
        "const draw = (a, b) => [...a].map("
        "  (one, i) => [frame.x_scale.compute(one), frame.y_scale.compute(b[i])]);"
        "const least = (some) => Math.min(...some.flatMap((one, i) => some.slice(i + 1).map("
        "  (other) => Math.hypot(one[0] - other[0], one[1] - other[1]))));"
        "return [least(draw(x, y)), least(draw(cx, cy))]"
    )
    apart, centers = browser.run(nearest)
    assert centers < 20 < 22 < apart
    browser.driver.find_element("id", "map-zoom-out").click()
    browser.wait(lambda: browser.run(nearest)[0] > 22 > browser.run(nearest)[1])


def test_one_cluster_can_be_shown_alone(browser: Browser, table: str) -> None:
    """Choosing a cluster selects its points on the map; the reset button selects none."""
    from selenium.webdriver.support.ui import Select

    browser.show(table)
    source = (
        f"{FIRST_PLOT} const data = view.model.renderers"
        ".find((one) => one.name === 'map-rows').data_source;"
    )
    chosen = f"{source} return data.selected.indices.map((index) => data.data.cluster[index])"
    Select(browser.driver.find_element("id", "map-cluster")).select_by_value("2")
    labels = browser.run(chosen)
    assert len(labels) == browser.run(f"{source} return data.data.cluster").count(2)
    assert len(labels) > 50  # of about 60 rows around each of four means
    assert set(labels) == {2}
    browser.driver.find_element("id", "map-zoom-in").click()
    browser.driver.find_element("id", "map-reset").click()
    assert browser.run(chosen) == []


def test_a_script_in_a_name_stays_text(browser: Browser, table: str) -> None:
    """Names that look like scripts are shown as text and do not run."""
    browser.show(table)
    browser.run(OPEN_MEMBERS)
    assert browser.driver.find_element("tag name", "h1").text == EVIL
    heads = browser.driver.find_elements("css selector", "#members th")
    assert EVIL in [head.text for head in heads]
    assert browser.run("return document.scripts.length") == 3


def test_a_million_rows_open_in_three_seconds(
    browser: Browser, report: Report, tmp_path: Path
) -> None:
    """The page of a million rows and a thousand clusters is below 5 MB and opens in 3 s.

    Seconds are processor time of the page's process, because other programs share the machine.
    """
    stream = np.random.default_rng(0)
    rows = np.sort(stream.choice(1_000_000, MAX_MAP_ROWS, replace=False))
    coordinates = (tuple(stream.normal(size=n).tolist()) for n in (MAX_MAP_ROWS,) * 2 + (1000,) * 2)
    large = Report(
        replace(
            report.facts,
            data=DataFacts("million.npy", (1_000_000, 784), "float32"),
            results=replace(report.facts.results, cluster_sizes=(1000,) * 1000, n_components=64),
        ),
        tuple(
            ClusterFacts(
                label,
                *(1000, 5.0, 1.0, 9.0),
                summary="high first column, low second column, high third column",
                representative=label,
                representative_name=f"folder/of/images/{label:08}.png",
                silhouette=0.1,
                nearest=(label + 1) % 1000,
                majority="some label",
                purity=0.5,
            )
            for label in range(1000)
        ),
        silhouette=SilhouetteFacts(0.1, 2000),
        row_map=RowMap(tuple(rows.tolist()), tuple((rows % 1000).tolist()), *coordinates, kept=0.3),
    )
    page = write_page(render_report(large), tmp_path / "million.html")
    assert page.stat().st_size < 5e6
    browser.show("about:blank")
    before = browser.cpu_seconds()
    browser.show(page.as_uri())
    assert 0 < browser.cpu_seconds() - before < 3.0
    assert browser.errors() == []


def test_the_live_page_stops_the_fit_and_becomes_the_report(browser: Browser) -> None:
    """The page shows a running fit, its button stops the fit, and then the report appears."""
    rows = np.random.default_rng(0).normal(size=(400, 20))
    pace = threading.Event()

    def slow_down(state: FitState) -> None:
        if state.step == "cluster":
            pace.wait(0.2)

    with watch_fit("rows.npy", 6) as (live, address):
        model = ProjectedKMeans(6, projection=None, solver="lloyd", tol=0, random_state=0)
        model.set_params(n_init=9, callback=live.listen(slow_down))
        work = threading.Thread(target=model.fit, args=(rows,))
        work.start()
        browser.show(address, PHONE)
        browser.wait("return document.getElementById('step').textContent.startsWith('cluster')")
        browser.wait("return document.querySelector('polyline').points.length > 1")
        left = browser.run("return document.getElementById('left').textContent")
        assert left.startswith("at most")
        assert browser.overflow() <= 0
        assert browser.barriers() == []
        browser.take_screenshot("live-light-phone")
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
    """With the headers of the server the report still has its plots, and loads nothing else."""
    page = Path(table.removeprefix("file://")).read_text("utf-8")
    with PageServer(lambda: page) as server:
        browser.show(server.address, mode="dark")
        assert browser.run("return document.documentElement.dataset.plots") == "ready"
        assert all(asked.startswith(server.address) for asked in browser.requests())
        assert browser.errors() == []
