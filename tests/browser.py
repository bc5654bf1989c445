"""A real Chromium for tests of pages: `from browser import chromium_page`, then a test with that argument."""

from collections.abc import Iterator
import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium_binary() -> str | None:
    """The browser that HIERMO_CHROMIUM names, or the first that is installed."""
    return os.environ.get("HIERMO_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="module")  # not session: each importing module makes its own, and two at once cannot run
def chromium_page() -> Iterator[object]:
    """A page of a headless Chromium, kept for the tests of a module; `.context.new_page()` makes a fresh one."""
    binary = chromium_binary()
    if binary is None:
        pytest.skip(f"no browser: HIERMO_CHROMIUM is not set and none of {', '.join(NAMES)} is installed")
    from playwright.sync_api import sync_playwright

    alone = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses its sandbox to root
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=[*alone, "--disable-dev-shm-usage"])
        yield browser.new_context().new_page()
        browser.close()
