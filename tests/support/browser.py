"""A real Chromium for tests of pages, and the accessibility checker axe-core."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.packages import ROOT

REQUIRED = "DPFRAME_REQUIRE_CHROMIUM"
"""Where this variable is set, a missing Chromium, or a missing npm, is a failure."""

AXE = "4.14.0"
OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--no-first-run",
    "--window-size=1200,900",
)
PHONE = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}


def absent(what: str) -> None:
    """Skip the test for want of a program, or fail where it is required."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{what} is not installed")
    pytest.skip(f"{what} is not installed")


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser that is driven by its driver; both are those of the system."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        absent("chromium, or its chromedriver,")
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = str(program)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(prefix="dpframe-browser-") as folder:
        for option in (*OPTIONS, f"--user-data-dir={folder}"):
            options.add_argument(option)
        browser = Chrome(options=options, service=ChromeService(executable_path=driver))
        try:
            yield browser
        finally:
            browser.quit()


def axe() -> str:
    """The script of axe-core, fetched once from npm into the folder build, which is not part of the project."""
    script = ROOT / "build" / "axe" / AXE / "axe.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            absent("npm")
        script.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            words = [str(npm), "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder]
            done = subprocess.run([*words, f"axe-core@{AXE}"], capture_output=True, text=True, check=False)
            if done.returncode:
                absent(f"axe-core, which npm could not install ({done.stderr[-200:]!r}),")
            found = Path(folder, "node_modules", "axe-core", "axe.min.js")
            os.replace(shutil.copy(found, script.with_suffix(f".{os.getpid()}")), script)
    return script.read_text(encoding="utf-8")


def violations(browser: Any, script: str) -> list[str]:
    """What axe-core finds in the page against the levels A and AA of WCAG 2, in words."""
    browser.execute_script(script)
    rules = "{runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}}"
    found = browser.execute_async_script(
        f"const done = arguments[arguments.length - 1]; axe.run(document, {rules}).then(done, e => done(String(e)));"
    )
    assert isinstance(found, dict), found
    assert len(found["passes"]) > 10  # the checker has looked
    return [f"{each['id']}: {[node['html'][:160] for node in each['nodes'][:3]]}" for each in found["violations"]]


def resized(browser: Any, screen: dict[str, Any] | None, *, dark: bool = False) -> None:
    """Show the page on another screen: that of a phone, say, or in dark colors."""
    if screen is None:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    else:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
