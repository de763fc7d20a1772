"""Common code of the page's tests: a real cluster of `proffer dev`, other processes, and a browser.

Set BIN, where the programs are, first.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

from selenium import webdriver
from selenium.common.exceptions import (ElementClickInterceptedException, NoSuchElementException,
                                        StaleElementReferenceException)
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

BIN = pathlib.Path()
SLOWDOWN = int(os.environ.get("PROFFER_TEST_SLOWDOWN", "1"))
DEADLINE = 60 * SLOWDOWN


class Process:
    """A process in its own process group, whose lines a thread reads."""

    def __init__(self, words, **more):
        self.lines = []
        self.changed = threading.Condition()
        self.process = subprocess.Popen(
            [str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, start_new_session=True, **more)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()

    def line_with(self, part, after=0):
        def found():
            return next((line for line in self.lines[after:] if part in line), None)
        with self.changed:
            if not self.changed.wait_for(found, DEADLINE):
                raise AssertionError(f"no line with {part!r}: {self.lines}")
            return found()

    def end(self, how=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process.stdout.close()


class Cluster:
    def __init__(self, agents, resources="cpus:2;mem:512", more=()):
        self.home = tempfile.TemporaryDirectory(prefix="proffer-page-")
        # Another user connects to its socket.
        os.chmod(self.home.name, 0o711)
        self.dir = pathlib.Path(self.home.name) / "cluster"
        self.dev = Process([BIN / "proffer", "dev", "--json", "--dir", self.dir, "--agents", agents,
                            "--resources", resources, *more])
        ready = json.loads(self.dev.line_with('"ready"'))
        self.socket = ready["master"]
        os.chmod(self.dir, 0o711)
        self.master = None

    def words(self, *words):
        return [BIN / "proffer", "--master=" + self.socket, *words]

    def proffer(self, *words):
        done = subprocess.run([str(word) for word in self.words(*words)], text=True,
                              cwd=self.home.name, capture_output=True, timeout=DEADLINE)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def told(self, *words):
        return json.loads(self.proffer(*words, "--json"))

    def kill_master(self):
        address = json.loads((self.dir / "master" / "address.json").read_text())
        os.kill(address["pid"], signal.SIGKILL)

    def start_master(self):
        self.master = Process([BIN / "proffer-master", f"--data_dir={self.dir / 'master'}",
                               f"--socket={self.socket}", "--heartbeat=1s"])

    def end(self):
        self.dev.end()
        if self.master:
            self.master.end(signal.SIGTERM)
        self.home.cleanup()


def start_browser():
    """Headless Chromium."""
    options = Options()
    options.binary_location = shutil.which("chromium")
    for word in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update",
                 "--disable-extensions", "--disable-sync", "--window-size=1200,900",
                 # As root, and in some containers, Chromium has no sandbox. It shows only our page.
                 "--no-sandbox",
                 # Requests to other hosts fail, and are in the log.
                 "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    return webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)


class PageCase(unittest.TestCase):
    """Tests of the page in `browser`, a member of the class."""

    def eventually(self, is_so, what=""):
        return WebDriverWait(self.browser, DEADLINE, poll_frequency=0.05,
                             ignored_exceptions=[StaleElementReferenceException]).until(
                                 lambda _: is_so(), what)

    def show(self, view):
        self.browser.execute_script("location.hash = arguments[0]", f"#/{view}")

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def text_of(self, selector):
        # In the page itself, because rows come and go.
        return self.browser.execute_script(
            "return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def rows(self, caption):
        """The cells of the rows of the table with this caption; empty for its "none" row."""
        return self.browser.execute_script("""
            const table = [...document.querySelectorAll('table')]
                .find((one) => one.caption.textContent === arguments[0]);
            return [...(table?.tBodies[0].rows ?? [])]
                .map((row) => [...row.cells].map((cell) => cell.textContent))
                .filter((cells) => cells.length > 1);""", caption)

    def places_of_events(self):
        """The events on the page, newest first, without gaps."""
        places = self.browser.execute_script("""
            return [...document.querySelectorAll('main ol.events li')]
                .filter((one) => !one.textContent.includes('gap:')).map((one) => one.dataset.seq);""")
        return [tuple(map(int, place.split("."))) for place in places]

    def until_live(self):
        self.eventually(lambda: self.text_of("#connection") == "live", "the page is not live")

    def press(self, selector):
        """Clicks when the element exists and no longer moves: content above it may still load."""
        def pressed():
            try:
                self.find(selector).click()
            except (ElementClickInterceptedException, NoSuchElementException):
                return False
            return True
        self.eventually(pressed, f"{selector} cannot be clicked")

    def answer(self, yes):
        self.eventually(lambda: self.find("#question").get_attribute("open") is not None)
        self.assertEqual(self.find("#question-yes").text, yes)
        self.press("#question-yes")

    def fill(self, label, text):
        """Writes into the dialog's field whose label begins with this."""
        field = self.browser.execute_script("""
            return [...document.querySelectorAll('#question-fields label')]
                .find((one) => one.textContent.startsWith(arguments[0]))
                .querySelector('input, textarea');""",
                                            label)
        field.clear()
        field.send_keys(text)
