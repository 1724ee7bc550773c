"""A real browser for tests of pages: chromium, driven by selenium, with axe for accessibility."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
DRIVER = shutil.which("chromedriver")
IS_INSTALLED = bool(
    CHROMIUM and DRIVER and all(find_spec(name) for name in ("selenium", "axe_core_python"))
)

# Screenshots are for people to look at; no test compares them.
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
DESK, PHONE = (1400, 900), (380, 780)
PATIENCE_SECONDS = 20.0


class Browser:
    """One chromium, with what tests ask of it."""

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
        self.driver.execute_cdp_cmd("Performance.enable", {})

    def show(self, address: str, size: tuple[int, int] = DESK, mode: str = "light") -> None:
        """Open a page with a size and a colour mode, and wait until all its plots are drawn."""
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.resize(*size)
        self.set_mode(mode)
        self.driver.get(address)
        self.wait("return document.documentElement.dataset.plots === 'ready' || !window.Bokeh")

    def set_mode(self, mode: str) -> None:
        """Switch between the colour modes "light" and "dark"."""
        features = [{"name": "prefers-color-scheme", "value": mode}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def resize(self, width: int, height: int) -> None:
        """Give the page a size in pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def run(self, script: str, *values: Any) -> Any:
        """Run a script in the page, and return its result."""
        return self.driver.execute_script(script, *values)

    def wait(self, condition: str | Callable[[], object]) -> Any:
        """Wait until a script or a function returns something true, and return that."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            found = self.run(condition) if isinstance(condition, str) else condition()
            if found:
                return found
            assert time.monotonic() < end, f"this never became true: {condition}"
            time.sleep(0.05)

    def take_screenshot(self, name: str) -> None:
        """Store a screenshot of the whole page."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        width = self.run("return innerWidth")
        self.resize(width, min(9000, self.run("return document.documentElement.scrollHeight")))
        self.driver.save_screenshot(str(SCREENSHOTS / f"{name}.png"))

    def cpu_seconds(self) -> float:
        """Return the processor time that the process of the page has used."""
        metrics = self.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return next(float(one["value"]) for one in metrics if one["name"] == "ProcessTime")

    def errors(self) -> list[str]:
        """Return the errors and warnings of the page since it was opened."""
        log = self.driver.get_log("browser")
        return [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self) -> list[str]:
        """Return the addresses that the page has requested since it was opened."""
        messages = (
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        )
        asked = [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]
        return [address for address in asked if not address.startswith("data:")]

    def barriers(self, *rules: str) -> list[str]:
        """Return the accessibility problems that axe finds.

        Without names of rules, all rules are checked.
        """
        from axe_core_python.base import AXE_SCRIPT

        self.run(AXE_SCRIPT)
        options: dict[str, Any] = {"resultTypes": ["violations"]}
        if rules:
            options["runOnly"] = rules
        found = self.driver.execute_async_script(
            "const [options, done] = arguments;"
            # What Bokeh draws inside a plot is not ours; it takes half of the time.
            "const context = {exclude: [['.plot > *']]};"
            "axe.run(context, options).then((result) => done(result.violations))",
            options,
        )
        return [f"{one['id']}: {one['help']}, {one['nodes'][0]['html'][:200]}" for one in found]

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        wide: int = self.run("return document.documentElement.scrollWidth - innerWidth")
        return wide
