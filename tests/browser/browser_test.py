"""What a reader of the HTML reports sees and does, in headless Chromium. Usage: browser_test.py FORERUN [unittest's options]

Exit code 3: a test has failed for sure (judge.py), or forerun did not write a page; 5: the browser here does not do what any page needs, or
has ended: no verdict.

SPDX-License-Identifier: Apache-2.0
"""
import sys
import tempfile
import unittest

from control import why_no_verdict
from judge import FAILED, NOT_JUDGED, judge
from pages import HOSTILE_FILE, HOSTILE_MODEL, NoPage, Pages
from webdriver import Browser, BrowserGone

CANVAS = ".timeline canvas"
DRAWN = "document.documentElement.dataset.charts === 'drawn'"
RANGE = "const c = document.querySelector('.timeline canvas').dataset; return [Number(c.from), Number(c.to)]"
SPANS = "return page.timelines[0].data.tracks.reduce((sum, track) => sum + track.start.length, 0)"


class PageTest(unittest.TestCase):
    """One browser and one set of pages for all."""

    @property
    def browser(self):
        return shared["browser"].now

    @property
    def pages(self):
        return shared["pages"]

    def open(self, path):
        self.browser.complaints()
        self.browser.open(path)
        self.browser.until(DRAWN)


class EveryPage(PageTest):
    def test_has_no_complaint_and_asks_nobody_for_anything(self):
        for path in self.pages.all:
            with self.subTest(path.name):
                self.open(path)
                self.assertEqual(self.browser.complaints(), [])
                self.assertEqual(self.browser.run("return performance.getEntriesByType('resource').map((r) => r.name)"), [])

    def test_draws_something_in_every_chart(self):
        for path in self.pages.all:
            self.open(path)
            drawn = self.browser.run("""return [...document.querySelectorAll('figure[data-chart]')].map((figure) => {
                const marks = [...figure.querySelectorAll('.plot svg g[class*=mark-]:not([class*=role-axis]) path')];
                return [figure.dataset.chart, marks.filter((mark) => mark.getBoundingClientRect().width > 2).length];
            })""")
            self.assertGreater(len(drawn), 0, path.name)
            for chart, marks in drawn:
                with self.subTest(f"{path.name}: {chart}"):
                    self.assertGreater(marks, 0)

    def test_is_told_to_those_who_do_not_see_it(self):
        for path in self.pages.all:
            with self.subTest(path.name):
                self.open(path)
                self.assertEqual(self.browser.run("return document.querySelectorAll('h1').length"), 1)
                self.assertEqual(self.browser.run("""return [...document.querySelectorAll('main section')].filter((section) =>
                    !document.getElementById(section.getAttribute('aria-labelledby'))).map((section) => section.id)"""), [])
                self.assertEqual(self.browser.run("""return [...document.querySelectorAll('.plot')].filter((plot) =>
                    !plot.getAttribute('aria-label')).length"""), 0)
                self.assertEqual(self.browser.run("""return [...document.querySelectorAll('table')].filter((table) =>
                    !table.caption.textContent || table.querySelector('thead th:not([scope=col])')).length"""), 0)

    def test_is_no_wider_than_a_phone(self):
        phone = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
        self.browser.command("Emulation.setDeviceMetricsOverride", **phone)
        try:
            for path in self.pages.all:
                with self.subTest(path.name):
                    self.open(path)
                    self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), 390)
        finally:
            self.browser.command("Emulation.clearDeviceMetricsOverride")

    def test_takes_hostile_names_for_text(self):
        for path in self.pages.all:
            with self.subTest(path.name):
                self.open(path)
                self.assertTrue(self.browser.run("return window.hostile === undefined && !document.getElementById('hostile')"))
        for path in (self.pages.hostile, self.pages.plan, self.pages.measure):
            self.open(path)
            self.assertIn(HOSTILE_MODEL, self.browser.run("return document.querySelector('h1').textContent"), path.name)
        self.open(self.pages.compare)
        self.assertIn(HOSTILE_FILE, self.browser.run("return document.querySelector('main').textContent"))

    def test_has_two_themes(self):
        for path in (self.pages.compare, self.pages.plan, self.pages.measure):
            with self.subTest(path.name):
                self.check_themes(path)

    def check_themes(self, path):
        self.open(path)
        paper = "return getComputedStyle(document.body).backgroundColor"
        before, ink = self.browser.run(paper), "return document.querySelector('.plot svg text').getAttribute('fill')"
        text = self.browser.run(ink)
        self.browser.click("#theme")
        self.assertNotEqual(self.browser.run(paper), before)
        self.assertNotEqual(self.browser.run(ink), text)

    def test_prints(self):
        for path in (self.pages.predict, self.pages.plan, self.pages.measure):
            with self.subTest(path.name):
                self.open(path)
                self.assertGreater(len(self.browser.command("Page.printToPDF")["data"]), 50_000)
                self.assertEqual(self.browser.complaints(), [])


class Timeline(PageTest):
    """Of more than a hundred thousand operators."""

    def setUp(self):
        self.open(self.pages.predict)
        self.browser.until(f"document.querySelector('{CANVAS}').dataset.to > 0")

    def middle_of_compute(self):
        return self.browser.run("""const row = page.timelines[0].view.rows.find((one) => one.track?.stream === 'compute');
            return page.timelines[0].view.axis + row.top + row.height / 2""")

    def wait_for_range(self, condition, what):
        return self.browser.wait(lambda: condition(*self.browser.run(RANGE)), what)

    def test_holds_them_in_a_file_of_less_than_15_megabytes(self):
        self.assertGreater(self.browser.run(SPANS), 100_000)
        self.assertLess(self.pages.predict.stat().st_size, 15_000_000)
        paint = self.browser.run("return performance.getEntriesByType('paint').map((p) => `${p.name} ${Math.round(p.startTime)} ms`)")
        size = self.pages.predict.stat().st_size / 1e6
        print(f"\n  {self.browser.run(SPANS):,} spans, {size:.1f} MB, {', '.join(paint)}", file=sys.stderr)

    def test_paints_kernels_and_communication(self):
        colours = self.browser.run("""const canvas = document.querySelector(arguments[0]);
            const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
            const counts = new Map();
            for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
            return [...counts.values()].filter((count) => count > 200).length""", CANVAS)
        self.assertGreater(colours, 6)

    def test_tells_the_operator_that_is_pointed_at(self):
        # The middle kernel of the first row fills the middle third.
        x = self.browser.run("""const timeline = page.timelines[0], {track} = timeline.view.rows.find((row) => row.track);
            const middle = track.start.length >> 1, length = track.duration[middle];
            timeline.show(track.start[middle] - length, track.end[middle] + length);
            return timeline.view.left + timeline.view.plotWidth / 2""")
        y = self.middle_of_compute()

        def pointed():  # again where the page's own scrolling, which closes the box, came later
            self.browser.point(CANVAS, x, y)
            return self.browser.run("return !document.querySelector('.tip').hidden")

        self.browser.wait(pointed, "a box that tells the operator")
        told = self.browser.run("return document.querySelector('.tip').textContent")
        for what in ("Operator", "Phase", "Bytes", "Begins", "Lasts"):
            self.assertIn(what, told)

    def test_zooms_by_buttons_and_back(self):
        length = self.browser.run("return page.timelines[0].data.length")
        self.browser.click(".timeline-bar [data-do=in]")
        self.wait_for_range(lambda begin, end: abs(end - begin - length / 2) < 2, "half of the step")
        self.browser.click(".timeline-bar [data-do=all]")
        self.wait_for_range(lambda begin, end: (begin, end) == (0, length), "the whole step")

    def test_zooms_and_moves_by_keys_and_says_the_operator(self):
        length = self.browser.run("return page.timelines[0].data.length")
        self.browser.keys(CANVAS, "++")
        self.wait_for_range(lambda begin, end: abs(end - begin - length / 4) < 2, "a quarter of the step")
        before = self.browser.run(RANGE)[0]
        self.browser.keys(CANVAS, "\ue014")  # right
        self.wait_for_range(lambda begin, _: begin > before, "a move to the right")
        self.browser.keys(CANVAS, "n")
        self.browser.until("document.querySelector('.timeline [aria-live]').textContent.includes('Operator')")

    def test_moves_by_dragging(self):
        self.browser.click(".timeline-bar [data-do=in]")
        before = self.browser.run("return page.timelines[0].view.from")
        self.browser.drag(CANVAS, 600, self.middle_of_compute(), 150)
        self.wait_for_range(lambda begin, _: begin < before, "an earlier time")

    def test_finds_the_same_span_as_a_look_at_all(self):
        # The search by halves against a walk, at a thousand instants of each row.
        wrong = self.browser.run("""let wrong = 0;
            for (const track of page.timelines[0].data.tracks) {
              for (let i = 0; i < 1000; ++i) {
                const time = page.timelines[0].data.length * i / 1000;
                const walked = track.end.findIndex((end) => end > time);
                if (page.firstAfter(track, time) !== (walked < 0 ? track.end.length : walked)) ++wrong;
              }
            }
            return wrong""")
        self.assertEqual(wrong, 0)


class PredictedOverMeasured(PageTest):
    """The step of a tiny model on the CPU."""

    EXTENTS = """return [0, 1].map((trace) => Math.max(...page.timelines[0].data.tracks.filter((track) => track.trace === trace)
        .map((track) => track.end.at(-1))))"""

    def setUp(self):
        self.open(self.pages.measure)
        self.browser.until(f"document.querySelector('{CANVAS}').dataset.to > 0")

    def test_every_row_that_both_have_stands_above_its_measured_one(self):
        rows = self.browser.run("return page.timelines[0].view.rows.filter((row) => row.track).map((row) => row.label)")
        self.assertEqual(rows.count("compute, predicted"), 2)  # of two stages
        for above, below in zip(rows, rows[1:]):
            if above.endswith("predicted") and above.replace("predicted", "measured") in rows:
                self.assertEqual(below, above.replace("predicted", "measured"))

    def test_both_steps_fill_the_width_until_one_scale_is_chosen(self):
        predicted, measured = self.browser.run(self.EXTENTS)
        self.assertAlmostEqual(predicted / measured, 1, delta=0.01)
        self.assertIn("at its own length", self.browser.run("return document.querySelector('.timeline-note').textContent"))
        self.browser.click(".timeline-bar [data-do=scale]")
        lengths = self.browser.run("return page.timelines[0].data.lengths")
        for told, drawn in zip(lengths, self.browser.run(self.EXTENTS)):
            self.assertAlmostEqual(drawn / told, 1, delta=0.01)
        self.assertEqual(self.browser.run("return document.querySelector('.timeline-note').textContent"), "")

    def test_an_operator_tells_its_own_time_on_either_scale(self):
        facts = """const timeline = page.timelines[0], row = timeline.view.rows.find((one) => one.label === 'compute, predicted');
            return page.spanFacts(timeline.data, row, row.track.start.length - 1)"""
        before = self.browser.run(facts)
        self.browser.click(".timeline-bar [data-do=scale]")
        self.assertEqual(self.browser.run(facts), before)

    def test_says_that_a_cpu_measures_no_gpu(self):
        self.assertIn("measures no GPU", self.browser.run("return document.querySelector('.lead').textContent"))
        heads = self.browser.run("return [...document.querySelectorAll('#difference thead th')].map((head) => head.textContent)")
        self.assertNotIn("Times as long", heads)


class DaysAndCost(PageTest):
    def test_each_candidate_has_bars_both_ways(self):
        self.open(self.pages.plan)
        lengths = self.browser.run("""return [...document.querySelectorAll('[data-chart=days_cost] .plot svg g.mark-rule line')]
            .filter((line) => line.getAttribute('stroke-opacity') === '0.45')
            .map((line) => [Math.abs(line.getAttribute('x2')), Math.abs(line.getAttribute('y2'))])""")
        self.assertEqual(len(lengths), 2 * 9)  # of nine candidates, one of them on both terms
        self.assertEqual(len([1 for along, up in lengths if along > 0]), 9)
        self.assertEqual(len([1 for along, up in lengths if up > 0]), 9)


class Tables(PageTest):
    def check_sorting(self, section, title, least):
        head = f"[...document.querySelectorAll('#{section} thead th')].find((head) => head.textContent === '{title}')"
        values = f"""const head = {head}, column = head.cellIndex;
            return [...head.closest('table').tBodies[0].rows].map((row) => row.cells[column].dataset.value)
                .filter((value) => value).map(Number)"""
        for order, descends in (("ascending", False), ("descending", True)):
            self.browser.run(f"{head}.querySelector('button').click()")
            shown = self.browser.run(values)
            self.assertGreater(len(shown), least)
            self.assertEqual(shown, sorted(shown, reverse=descends))
            self.assertEqual(self.browser.run(f"return {head}.getAttribute('aria-sort')"), order)

    def test_sort_both_ways(self):
        self.open(self.pages.compare)
        self.check_sorting("jobs", "Step time", 3)
        self.open(self.pages.plan)
        self.check_sorting("candidates", "Days", 5)
        self.check_sorting("candidates", "Cost", 5)
        self.open(self.pages.measure)
        self.check_sorting("difference", "Measured, each", 10)

    def test_keep_the_rows_that_hold_the_words(self):
        self.open(self.pages.compare)
        self.browser.keys("#jobs input[type=search]", "selective 70b")
        self.browser.until("document.querySelector('#jobs output').textContent")
        kept = self.browser.run("""return [...document.querySelectorAll('#jobs tbody tr')].filter((row) => !row.hidden)
            .map((row) => row.textContent)""")
        self.assertEqual(len(kept), 3)  # of two jobs, three degrees of tp and two kinds of recomputation
        for row in kept:
            self.assertIn("selective", row)


class OneBrowser:
    """The browser in use, and in its place a fresh one."""

    def __init__(self):
        self.now = None

    def fresh(self):
        self.end()
        self.now = Browser().__enter__()

    def end(self):
        if self.now:
            self.now.__exit__()
        self.now = None


class Runner:
    """In place of unittest's own."""

    def run(self, suite):
        return judge(suite, shared["browser"].fresh)


def verdict(folder, browser):
    browser.fresh()
    why = why_no_verdict(browser.now, folder)
    if why:
        print(f"no verdict on any page: {why}", file=sys.stderr)
        return NOT_JUDGED
    return unittest.main(testRunner=Runner(), exit=False).result.code()


shared = {}

if __name__ == "__main__":
    forerun = sys.argv.pop(1)
    with tempfile.TemporaryDirectory() as folder:
        try:
            shared.update(pages=Pages(forerun, folder), browser=OneBrowser())
        except NoPage as error:
            print(error, file=sys.stderr)
            sys.exit(FAILED)
        try:
            code = verdict(folder, shared["browser"])
        except BrowserGone as gone:
            print(f"no browser: {gone}", file=sys.stderr)
            code = NOT_JUDGED
        finally:
            shared["browser"].end()
    sys.exit(code)
