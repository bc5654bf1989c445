"""Its presence puts this folder on the path: tests say `from helpers import ...`."""

from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # a slow machine is no failure
settings.load_profile("any machine")


def pytest_terminal_summary(terminalreporter):
    """Says how many tests of the full data sets ran, so that a run without them cannot pass for one with them."""
    reports = [report for report in terminalreporter.stats.get("passed", []) if report.when == "call"]
    ran = sum("real_data" in report.keywords for report in reports)
    terminalreporter.write_line(f"real-data tests: {ran} ran")
