#!/usr/bin/python3
"""The page of `proffer ui` in a real browser, against a real cluster.

    tests/web/page_test.py BIN [--screenshots DIRECTORY] [--axe FILE] [TEST…]

BIN has the programs. FILE is axe-core's, which tools/axe installs. It needs Debian's chromium, chromium-driver and python3-selenium.
"""

import json
import os
import pathlib
import shutil
import signal
import sys
import unittest
import urllib.error
import urllib.request

import real_cluster
from real_cluster import DEADLINE, Cluster, PageCase, Process
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

SCREENSHOTS = None
AXE = None
NOBODY = 65534


class Page(PageCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(3)
        cls.ui = Process(cls.cluster.words("ui"))
        cls.link = cls.ui.line_with("http://")
        cls.browser = real_cluster.start_browser()
        cls.browser.get(cls.link)
        cls.urls = []
        cls.complaints = []

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.ui.end()
        cls.cluster.end()

    # --- helpers ---------------------------------------------------------------------------------

    def picture(self, name):
        if SCREENSHOTS:
            self.browser.save_screenshot(str(SCREENSHOTS / f"{name}.png"))

    def keep_logs(self):
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.urls.append(message["params"]["request"]["url"])
        self.complaints += self.browser.get_log("browser")

    def tearDown(self):
        self.keep_logs()

    def start_task(self, name, *more, command=None):
        task = Process(self.cluster.words("run", "--name", name, *more, "--", command or
                                          f"echo hello from {name}; exec sleep 1000"))
        self.addCleanup(task.end)
        self.eventually(lambda: any(row["framework"].startswith(name) and row["state"] == "running"
                                    for row in self.cluster.told("tasks")["tasks"]),
                        f"{name} does not run: {task.lines}")
        return task

    # --- the tests -------------------------------------------------------------------------------

    def test_numbers_are_those_of_the_api(self):
        self.cluster.proffer("role", "set", "ads/batch", "--weight", "2.5", "--limit", "cpus:3")
        self.start_task("first", "--cpus", "1", "--mem", "64", "--role", "ads/batch")
        # The page also agrees with the API at the end of churn.
        for _ in range(5):
            self.cluster.proffer("run", "--cpus", "0.5", "--mem", "32", "--", "true")

        self.show("cluster")
        self.until_live()

        def figures_agree():
            status = self.cluster.told("status")
            wanted = {key: str(status[key]) for key in (
                "agents_connected", "frameworks_connected", "tasks_running", "tasks_ended")}
            wanted["agents_away"] = str(status["agents_disconnected"] + status["agents_unreachable"])
            return all(self.text_of(f"[data-figure={key}]") == value for key, value in wanted.items())
        self.eventually(figures_agree, "the figures differ")
        self.assertIn("cpus 1", self.text_of("[data-figure=allocated]"))

        def agents_agree():
            rows = {row[0]: row for row in self.rows("Agents")}
            agents = self.cluster.told("agents")["agents"]
            return len(rows) == len(agents) and all(
                rows[agent["agent"]][5] == str(agent["tasks"]) for agent in agents)
        self.eventually(agents_agree, "the agents differ")
        self.assertIn("Map of 3 agents", self.find("canvas").get_attribute("aria-label"))
        self.picture("cluster")

        self.show("roles")

        def roles_agree():
            rows = {row[0]: row for row in self.rows("Roles, and those below them")}
            roles = self.cluster.told("role", "list")["roles"]
            return len(rows) == len(roles) and all(
                rows[role["role"].split("/")[-1]][1] == f"{role['weight']:g}" for role in roles)
        self.eventually(roles_agree, "the roles differ")
        row = next(row for row in self.rows("Roles, and those below them") if row[0] == "batch")
        self.assertEqual(row[1], "2.5")
        self.assertEqual(row[8], "cpus 3")
        self.picture("roles")

        self.show("frameworks")
        self.eventually(lambda: sorted(row[0] for row in self.rows("Frameworks")) == sorted(
            row["framework"] for row in self.cluster.told("frameworks")["frameworks"]),
            "the frameworks differ")

        self.show("tasks")
        self.eventually(lambda: [row[0] for row in self.rows("Tasks")] == [
            f"{row['framework']}/{row['task']}" for row in self.cluster.told("tasks")["tasks"]],
            "the tasks differ")

    def test_says_why_an_ask_waits(self):
        ask = Process(self.cluster.words("run", "--name", "large", "--cpus", "100", "--", "true"))
        self.addCleanup(ask.end)
        self.show("waiting")
        self.eventually(lambda: any("large" in row[0] and row[5] not in ("", "asking")
                                    for row in self.rows("Asks that are not met, and why")))
        row = next(row for row in self.rows("Asks that are not met, and why") if "large" in row[0])
        why = json.loads(self.cluster.proffer("explain", "framework", "large", "--json"))["answer"]
        self.assertEqual(row[5], why)
        self.eventually(lambda: any("large" in row[0] and row[6] == "never: no agent could run it"
                                    for row in self.rows("Asks that are not met, and why")))
        self.picture("waiting")

    def test_drains_and_takes_the_drain_back(self):
        self.show("cluster/agent-2")
        self.eventually(lambda: "Agent agent-2" in self.text_of("section.panel h3"))
        self.press("#drain")
        self.assertEqual(self.text_of("#question-title"), "Drain agent agent-2?")
        # The safe choice has the focus, and changes nothing.
        self.assertEqual(self.browser.switch_to.active_element.get_attribute("id"), "question-no")
        self.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
        self.assertIsNone(self.find("#question").get_attribute("open"))
        self.assertNotIn("drained_by_s", json.dumps(self.cluster.told("agents")))
        self.press("#drain")
        self.picture("drain")
        self.answer("Drain agent-2")
        self.eventually(lambda: "drained" in self.rows("Agents")[1][1])
        self.assertIn("drained_by_s", json.dumps(self.cluster.told("agents")["agents"][1]))
        self.press("#undrain")
        self.answer("Take back the drain of agent-2")
        self.eventually(lambda: "drained_by_s" not in json.dumps(self.cluster.told("agents")))

    def role(self, name):
        return next((row for row in self.cluster.told("role", "list")["roles"]
                     if row["role"] == name), {})

    def test_changes_a_role_and_shows_what_is_refused(self):
        self.cluster.proffer("role", "set", "eng", "--weight", "2", "--limit", "cpus:5;gpus:0")
        self.show("roles/eng")
        self.eventually(lambda: "Role eng" in self.text_of("section.panel h3"))
        self.press("#set-role")
        self.fill("Weight", "0")
        self.answer("Change eng")
        self.eventually(lambda: "must be between 0.001 and 1000" in self.text_of("#question-error"))
        self.fill("Weight", "3.5")
        self.fill("Guarantee", "cpus:1;mem:64MiB")
        self.fill("Users", "ada, root")
        # A limit of zero counts as a limit.
        self.assertIn("gpus 0", next(row[8] for row in self.rows("Roles, and those below them")
                                     if row[0] == "eng"))
        # Fields that this operator did not change keep another operator's values.
        self.cluster.proffer("role", "set", "eng", "--limit", "cpus:4")
        self.press("#question-yes")
        self.eventually(lambda: self.role("eng").get("weight") == 3.5)
        row = self.role("eng")
        self.assertEqual(row["guarantee"], {"cpus": 1, "mem": 64})
        self.assertEqual(row["limit"], {"cpus": 4})
        self.assertEqual(row["users"], ["ada", "root"])
        self.eventually(lambda: any(row[0] == "eng" and row[1] == "3.5"
                                    for row in self.rows("Roles, and those below them")))
        self.press("#unset-role")
        self.answer("Remove the settings of eng")
        self.eventually(lambda: self.role("eng") == {}, "the settings stay")

    def test_reserves_and_takes_it_back(self):
        self.show("cluster/agent-3")
        self.eventually(lambda: "Agent agent-3" in self.text_of("section.panel h3"))
        self.press("#reserve")
        self.fill("Role", "ads")
        self.fill("Resources", "cpus:200")
        self.answer("Reserve on agent-3")
        self.eventually(lambda: self.text_of("#question-error") != "", "too much is reserved")
        self.fill("Resources", "cpus:0.5;mem:64")
        self.press("#question-yes")

        def reserved():
            return self.cluster.told("agents")["agents"][2].get("reserved", [])
        self.eventually(lambda: [row["role"] for row in reserved()] == ["ads"])
        self.eventually(lambda: "cpus 0.5, mem 64 MiB for role ads" in self.text_of("ul.reserved"))
        self.picture("agent")
        self.press("button.unreserve")
        self.answer("Remove the reservation of ads")
        self.eventually(lambda: reserved() == [], "the reservation stays")

    def test_ends_a_framework_once_its_name_was_typed(self):
        self.start_task("tenant", "--cpus", "0.2", "--mem", "32")
        name = next(row["framework"] for row in self.cluster.told("frameworks")["frameworks"]
                    if row["framework"].startswith("tenant"))
        self.show(f"frameworks/{name}")
        self.eventually(lambda: name in self.text_of("section.panel h3"))
        self.press("#teardown")
        self.assertFalse(self.find("#question-yes").is_enabled())
        self.fill("Type", name[:-1])
        self.assertFalse(self.find("#question-yes").is_enabled())
        self.fill("Type", name)
        self.answer(f"End {name}")
        self.eventually(lambda: not any(
            row["framework"] == name and row["state"] == "connected"
            for row in self.cluster.told("frameworks")["frameworks"]), "it goes on")
        self.show("history")
        self.eventually(lambda: any(row[0].startswith(name + "/") and row[1].startswith("killed")
                                    for row in self.rows("Ended tasks")), "no history of it")
        self.eventually(lambda: [row[0] for row in self.rows("Ended tasks")]
                        == [f"{row['framework']}/{row['task']}"
                            for row in reversed(self.cluster.told("history")["tasks"])][:50],
                        "the history differs")

    def test_sets_and_removes_a_secret_that_it_never_shows(self):
        self.show("access")
        self.press("#set-secret")
        self.fill("Name", "password")
        self.fill("Value", "swordfish é\nand salmon")
        self.answer("Set it")
        self.eventually(lambda: [row[0] for row in self.rows("Secrets")] == ["password"])
        self.assertNotIn("swordfish", self.browser.page_source)
        file = pathlib.Path(self.cluster.home.name) / "told.yaml"
        file.write_text("name: told\nresources: 'cpus:0.1;mem:32'\n"
                        "secrets:\n  password: {env: PASSWORD}\n"
                        "command: echo so it is, \"$PASSWORD\"; exec sleep 1000\n")
        self.cluster.proffer("service", "apply", file)
        self.addCleanup(lambda: self.cluster.proffer("service", "stop", "told"))
        self.eventually(lambda: any("told" in row["task"] and row["state"] == "running"
                                    for row in self.cluster.told("tasks")["tasks"]))
        row = next(row for row in self.cluster.told("tasks")["tasks"] if "told" in row["task"])
        self.eventually(lambda: "so it is, swordfish é\nand salmon" in
                        self.cluster.proffer("logs", f"{row['framework']}/{row['task']}"))
        self.show(f"access/secret/{self.rows('Secrets')[0][1]}%2Fpassword")
        self.press("#remove-secret")
        self.answer("Remove password")
        self.eventually(lambda: self.cluster.told("secret", "list")["secrets"] == [])

    def test_shows_masters_and_offers(self):
        self.show("masters")
        self.eventually(lambda: [row[1] for row in self.rows("Masters")] == ["leads"])

    def test_tells_the_story_of_a_task_and_kills_it(self):
        self.start_task("story", "--cpus", "0.2", "--mem", "32")
        row = next(row for row in self.cluster.told("tasks")["tasks"]
                   if row["framework"].startswith("story"))
        name = f"{row['framework']}/{row['task']}"
        self.browser.execute_script("location.hash = '#/tasks/' + encodeURIComponent(arguments[0])",
                                    name)
        self.eventually(lambda: "hello from story" in self.text_of("pre.log"), "no output")
        self.eventually(lambda: "task launched" in self.text_of("section.panel ol.events"))
        blame = self.cluster.told("blame", "task", name)
        self.eventually(lambda: blame["answer"] in self.text_of("section.panel"))
        self.assertEqual([row[0] for row in self.rows("Waiting by reason")],
                         [row["reason"] for row in blame["waited"]])
        self.picture("task")
        self.press("#kill")
        self.answer(f"Kill {name}")
        self.eventually(lambda: "task ended" in self.text_of("section.panel ol.events"))
        self.eventually(lambda: "killed" in self.text_of("section.panel dl.facts"))

    def talking_task(self, name, first):
        """A task that runs `first`, then prints the lines that the returned function sends."""
        pipe = pathlib.Path(self.cluster.home.name) / f"{name}.fifo"
        os.mkfifo(pipe)
        self.start_task(name, "--cpus", "0.2", "--mem", "32", command=f"""
            {first}; exec 3<>{pipe}; while read -r line <&3; do echo "$line"; done""")
        row = next(row for row in self.cluster.told("tasks")["tasks"]
                   if row["framework"].startswith(name))
        return f"{row['framework']}/{row['task']}", lambda line: pipe.write_text(line + "\n")

    def test_goes_on_with_the_story_when_its_view_is_shown_again(self):
        name, tell = self.talking_task("talker", "echo first")
        target = "tasks/" + name.replace("/", "%2F")
        self.show(target)
        self.eventually(lambda: "first" in self.text_of("pre.log"))
        self.show("cluster")
        self.eventually(lambda: self.find("main h2").get_attribute("textContent") == "Cluster")
        tell("second")
        self.browser.back()
        self.eventually(lambda: "second" in self.text_of("pre.log"), "the output is not read again")
        tell("third")
        self.eventually(lambda: "third" in self.text_of("pre.log"), "the output is not followed")
        self.show("cluster")
        self.cluster.proffer("kill", name)
        self.show(target)
        self.eventually(lambda: "task ended" in self.text_of("section.panel ol.events"))

    def test_keeps_events_that_come_while_earlier_ones_are_asked_for(self):
        name, _ = self.talking_task("early", "echo first")
        self.show("events")
        self.eventually(lambda: any(name.split("/")[0] in line.text and "state=running" in line.text
                                    for line in self.browser.find_elements(By.CSS_SELECTOR,
                                                                           "ol.events li")))
        self.browser.execute_script("""
            window.realFetch ??= window.fetch;
            window.fetch = async (to, options) => {
              const answer = await window.realFetch(to, options);
              if (to.startsWith('/v1/events?task=')) await new Promise((go) => { window.goOn = go; });
              return answer;
            };""")
        self.addCleanup(self.answers_again)
        self.show("tasks/" + name.replace("/", "%2F"))
        self.eventually(lambda: self.browser.execute_script("return Boolean(window.goOn)"))
        self.cluster.proffer("kill", name)
        self.eventually(lambda: "task ended" in self.text_of("section.panel ol.events"))
        self.assertNotIn("task launched", self.text_of("section.panel ol.events"))
        self.browser.execute_script("window.goOn();")
        self.eventually(lambda: "task launched" in self.text_of("section.panel ol.events"))
        self.assertEqual(self.text_of("section.panel ol.events").count("task ended"), 1)

    def test_shows_the_end_of_a_long_output(self):
        name, tell = self.talking_task("long", "seq 200000")
        tell("the last line")
        self.show("tasks/" + name.replace("/", "%2F"))
        self.eventually(lambda: "the last line" in self.text_of("pre.log"))
        output = self.text_of("pre.log")
        self.assertRegex(output, r"^\[\d+ bytes before this are omitted; show all with `proffer logs "
                         + name + r"`\]\n")
        self.assertLess(len(output), 250_000)
        self.assertIn("\n199999\n200000\n", output)
        # The other output is shorter.
        self.press("input[value=stderr]")
        self.eventually(lambda: self.text_of("pre.log") == "")

    def test_another_user_is_refused_with_the_servers_words(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be another user")
        self.start_task("roots", "--cpus", "0.2", "--mem", "32")
        row = next(row for row in self.cluster.told("tasks")["tasks"]
                   if row["framework"].startswith("roots"))
        home = pathlib.Path(self.cluster.home.name)
        shutil.copy(real_cluster.BIN / "proffer", home)
        shutil.copy(real_cluster.BIN / "proffer-ui", home)
        ui = Process(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                      home / "proffer", "ui", "--master=" + self.cluster.socket], cwd="/")
        self.addCleanup(ui.end)
        before = self.browser.current_window_handle
        self.browser.switch_to.new_window("tab")
        try:
            self.browser.get(ui.line_with("http://"))
            self.until_live()
            for method, target, yes in (
                    ("drain", "cluster/agent-1", "Drain agent-1"),
                    ("kill", "tasks/" + f"{row['framework']}/{row['task']}".replace("/", "%2F"),
                     f"Kill {row['framework']}/{row['task']}")):
                self.show(target)
                self.press("#" + method)
                self.answer(yes)
                self.eventually(lambda: "may not" in self.text_of("#question-error")
                                or "nobody" in self.text_of("#question-error"),
                                "nothing is refused")
                self.press("#question-no")
        finally:
            self.keep_logs()
            self.browser.close()
            self.browser.switch_to.window(before)
        self.assertNotIn("drained_by_s", json.dumps(self.cluster.told("agents")))
        self.assertIn("running", [one["state"] for one in self.cluster.told("tasks")["tasks"]
                                  if one["framework"] == row["framework"]])

    def test_works_with_the_keyboard_and_on_a_narrow_screen(self):
        self.show("cluster")
        self.eventually(lambda: self.rows("Agents"))
        self.browser.execute_script("document.querySelector('canvas').focus()")
        self.browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
        self.eventually(lambda: self.text_of("p.unseen[aria-live]").startswith("agent-2: "))
        self.browser.switch_to.active_element.send_keys(Keys.ENTER)
        self.eventually(lambda: "Agent agent-2" in self.text_of("section.panel h3"))
        unnamed = self.browser.execute_script("""
            return [...document.querySelectorAll('input, select, button, canvas')]
                .filter((one) => one.closest('[hidden], dialog:not([open])') === null)
                .filter((one) => !(one.labels?.length || one.textContent.trim() ||
                                   one.getAttribute('aria-label')))
                .map((one) => one.outerHTML);""")
        self.assertEqual(unnamed, [])
        try:
            self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True})
            for view in ("cluster", "roles", "frameworks", "waiting", "tasks", "history",
                         "apps", "masters", "access", "events"):
                self.show(view)
                self.eventually(lambda: self.browser.execute_script(
                    "return document.querySelector('nav a[aria-current]').hash") == f"#/{view}")
                width = self.browser.execute_script("return document.documentElement.scrollWidth")
                self.assertLessEqual(width, 360, view)
            self.show("cluster")
            self.picture("narrow")
        finally:
            self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_shows_apps_and_jobs(self):
        job = self.cluster.proffer("batch", "array", "1-3", "--detach", "--name", "small", "--",
                                   "sleep", "1000").split()[-1]
        self.addCleanup(lambda: self.cluster.proffer("batch", "cancel", job))
        file = pathlib.Path(self.cluster.home.name) / "app.yaml"
        file.write_text("name: web\ninstances: 2\nresources: 'cpus:0.1;mem:32'\n"
                        "command: exec sleep 1000\n")
        self.cluster.proffer("service", "apply", file)
        self.addCleanup(lambda: self.cluster.proffer("service", "stop", "web"))
        self.show("apps")
        self.eventually(lambda: [(row[0], row[4]) for row in self.rows("Jobs that have not ended")]
                        == [(job, " 0 of 3 elements")], "the job is not shown")
        self.eventually(lambda: [(row[0], row[4]) for row in self.rows("Apps")]
                        == [("web", " 2 of 2 instances")], "the app is not shown")
        self.picture("apps")

    def answers(self, texts, is_cut=False):
        """Answers requests inside the browser: a text for each path prefix."""
        self.browser.execute_script("""
            const [texts, isCut] = arguments;
            window.realFetch ??= window.fetch;
            window.fetch = async (to, options) => {
              const path = Object.keys(texts).find((one) => to.startsWith(one));
              if (path === undefined) return window.realFetch(to, options);
              return new Response(new ReadableStream({ start(answer) {
                answer.enqueue(new TextEncoder().encode(texts[path]));
                if (isCut) answer.error(new TypeError('the connection is lost'));
                else answer.close();
              } }));
            };""", texts, is_cut)
        self.addCleanup(self.answers_again)

    def answers_again(self):
        self.browser.execute_script("window.fetch = window.realFetch ?? window.fetch;")

    def test_goes_on_after_answers_that_are_cut_or_wrong(self):
        self.show("tasks")
        self.until_live()
        self.answers({"/v1/tasks": '{"tasks": ['}, is_cut=True)
        self.eventually(lambda: "an answer was cut short" in self.text_of("#connection"))
        self.answers({"/v1/tasks": '{"tasks": 5}'})
        self.eventually(lambda: "not up to date" in self.text_of("main > p.error"))
        self.answers_again()
        self.until_live()
        self.eventually(lambda: self.text_of("main > p.error") == "", "the view is not read again")

    def test_shows_jobs_beside_a_framework_that_answers_nonsense(self):
        for job, nonsense, said in (("a", "so many apps", "the answer is no JSON"),
                                    ("b", '{"apps":5}', 'its "apps" is no list'),
                                    ("c", '{"apps":[null]}', "tells no apps")):
            self.answers({"/v1/frameworks/service/": nonsense,
                          "/v1/frameworks/batch/": json.dumps({"jobs": [{"job": job}]})})
            self.show("cluster")
            self.show("apps")
            self.eventually(lambda: said in self.text_of("main p.note"), said)
            self.eventually(lambda: [row[0] for row in self.rows("Jobs that have not ended")]
                            == [job], "jobs are not shown")

    def test_an_answer_that_comes_late_touches_no_other_question(self):
        self.browser.execute_script("""
            window.realFetch ??= window.fetch;
            window.fetch = async (to, options) => {
              const answer = await window.realFetch(to, options);
              if (to === '/v1/undrain') await new Promise((go) => { window.goOn = go; });
              return answer;
            };""")
        self.addCleanup(self.answers_again)
        self.cluster.proffer("drain", "agent-1")
        self.show("cluster/agent-1")
        self.press("#undrain")
        self.answer("Take back the drain of agent-1")
        self.eventually(lambda: self.browser.execute_script("return Boolean(window.goOn)"))
        self.press("#question-no")
        self.show("frameworks/" + self.cluster.told("frameworks")["frameworks"][0]["framework"])
        self.press("#teardown")
        self.browser.execute_async_script("""
            const done = arguments[0];
            document.addEventListener('changed', () => setTimeout(done), { once: true });
            window.goOn();""")
        self.assertIsNotNone(self.find("#question").get_attribute("open"))
        self.assertFalse(self.find("#question-yes").is_enabled(), "it is done without its name")
        self.press("#question-no")

    def test_gives_agents_up_that_the_brake_holds_back(self):
        status = self.cluster.told("status")
        self.assertNotIn("brake_lifted_until_s", status)
        self.answers({"/v1/status": json.dumps({**status, "agents_held_back": 400})})
        self.show("roles")
        self.show("cluster")
        self.eventually(lambda: "400 agents are silent" in self.text_of("main"))
        self.press("#lift-brake")
        self.answer("Give them up")
        self.eventually(lambda: self.cluster.told("status").get("brake_lifted_until_s", 0) > 0)
        self.answers_again()
        self.eventually(lambda: not self.find("#lift-brake").is_displayed())

    def test_revokes_a_key_once_its_name_was_typed(self):
        key = "k" * 40
        self.answers({"/v1/keys": json.dumps(
            {"keys": [{"key": key, "kind": "agent", "name": "far", "since_s": 1, "by": "ada"}]})})
        self.show(f"access/key/{key}")
        self.press("#revoke")
        self.fill("Type", "far")
        self.answer("Revoke the key of far")
        # The master does not know this key; the page shows its message.
        self.eventually(lambda: key[:8] in self.text_of("#question-error")
                        or "key" in self.text_of("#question-error"), "nothing is refused")
        self.press("#question-no")

    def test_takes_a_new_link_in_the_same_tab(self):
        token = "return sessionStorage.getItem('proffer-session')"
        before = self.browser.current_window_handle
        self.browser.switch_to.new_window("tab")
        try:
            self.browser.get(self.link.split("#")[0])
            self.eventually(lambda: self.text_of("#connection") == "no session")
            tokens = set()
            for _ in range(2):
                with self.ui.changed:
                    link = [line for line in self.ui.lines if line.startswith("http://")][-1]
                self.browser.get(link)
                self.eventually(lambda: self.browser.execute_script(token) not in {None, *tokens},
                                "the key is not used")
                tokens.add(self.browser.execute_script(token))
                self.until_live()
                self.ui.line_with("http://", after=self.ui.lines.index(link) + 1)
        finally:
            self.keep_logs()
            self.browser.close()
            self.browser.switch_to.window(before)

    def look_by_axe(self, where):
        """The serious findings of axe-core on the current page."""
        found = self.browser.execute_async_script(
            "const done = arguments[0]; axe.run().then((all) => done(all.violations));")
        return [f"{where}: {one['id']}: {node['html'][:200]}" for one in found
                if one["impact"] in ("serious", "critical") for node in one["nodes"]]

    def color_schemes(self):
        for scheme in ("light", "dark"):
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                "features": [{"name": "prefers-color-scheme", "value": scheme}]})
            yield scheme

    def test_w_has_no_serious_finding_of_axe(self):
        if AXE is None:
            self.skipTest("tools/axe runs it")
        self.start_task("seen", "--cpus", "0.2", "--mem", "32")
        row = next(row for row in self.cluster.told("tasks")["tasks"]
                   if row["framework"].startswith("seen"))
        ask = Process(self.cluster.words("run", "--name", "huge", "--cpus", "100", "--", "true"))
        self.addCleanup(ask.end)
        self.browser.execute_script(AXE)
        task = f"{row['framework']}/{row['task']}".replace("/", "%2F")
        serious = []
        for scheme in self.color_schemes():
            for view in ("cluster/agent-1", "roles/default", f"frameworks/{row['framework']}",
                         "waiting", f"tasks/{task}", "history", "apps", "masters", "access",
                         "events"):
                self.show(view)
                self.eventually(lambda: self.browser.execute_script(
                    "return document.querySelector('main table td, main li') !== null"))
                serious += self.look_by_axe(f"{scheme} {view}")
        self.assertEqual(serious, [])

    def test_w_has_no_dialog_with_a_serious_finding_of_axe(self):
        if AXE is None:
            self.skipTest("tools/axe runs it")
        self.start_task("asked", "--cpus", "0.2", "--mem", "32")
        row = next(row for row in self.cluster.told("tasks")["tasks"]
                   if row["framework"].startswith("asked"))
        task = f"{row['framework']}/{row['task']}".replace("/", "%2F")
        self.cluster.proffer("role", "set", "asked", "--weight", "2")
        self.cluster.proffer("reserve", "agent-1", "asked", "cpus:0.5")
        self.cluster.proffer("drain", "agent-2")
        self.addCleanup(lambda: self.cluster.proffer("undrain", "agent-2"))
        key = "k" * 40
        agents = self.cluster.told("agents")["agents"]
        agents[2]["state"] = "unreachable"
        self.answers({
            "/v1/agents": json.dumps({"agents": agents}),
            "/v1/status": json.dumps({**self.cluster.told("status"), "agents_held_back": 400}),
            "/v1/keys": json.dumps({"keys": [
                {"key": key, "kind": "agent", "name": "far", "since_s": 1, "by": "ada"}]}),
            "/v1/secrets": json.dumps({"secrets": [
                {"name": "password", "owner": "root", "since_s": 1}]})})
        self.browser.execute_script(AXE)
        dialogs = (("roles/asked", "#set-role"), ("roles/asked", "#unset-role"),
                   ("cluster/agent-1", "#drain"), ("cluster/agent-2", "#undrain"),
                   ("cluster/agent-1", "#reserve"), ("cluster/agent-1", "button.unreserve"),
                   ("cluster/agent-3", "#gone"), ("cluster", "#lift-brake"),
                   (f"access/key/{key}", "#revoke"), ("access", "#set-secret"),
                   ("access/secret/root%2Fpassword", "#remove-secret"),
                   (f"frameworks/{row['framework']}", "#teardown"),
                   (f"frameworks/{row['framework']}", "#kill-all"), (f"tasks/{task}", "#kill"))
        serious = []
        for scheme in self.color_schemes():
            for view, button in dialogs:
                self.show(view)
                self.press(button)
                self.eventually(lambda: self.find("#question").get_attribute("open") is not None)
                # The dialog as after a refusal.
                self.browser.execute_script(
                    "document.getElementById('question-error').textContent = 'it is refused';")
                self.picture(f"dialog-{scheme}-{button.strip('#').replace('.', '-')}")
                serious += self.look_by_axe(f"{scheme} {view} {button}")
                self.press("#question-no")
        self.assertEqual(serious, [])

    # The last test but two, since it ends the master of `proffer dev`.
    def test_x_goes_on_after_the_master_was_killed(self):
        self.show("events")
        self.until_live()
        self.eventually(lambda: "master leads" in self.text_of("ol.events"))
        self.cluster.kill_master()
        self.eventually(lambda: self.text_of("#connection").startswith("not connected since "))
        self.assertIn("lost", self.find("#connection").get_attribute("class"))
        self.cluster.start_master()
        self.until_live()
        self.eventually(lambda: "cut_off" in self.text_of("ol.events"), "the new leader is not told")
        self.eventually(lambda: len([1 for agent in self.cluster.told("agents")["agents"]
                                     if agent["state"] == "connected"]) == 3)
        self.cluster.proffer("run", "--name", "after", "--", "true")
        self.eventually(lambda: "framework=after-" in self.text_of("ol.events"))
        places = self.places_of_events()
        self.assertEqual(places, sorted(set(places), reverse=True))
        self.picture("events")
        self.show("cluster")
        self.eventually(lambda: self.text_of("[data-figure=agents_connected]") == "3")

    def test_y_gives_a_lost_agent_up_once_its_name_was_typed(self):
        address = json.loads((self.cluster.dir / "agent-3" / "address.json").read_text())
        os.kill(address["pid"], signal.SIGKILL)
        self.show("cluster/agent-3")
        self.press("#gone")
        self.fill("Type", "agent-3")
        self.answer("Give agent-3 up")
        self.eventually(lambda: "gone" in json.dumps(self.cluster.told("agents")["agents"][2:]
                                                     or "gone"))
        self.eventually(lambda: self.text_of("[data-figure=agents_connected]") == "2")

    def test_y_only_the_browser_with_the_link_is_served(self):
        place = self.link.split("#")[0].rstrip("/")
        key = self.link.split("key=")[1]

        def status(path, headers=None, body=None):
            request = urllib.request.Request(place + path, data=body, headers=headers or {})
            try:
                with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
                    return answer.status, answer.headers
            except urllib.error.HTTPError as error:
                error.close()
                return error.code, error.headers
        self.assertEqual(status("/v1/status")[0], 401)
        self.assertEqual(status("/v1/status", {"Authorization": "Bearer x"})[0], 401)
        self.assertEqual(status("/logs?task=a/b")[0], 401)
        self.assertEqual(status("/session", body=key.encode())[0], 403, "the link works twice")
        self.assertEqual(status("/session", body=b"")[0], 403)
        self.assertEqual(status("/", {"Host": "evil.example"})[0], 421)
        self.assertEqual(status("/", {"Origin": "http://evil.example"})[0], 403)
        code, headers = status("/")
        self.assertEqual(code, 200)
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertEqual(status("/", {"If-None-Match": headers["ETag"]})[0], 304)

    def test_y_the_browser_is_given_a_file_and_not_the_key(self):
        home = pathlib.Path(self.cluster.home.name)
        fake = home / "xdg-open"
        fake.write_text("#!/bin/sh\n{ stat -c %a \"$1\"; cat \"$1\"; echo \"$@\"; echo told; "
                        "echo $$; cut -d' ' -f6 /proc/$$/stat; "
                        "readlink /proc/$$/fd/0 /proc/$$/fd/2; } "
                        f">{home}/opened.new; mv {home}/opened.new {home}/opened\n")
        fake.chmod(0o755)
        ui = Process(self.cluster.words("ui", "--open"), cwd=home,
                     env={**os.environ, "PATH": f"{home}:{os.environ['PATH']}", "TMPDIR": str(home)})
        link = ui.line_with("http://")
        self.eventually(lambda: (home / "opened").exists(), "no browser is opened")
        mode, page, words, _, pid, session, *files = (home / "opened").read_text().splitlines()
        # Ctrl-C of `proffer ui` does not end the browser, which prints nothing to its terminal.
        self.assertEqual(session, pid)
        self.assertEqual(files, ["/dev/null", "/dev/null"])
        self.assertEqual(mode, "600")
        self.assertIn(link, page)
        self.assertNotIn("key", words)
        ui.end()
        self.assertFalse(pathlib.Path(words).exists())

    def test_z_no_request_has_left_the_host_and_nothing_was_wrong(self):
        self.assertGreater(len(self.urls), 20)
        for url in self.urls:
            self.assertRegex(url, r"^(http://127\.0\.0\.1:|data:,$|chrome)", "a request left the host")
        # The browser also logs refusals of the server; only errors of scripts and of the content
        # policy are failures.
        wrong = [entry["message"] for entry in self.complaints
                 if entry["source"] in ("javascript", "security", "violation")]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    words = sys.argv[1:]
    real_cluster.BIN = pathlib.Path(words.pop(0)).resolve()
    while words and words[0] in ("--screenshots", "--axe"):
        if words[0] == "--axe":
            AXE = pathlib.Path(words[1]).read_text()
        else:
            SCREENSHOTS = pathlib.Path(words[1])
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        words = words[2:]
    unittest.main(argv=[sys.argv[0], *words], verbosity=2)
