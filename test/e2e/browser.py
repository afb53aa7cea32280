"""Headless Chromium, run by ChromeDriver, and what it has done.

SPDX-License-Identifier: 0BSD
"""
import base64
import contextlib
import json
import os
import pathlib

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from e2e import wait_for

# It sends no requests by itself, and reaches only this machine.
OPTIONS = ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage",
           "--disable-background-networking", "--disable-component-update",
           "--no-first-run", "--hide-scrollbars",
           "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")

# Runs before the page's own scripts and records their errors.
WATCH = """
window.seen = [];
addEventListener("securitypolicyviolation",
    (event) => seen.push("CSP: " + event.violatedDirective + " " +
        event.blockedURI));
addEventListener("error", (event) => seen.push("error: " + event.message));
addEventListener("unhandledrejection",
    (event) => seen.push("rejected: " + event.reason));
"""


class Browser(contextlib.AbstractContextManager):
    """One window. Leaving the context ends the browser."""

    def __init__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for option in OPTIONS:
            options.add_argument(option)
        if os.geteuid() == 0:  # Chromium's sandbox does not work for root
            options.add_argument("--no-sandbox")
        options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
        self.driver = webdriver.Chrome(
            service=Service("/usr/bin/chromedriver"), options=options)
        self.added = []
        self.size(1280, 900)

    def __exit__(self, *_):
        self.driver.quit()

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def run(self, script, *arguments):
        """Runs a function's body. Returns its result."""
        return self.driver.execute_script(script, *arguments)

    def open(self, url, before=""):
        """Opens a page. before: a script that runs before the page's."""
        self.driver.get("about:blank")
        for identifier in self.added:
            self.command("Page.removeScriptToEvaluateOnNewDocument",
                         identifier=identifier)
        self.added = [self.command("Page.addScriptToEvaluateOnNewDocument",
                                   source=WATCH + before)["identifier"]]
        self.driver.get_log("performance")
        self.driver.get(url)

    def wait(self, script, *arguments):
        """Waits until the function's result is true. Returns it."""
        return wait_for(lambda: self.run(script, *arguments),
                        f"{script} {arguments}")

    def wait_text(self, selector, text):
        return self.wait("""
            const found = document.querySelector(arguments[0]);
            return found && found.textContent.includes(arguments[1]);
            """, selector, text)

    def count(self, selector):
        """The number of elements that match."""
        return self.run("""
            return document.querySelectorAll(arguments[0]).length;""", selector)

    def style(self, selector, name):
        return self.run("""
            return getComputedStyle(document.querySelector(arguments[0]))[
                arguments[1]];""", selector, name)

    def requests(self):
        """The URLs that were requested since the page was opened."""
        messages = [json.loads(entry["message"])["message"]
                    for entry in self.driver.get_log("performance")]
        return [message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]

    def key(self, key, code=0, text=""):
        """Presses and releases a key, such as "Tab"."""
        for kind in ("keyDown", "keyUp"):
            self.command("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                         windowsVirtualKeyCode=code,
                         **({"text": text} if kind == "keyDown" else {}))

    def size(self, width, height, ratio=1, dark=False):
        self.command("Emulation.setDeviceMetricsOverride", width=width,
                     height=height, deviceScaleFactor=ratio, mobile=False)
        self.command("Emulation.setEmulatedMedia", features=[{
            "name": "prefers-color-scheme",
            "value": "dark" if dark else "light"}])
        self.driver.execute_async_script("""
            requestAnimationFrame(() => requestAnimationFrame(arguments[0]));
            """)  # returns once the page has drawn at the new size

    def screenshot(self, path, whole=False):
        data = self.command("Page.captureScreenshot",
                            captureBeyondViewport=whole)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def memory(self):
        """Bytes of the scripts' heap, nodes and listeners, without garbage. The
        page runs on and leaves garbage: returns the least of several looks."""
        self.command("Performance.enable")
        looks = []
        for _ in range(8):
            self.command("HeapProfiler.collectGarbage")
            found = {each["name"]: each["value"] for each in
                     self.command("Performance.getMetrics")["metrics"]}
            looks.append((found["JSHeapUsedSize"], found["Nodes"],
                          found["JSEventListeners"]))
        return tuple(min(each) for each in zip(*looks))
