"""A page that is not forerun's, with all that the tests ask of a browser: where it fails, a failing test tells nothing of forerun.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib

from webdriver import BrowserError

PAGE = """<!doctype html><title>control</title><svg width=50 height=50><path d="M0 0h40v40z"/></svg>
<canvas tabindex=0 width=400 height=200></canvas><script>
const canvas = document.querySelector('canvas'), seen = window.seen = [];
canvas.getContext('2d').fillRect(0, 0, 50, 50);
for (const what of ['pointermove', 'pointerdown', 'pointerup', 'keydown']) canvas.addEventListener(what, () => seen.push(what));
requestAnimationFrame(() => { document.documentElement.dataset.drawn = 'yes'; });
console.error('heard');
</script>"""


def checks(browser):
    yield "scripts and frames", lambda: browser.until("document.documentElement.dataset.drawn === 'yes'")
    yield "the console", lambda: any("heard" in line for line in browser.complaints())
    yield "shapes", lambda: browser.run("return document.querySelector('path').getBoundingClientRect().width") > 2
    yield "a canvas", lambda: browser.run("return document.querySelector('canvas').getContext('2d').getImageData(9, 9, 1, 1).data[3]") == 255
    yield "paint times", lambda: browser.run("return performance.getEntriesByType('paint').length") > 0
    yield "keys", lambda: browser.keys("canvas", "n") or browser.until("seen.includes('keydown')")
    yield "the mouse", lambda: browser.drag("canvas", 100, 100, 50) or browser.until("seen.includes('pointerup')")
    yield "printing", lambda: len(browser.command("Page.printToPDF")["data"]) > 1000
    yield "a phone's width", lambda: phone(browser) == 390


def phone(browser):
    browser.command("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=False)
    try:
        return browser.run("return window.innerWidth")
    finally:
        browser.command("Emulation.clearDeviceMetricsOverride")


def why_no_verdict(browser, folder):
    """What this browser cannot do, in words; empty: all of it."""
    path = pathlib.Path(folder) / "control.html"
    path.write_text(PAGE)
    try:
        browser.open(path)
        for what, check in checks(browser):
            if not check():
                return f"this browser fails a page of its own at {what}"
    except BrowserError as error:
        return f"this browser fails a page of its own: {error}"
    return ""
