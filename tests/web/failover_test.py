#!/usr/bin/python3
"""A tab of the page stays open across a failover: two masters with a real ZooKeeper server.

    tests/web/failover_test.py BIN
"""

import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import real_cluster
from real_cluster import DEADLINE, PageCase, Process
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.support.ui import WebDriverWait

# On a busy machine, a master may not reach its ZooKeeper for seconds.
SESSION = 4 * real_cluster.SLOWDOWN


def eventually(is_so, what):
    WebDriverWait(None, DEADLINE, poll_frequency=0.05).until(lambda _: is_so(), what)


class ZooKeeper:
    """A server of Debian's package on a free loopback port, with its data in `home`."""

    def __init__(self, home):
        for _ in range(5):  # Somebody else may take the port before the server does.
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
            settings = home / "zoo.cfg"
            settings.write_text(f"tickTime=500\nminSessionTimeout=500\ndataDir={home}/data\n"
                                f"clientPortAddress=127.0.0.1\nclientPort={self.port}\n"
                                "admin.enableServer=false\n4lw.commands.whitelist=ruok\n")
            self.server = Process(["java", "-Xmx512m", "-XX:+UseSerialGC",
                                   "-XX:TieredStopAtLevel=1", "-cp",
                                   "/usr/share/java/zookeeper.jar:/usr/share/java/*",
                                   "org.apache.zookeeper.server.quorum.QuorumPeerMain", settings])
            try:
                eventually(lambda: self.serves() or self.server.process.poll() is not None,
                           "ZooKeeper does not start")
            except TimeoutException:
                self.server.end(signal.SIGKILL)
                raise
            if self.serves():
                return
            self.server.end(signal.SIGKILL)
        raise AssertionError(f"ZooKeeper does not start: {self.server.lines}")

    def serves(self):
        if self.server.process.poll() is not None:
            return False  # Another one answers at its port.
        try:
            with socket.create_connection(("127.0.0.1", self.port), 5) as asked:
                asked.sendall(b"ruok")
                return asked.recv(4) == b"imok"
        except OSError:
            return False


class Masters:
    def __init__(self):
        self.home = tempfile.TemporaryDirectory(prefix="proffer-failover-")
        self.dir = pathlib.Path(self.home.name)
        self.zookeeper = ZooKeeper(self.dir)
        self.processes = {}

    def start(self):
        secret = self.dir / "secret"
        secret.write_text("the secret of these tests\n")
        secret.chmod(0o600)
        for name in ("one", "two"):
            self.processes[name] = Process([
                real_cluster.BIN / "proffer-master", f"--socket={self.socket(name)}",
                f"--data_dir={self.dir / name}", f"--zk=127.0.0.1:{self.zookeeper.port}/proffer",
                f"--zk_secret_file={secret}", f"--zk_session_timeout={SESSION}s",
                "--heartbeat=500ms"])
            # The first master leads before the second one starts.
            eventually(lambda: self.ask("status").returncode == 0, "no master leads")

    def socket(self, name):
        return self.dir / f"{name}.sock"

    def words(self, *words):
        # The standby is asked first.
        return [real_cluster.BIN / "proffer",
                f"--master={self.socket('two')},{self.socket('one')}", *words]

    def ask(self, *words):
        return subprocess.run([str(word) for word in self.words(*words)], text=True,
                              capture_output=True, timeout=DEADLINE)

    def weight_of(self, role):
        answer = self.ask("role", "list", "--json")
        rows = json.loads(answer.stdout)["roles"] if answer.returncode == 0 else []
        return next((row["weight"] for row in rows if row["role"] == role), None)

    def end(self):
        for process in (*self.processes.values(), self.zookeeper.server):
            process.end(signal.SIGKILL)
        self.home.cleanup()


class OpenTab(PageCase):
    @classmethod
    def setUpClass(cls):
        cls.masters = Masters()
        cls.addClassCleanup(cls.masters.end)
        cls.masters.start()
        cls.ui = Process(cls.masters.words("ui"))
        cls.addClassCleanup(cls.ui.end)
        cls.browser = real_cluster.start_browser()
        cls.addClassCleanup(cls.browser.quit)
        cls.browser.get(cls.ui.line_with("http://"))

    def test_goes_on_with_the_next_leader(self):
        self.masters.ask("role", "set", "eng", "--weight", "2")
        self.show("masters")
        self.eventually(lambda: sorted(row[1] for row in self.rows("Masters"))
                        == ["leads", "standby"], "both masters are not shown")
        self.show("events")
        self.until_live()
        self.eventually(lambda: self.places_of_events(), "no event is shown")
        first = self.places_of_events()[0][0]

        # The next leader answers a confirmation that was opened before.
        self.show("roles/eng")
        self.press("#set-role")
        self.fill("Weight", "3.5")
        self.masters.processes["one"].end(signal.SIGKILL)
        self.eventually(lambda: self.text_of("#connection").startswith("not connected since "),
                        "the page does not say that the master is away")
        self.until_live()
        self.answer("Change eng")
        self.eventually(lambda: self.masters.weight_of("eng") == 3.5, "the role has not changed")

        self.show("events")
        self.eventually(lambda: any("role set" in event for event in self.texts("ol.events li")),
                        "the change is not told")
        places = self.places_of_events()
        self.assertEqual(places, sorted(set(places), reverse=True))
        self.assertGreater(places[0][0], first, "these are not the next leader's")
        self.assertIn(first, [leader for leader, _ in places], "those before are gone")
        self.show("masters")
        self.eventually(lambda: "leads" in [row[1] for row in self.rows("Masters")])

    def texts(self, selector):
        return self.browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)",
            selector)


if __name__ == "__main__":
    real_cluster.BIN = pathlib.Path(sys.argv[1]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
