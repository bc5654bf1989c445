"""The report page in a real browser: it draws, it can be used, it asks for nothing, and names stay names."""

import pytest

from browser import chromium_page
from hiermo.experiment.store import find_runs
from hiermo.report.page.html import report_page
from page_stores import HOSTILE, TWO, hostile, trained

__all__ = ["chromium_page"]
LINES = ".scatterlayer .trace path.js-line"  # of the curves; each series has one, and one for its band


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("pages") / "store", algorithm=TWO, evaluate={"train": True})


@pytest.fixture(scope="module")
def written(store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("html")
    for tau, pi in ((1, 2), (4, 2), (1, 5)):
        periods = {"tau": tau, "pi": pi}
        trained(folder / "sweep" / f"t{tau}p{pi}", seeds=(0,), periods=periods, model={"name": "linear"})
    plain, swept = folder / "report.html", folder / "swept.html"
    plain.write_text(report_page(find_runs([store])), encoding="utf-8")
    swept.write_text(report_page(find_runs([folder / "sweep"])), encoding="utf-8")
    bad = folder / "hostile.html"
    found = find_runs([hostile(folder / "h", store)])
    bad.write_text(report_page(found, title=HOSTILE[1]), encoding="utf-8")
    return {"plain": plain, "swept": swept, "hostile": bad}


class Opened:
    """A page with all that it said and asked for."""

    def __init__(self, page, path, width=1400, scheme="light"):
        self.page, self.said, self.asked = page, [], []
        page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("dialog", lambda dialog: (self.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"file://{path}")
        page.wait_for_selector(".plot .main-svg", timeout=20_000)
        page.wait_for_timeout(150)

    def count(self, selector):
        return self.page.locator(selector).count()

    def curves(self):
        """The lines that are drawn: their shapes."""
        found = self.page.locator(f"[id$=-plot] {LINES}")
        return [found.nth(k).get_attribute("d") for k in range(found.count())]

    def x_title(self):
        return self.page.locator("[id$=-plot] .xtitle").text_content()

    def asked_elsewhere(self):
        return [url for url in self.asked if not url.startswith(("file:", "data:", "blob:"))]

    def scrolls_down_alone(self):
        return self.page.evaluate("document.documentElement.scrollWidth") == self.page.viewport_size["width"]

    def settle(self):
        self.page.wait_for_timeout(120)


@pytest.fixture
def opened(chromium_page, written):
    pages = []

    def open_page(name, **options):
        page = chromium_page.context.new_page()
        pages.append(page)
        return Opened(page, written[name], **options)

    yield open_page
    for page in pages:
        page.close()


def test_it_opens_without_a_word_and_without_a_request(opened):
    page = opened("plain")
    assert page.said == []
    assert page.asked_elsewhere() == []
    assert len(page.curves()) == 4  # two series, each with the mean and its band
    assert page.count("table") >= 8
    headings = page.page.locator("h3:visible").all_text_contents()
    assert {"Results", "Curves", "Time to a target", "Bytes per link", "Who holds what"} <= set(headings)
    # no button leads to another host, and no link
    buttons = page.page.locator(".modebar-btn")
    names = {buttons.nth(k).get_attribute("data-title") for k in range(buttons.count())}
    assert names == {"Download plot as a PNG", "Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes"}
    assert page.count("a[href]:not([href^='#'])") == 0
    # every plot, table and control has a name
    for plot in page.page.locator(".plot:visible").all():
        assert len(plot.get_attribute("aria-label") or "") > 20
    assert page.count("table caption") == page.count("table")
    assert page.count("th:not([scope])") == 0
    fields = "[...document.querySelectorAll('input, select, button')]"
    unnamed = f"{fields}.filter((each) => !(each.labels?.length || each.textContent || each.ariaLabel))"
    assert page.page.evaluate(f"{unnamed}.length") == 0


def test_a_series_can_be_switched_off_everywhere_and_a_target_be_typed(opened):
    page = opened("plain")
    bars = page.count(".barlayer .point")
    page.page.get_by_label("HierFAVG", exact=True).uncheck()
    page.settle()
    assert len(page.curves()) == 2
    assert page.count(".barlayer .point") < bars
    page.page.get_by_label("HierFAVG", exact=True).check()
    page.settle()
    assert len(page.curves()) == 4 and page.count(".barlayer .point") == bars
    box = page.page.get_by_label("at least (%)")
    box.fill("100.0")
    page.settle()
    assert "Never reached by HierFAVG, HierMo." in page.page.locator("body").inner_text()
    box.fill("1")
    page.settle()
    assert "Never reached" not in page.page.locator("body").inner_text()
    assert page.said == []


def test_the_axis_and_the_metric_can_be_switched(opened):
    page = opened("plain")
    title, before = page.x_title(), page.curves()
    page.page.get_by_label("bytes", exact=True).check()
    page.settle()
    assert (page.x_title(), title) == (
        "bytes sent over all links, up and down",
        "iterations (local steps of every worker)",
    )
    assert page.curves() != before
    page.page.get_by_label("test loss", exact=True).check()
    page.settle()
    assert page.page.locator("[id$=-plot] .ytitle").text_content() == "test loss"
    linear = page.curves()
    page.page.get_by_label("logarithmic").check()
    page.settle()
    assert page.curves() != linear
    page.page.get_by_label("none", exact=True).check()
    page.settle()
    assert len(page.curves()) == 2  # no bands
    page.page.get_by_label("every seed").check()
    page.settle()
    assert len(page.curves()) == 2 + 4
    assert page.said == []


def test_the_keyboard_is_enough(opened):
    page = opened("plain")
    focused = "document.activeElement.id || document.activeElement.className"
    seen = []
    for _ in range(40):
        page.page.keyboard.press("Tab")
        seen.append(page.page.evaluate(focused))
        if seen[-1].endswith("-series-0"):
            break
    assert seen[0] == "skip" and "theme" in seen and any("-axis-" in each for each in seen)
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.page.evaluate(outline) == "solid"
    page.page.keyboard.press("Space")
    page.settle()
    assert len(page.curves()) == 2
    assert page.page.evaluate(focused) == seen[-1], "the focus was lost"
    page.page.locator("[id$=-axis-iteration]").focus()
    page.page.keyboard.press("ArrowRight")
    page.settle()
    assert page.x_title() == "cloud rounds"


def test_a_phone_dark_and_light(opened):
    page = opened("plain", scheme="dark", width=360)
    assert page.scrolls_down_alone()
    back = "getComputedStyle(document.body).backgroundColor"
    dark, line = page.page.evaluate(back), page.page.locator(LINES).last.get_attribute("style")
    page.page.locator("#theme").click()
    page.settle()
    assert page.page.evaluate(back) == "rgb(255, 255, 255)" != dark
    assert page.page.locator(LINES).last.get_attribute("style") != line
    assert page.said == []


def test_a_sweep_draws_its_map_on_a_phone_too(opened):
    page = opened("swept", width=360)
    page.page.wait_for_selector(".heatmaplayer image")
    assert page.scrolls_down_alone()
    assert page.said == []


def test_hostile_names_are_shown_and_nothing_runs(opened):
    page = opened("hostile")
    page.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    page.page.mouse.move(600, 500)
    page.settle()
    assert page.said == []
    assert page.asked_elsewhere() == []
    assert page.page.evaluate("window.pwned === undefined")
    assert page.page.locator("main img, main a[href^=javascript], main svg svg svg script").count() == 0
    text = page.page.locator("body").evaluate("(body) => body.textContent")
    for name in HOSTILE[:4]:
        assert name in text
    assert page.page.title() == HOSTILE[1]
    assert page.page.locator("svg text", has_text="<img src=x").count() > 0, "plotly shows it as text"
    page.page.set_viewport_size({"width": 360, "height": 800})
    page.page.reload()
    page.page.wait_for_selector(".plot .main-svg")
    assert page.scrolls_down_alone()
    assert page.said == []
