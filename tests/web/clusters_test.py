#!/usr/bin/python3
"""Random idle clusters: the page, the HTTP API, the commands and /metrics have the same numbers.

    tests/web/clusters_test.py BIN [COUNT [SEED]]

SEED is the seed of the first cluster; a failure names the seed of its cluster.
"""

import decimal
import json
import os
import pathlib
import random
import re
import signal
import socket
import sys

import real_cluster
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.support.ui import WebDriverWait


def get(cluster, target):
    """The body of the master's answer on its socket."""
    with socket.socket(socket.AF_UNIX) as fd:
        fd.settimeout(real_cluster.DEADLINE)
        fd.connect(cluster.socket.replace("master.sock", "master-http.sock"))
        fd.sendall(f"GET {target} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        answer = b"".join(iter(lambda: fd.recv(65536), b""))
    return answer.split(b"\r\n\r\n", 1)[1].decode()


def number(value):
    return f"{round(value, 3):g}"


def amounts(of):
    """The amounts as web/amounts.js formats them."""
    parts = []
    for kind in ("cpus", "mem", "disk", "gpus"):
        value = of.get(kind, 0)
        if value and kind in ("mem", "disk"):
            size = f"{number(value / 1024)} GiB" if value >= 1024 else f"{number(value)} MiB"
            parts.append(f"{kind} {size}")
        elif value:
            parts.append(f"{kind} {number(value)}")
    return ", ".join(parts) or "nothing"


def percent(millionths):
    shown = decimal.Decimal(millionths / 10_000).quantize(decimal.Decimal("0.1"),
                                                          decimal.ROUND_HALF_UP)
    return f"{shown} %"


def picture(status, agents, roles, frameworks, tasks):
    """The compared figures in answers of the API or of the commands."""
    return {
        "figures": {"agents_connected": status["agents_connected"],
                    "agents_away": status["agents_disconnected"] + status["agents_unreachable"],
                    "frameworks_connected": status["frameworks_connected"],
                    "tasks_running": status["tasks_running"],
                    "tasks_staging": status["tasks_staging"],
                    "tasks_ended": status["tasks_ended"],
                    "allocated": amounts(status["allocated"]), "total": amounts(status["total"])},
        "agents": sorted((row["agent"], row["tasks"], amounts(row["allocated"])) for row in agents),
        "roles": sorted((row["role"], number(row["weight"]),
                         percent(row.get("dominant_share_millionths", 0))) for row in roles),
        "frameworks": sorted((row["framework"], row["tasks"], amounts(row["allocated"]))
                             for row in frameworks),
        "tasks": sorted((f"{row['framework']}/{row['task']}", row["agent"]) for row in tasks),
    }


def by_api(cluster):
    def rows(name):
        return json.loads(get(cluster, f"/v1/{name}"))[name]
    return picture(json.loads(get(cluster, "/v1/status")), rows("agents"), rows("roles"),
                   rows("frameworks"), rows("tasks"))


def by_commands(cluster):
    return picture(cluster.told("status"), cluster.told("agents")["agents"],
                   cluster.told("role", "list")["roles"], cluster.told("frameworks")["frameworks"],
                   cluster.told("tasks")["tasks"])


def by_metrics(cluster):
    """The compared figures in /metrics."""
    text = get(cluster, "/metrics")

    def values(name, labels):
        for found, of, amount in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE):
            told = dict(re.findall(r'(\w+)="([^"]*)"', of))
            if found == name and labels.items() <= told.items():
                yield float(amount)

    def value(name, **labels):
        for amount in values(name, labels):
            return amount
        raise AssertionError(f"/metrics has no {name} {labels}")

    def vector(name):
        of = {kind: value(name, kind=kind) for kind in ("cpus", "mem", "disk", "gpus")}
        # Metrics have bytes, the other answers have MiB.
        return amounts({**of, "mem": of["mem"] / 2**20, "disk": of["disk"] / 2**20})
    return {"agents_connected": value("proffer_agents", state="connected"),
            "agents_away": value("proffer_agents", state="disconnected") +
            value("proffer_agents", state="unreachable"),
            "frameworks_connected": value("proffer_frameworks", state="connected"),
            "tasks_running": value("proffer_tasks", state="running"),
            "tasks_staging": value("proffer_tasks", state="staging"),
            "tasks_ended": sum(values("proffer_tasks_ended_total", {})),
            "allocated": vector("proffer_resources_allocated"),
            "total": vector("proffer_resources_capacity")}


class Reader:
    """The page's figures, view by view."""

    def __init__(self, browser):
        self.browser = browser

    def rows(self, view, caption):
        return self.browser.execute_async_script("""
            const [view, caption, done] = arguments;
            location.hash = '#/' + view;
            const look = () => {
              const link = document.querySelector('nav a[aria-current]');
              const table = [...document.querySelectorAll('table')]
                  .find((one) => one.caption.textContent === caption);
              if (link?.hash !== '#/' + view || !table?.tBodies[0].rows.length) return setTimeout(look, 20);
              done([...table.tBodies[0].rows].filter((row) => row.cells.length > 1).map((row) =>
                  [row.querySelector('a')?.getAttribute('aria-label') ?? row.cells[0].textContent,
                   ...[...row.cells].slice(1).map((cell) => cell.textContent)]));
            };
            look();""", view, caption)

    def picture(self):
        agents = self.rows("cluster", "Agents")
        figures = self.browser.execute_script("""
            return Object.fromEntries([...document.querySelectorAll('[data-figure]')]
                .map((one) => [one.dataset.figure, one.textContent]));""")
        return {
            "figures": {name: int(value) if value.isdigit() else value
                        for name, value in figures.items()},
            "agents": sorted((row[0], int(row[5]), row[3]) for row in agents),
            "roles": sorted((row[0], row[1], row[2])
                            for row in self.rows("roles", "Roles, and those below them")),
            "frameworks": sorted((row[0], int(row[6]), row[5])
                                 for row in self.rows("frameworks", "Frameworks")),
            "tasks": sorted((row[0], row[2]) for row in self.rows("tasks", "Tasks")),
        }


def difference(cluster, reader):
    """The difference between the four; None if they agree."""
    api = by_api(cluster)
    page = reader.picture()
    commands = by_commands(cluster)
    metrics = by_metrics(cluster)
    # The state has changed meanwhile, or one of them is wrong: the caller asks again.
    for name, told in (("the commands", commands), ("the page", page)):
        for part, value in api.items():
            if told[part] != value:
                return f"{name}: {part} {told[part]}, and the API: {value}"
    if metrics != api["figures"]:
        return f"/metrics: {metrics}, and the API: {api['figures']}"
    return None


def make(seed):
    """A random cluster and the processes on it."""
    draw = random.Random(seed)
    cluster = real_cluster.Cluster(draw.randint(1, 4), f"cpus:{draw.randint(1, 4)};mem:{draw.choice([300, 2048])}",
                                ("--no-service", "--no-batch"))
    tasks = []
    roles = ["default", "eng", "eng/web", "ops"]
    for role in draw.sample(roles[1:], draw.randint(0, 3)):
        cluster.proffer("role", "set", role, "--weight", str(draw.choice([0.5, 2, 3.25])))
    for _ in range(draw.randint(0, 2)):
        cluster.proffer("run", "--role", draw.choice(roles), "--cpus", "0.5", "--mem", "32", "--", "true")
    if draw.random() < 0.3:
        cluster.proffer("drain", "agent-1", "--grace", "0s")
    for i in range(draw.randint(0, 4)):
        # Some tasks are too large, and wait.
        tasks.append(real_cluster.Process(cluster.words(
            "run", "--name", f"t{i}", "--role", draw.choice(roles), "--cpus",
            str(draw.choice([0.1, 0.25, 1, 50])), "--mem", "32", "--", "exec sleep 1000")))
    if draw.random() < 0.3:
        address = json.loads((cluster.dir / "agent-1" / "address.json").read_text())
        os.kill(address["pid"], signal.SIGKILL)
    return cluster, tasks


def main():
    real_cluster.BIN = pathlib.Path(sys.argv[1]).resolve()
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    browser = real_cluster.start_browser()
    browser.set_script_timeout(real_cluster.DEADLINE)
    wrong = 0
    try:
        for seed in range(first, first + count):
            cluster, tasks = make(seed)
            ui = real_cluster.Process(cluster.words("ui"))
            try:
                browser.get(ui.line_with("http://"))
                reader = Reader(browser)
                whys = []

                def agree(_):
                    whys.append(difference(cluster, reader))
                    return whys[-1] is None
                try:
                    # Not more often: a browser follows at most 200 fragment links in ten seconds.
                    WebDriverWait(browser, real_cluster.DEADLINE, poll_frequency=0.5).until(agree)
                except TimeoutException:
                    wrong += 1
                print(f"seed {seed}: {whys[-1] or 'all say the same'}", flush=True)
            finally:
                ui.end()
                for task in tasks:
                    task.end()
                cluster.end()
    finally:
        browser.quit()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
