"""A headless Chromium that speaks to nobody but the page it is given."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver import Chrome

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


@contextmanager
def chromium(width: int = 1440, height: int = 900) -> Iterator[Chrome]:
    """Start a browser with an empty profile, and end it."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ChromeOptions()
        options.binary_location = BROWSER or ""
        for flag in (*_FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        browser = Chrome(options=options, service=Service(DRIVER))
        try:
            browser.get("about:blank")
            requests_of(browser)  # those of the browser's own first page
            yield browser
        finally:
            browser.quit()


def resize(browser: Chrome, width: int, height: int, scale: float = 1.0) -> None:
    """Show pages at this size, as a phone does where it is narrow."""
    size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def prefer(browser: Chrome, scheme: str) -> None:
    """Let the system prefer `dark` or `light`."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def requests_of(browser: Chrome) -> list[dict[str, Any]]:
    """Return what the page has asked for since the last call: the address, and bytes received."""
    found: dict[str, dict[str, Any]] = {}
    for line in browser.get_log("performance"):
        message = json.loads(line["message"])["message"]
        params = message["params"]
        if message["method"] == "Network.requestWillBeSent":
            found[params["requestId"]] = {"url": params["request"]["url"], "bytes": 0}
        elif message["method"] == "Network.loadingFinished" and params["requestId"] in found:
            found[params["requestId"]]["bytes"] = int(params["encodedDataLength"])
    return list(found.values())
