"""A browser without a window, driven by the W3C WebDriver protocol over HTTP. Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key that the protocol gives an element's number
PATIENCE = 60  # seconds: a loaded machine is slow, a broken page never gets there
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--disable-dev-shm-usage"]


class BrowserError(Exception):
    """The page is not as it should be, or does not get there."""


class BrowserGone(Exception):
    """No verdict on a page: the browser did not start, or has crashed."""


GONE = ("session not created", "invalid session id", "tab crashed", "disconnected", "not reachable", "unable to discover")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Browser:
    """`with Browser() as browser:` starts chromedriver and Chromium with a profile of their own and ends both."""

    def __init__(self, width=1280, height=900):
        self.size = (width, height)

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="forerun-browser-")
        port = free_port()
        try:
            self.driver = subprocess.Popen([shutil.which("chromedriver") or "chromedriver", f"--port={port}"],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except OSError as error:
            raise BrowserGone(f"chromedriver does not start: {error}") from error
        self.root = f"http://127.0.0.1:{port}"
        try:
            try:
                self.wait(self.ready, "chromedriver")
            except BrowserError as error:
                raise BrowserGone(str(error)) from error
            options = [*OPTIONS, f"--user-data-dir={self.profile}", f"--window-size={self.size[0]},{self.size[1]}"]
            wanted = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"}, "goog:chromeOptions": {"args": options}}
            session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self.root += f"/session/{session['sessionId']}"
            self.call("POST", "/timeouts", {"script": PATIENCE * 1000, "pageLoad": PATIENCE * 1000})
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            if "/session/" in self.root:
                self.call("DELETE", "")
        except (BrowserError, BrowserGone):
            pass
        self.driver.terminate()
        try:
            self.driver.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.driver.kill()
            self.driver.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def ready(self):
        try:
            return self.call("GET", "/status")["ready"]
        except BrowserGone:
            return False

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.root + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            told = json.load(error)["value"]
            message = f"{method} {path}: {told['error']}: {told['message']}"
            kind = BrowserGone if any(sign in message for sign in GONE) else BrowserError
            raise kind(message) from error
        except OSError as error:
            raise BrowserGone(f"{method} {path}: chromedriver does not answer: {error}") from error

    def wait(self, condition, what):
        """Until the condition holds; what it then returned."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.02)
        raise BrowserError(f"waited {PATIENCE} s for {what}")

    def open(self, path):
        self.call("POST", "/url", {"url": "file://" + str(path)})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def until(self, expression):
        """Until the expression is true in the page; its value."""
        return self.wait(lambda: self.run("return " + expression), expression)

    def element(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        """As a script does: what is under the header is clicked, too."""
        self.run("document.querySelector(arguments[0]).click()", selector)

    def keys(self, selector, text):
        self.call("POST", f"/element/{self.element(selector)}/value", {"text": text})

    def point(self, selector, x, y):
        """Moves the mouse over the element, `x` and `y` pixels from its top left corner."""
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})", selector)
        place = self.run("const r = document.querySelector(arguments[0]).getBoundingClientRect(); return [r.x, r.y]", selector)
        steps = [{"type": "pointerMove", "duration": 0, "x": round(place[0] + x + i), "y": round(place[1] + y)} for i in (0, 1)]
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": steps}]})

    def drag(self, selector, x, y, by):
        self.point(selector, x, y)
        steps = [{"type": "pointerDown", "button": 0}, {"type": "pointerMove", "duration": 0, "x": by, "y": 0, "origin": "pointer"},
                 {"type": "pointerUp", "button": 0}]
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": steps}]})

    def complaints(self):
        """What the page has written to the console since the last call."""
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def command(self, name, **parameters):
        """Of the DevTools protocol."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def screenshot(self, path, selector=None):
        where = f"/element/{self.element(selector)}/screenshot" if selector else "/screenshot"
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("GET", where)))
