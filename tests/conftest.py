"""Its presence puts this folder on the path: tests say `from helpers import ...`."""

from hypothesis import settings
import pytest

settings.register_profile("any machine", deadline=None)  # a slow machine is no failure
settings.load_profile("any machine")

COUNTED = {"real_data": "real-data tests", "browser": "browser tests"}


def pytest_collection_modifyitems(items):
    for item in items:
        if "chromium_page" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)


def pytest_terminal_summary(terminalreporter):
    """Says how many tests of the full data sets and of pages ran, so that a run without them cannot pass for one."""
    reports = [report for report in terminalreporter.stats.get("passed", []) if report.when == "call"]
    for marker, name in COUNTED.items():
        terminalreporter.write_line(f"{name}: {sum(marker in report.keywords for report in reports)} ran")
