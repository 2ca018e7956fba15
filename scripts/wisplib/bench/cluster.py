"""A cluster of JGroups nodes on loopback, in a network namespace of its own, driven by JGroups' UPerf."""

import re
import shlex
import subprocess
import threading
import time
from collections import namedtuple

from .. import jdks, jvm

# spelled: words of the configuration below that are others in this release; '': it has none for it. virtual: UPerf's option
# for the senders' threads. menu: what its UPerf takes from the driver's menu only, (key, asked for, what it says then);
# oob and allow_local_gets are set as the newer ones have them.
Release = namedtuple("Release", "least_jdk version spelled virtual menu", defaults=({}, "-use_virtual_threads", ()))
RELEASES = (  # the newest that a JDK runs
    Release(17, "5.5.7.Final"),
    Release(11, "5.4.13.Final"),
    Release(8, "4.2.30.Final", {"diag.enabled": "enable_diagnostics", "VERIFY_SUSPECT2": "VERIFY_SUSPECT", ' use_vthreads="false"': ""},
            "-use_fibers", (("o", None, "oob=false"), ("l", None, "allow_local_gets=false"), ("6", "seconds", "time="),
                            ("4", "threads", "num_threads="))),
)


def release_for(jdk):
    return next(r for r in RELEASES if r.least_jdk <= jdk.major)


# join: how long a node looks for others before it founds the cluster itself. It asks six times meanwhile (num_discovery_runs):
# with one question a node on a busy machine now and then founded its own and never learned how long to run.
# vthreads is the pool that handles what is received; JGroups' default is true, whatever UPerf's own option says.
PROTOCOLS = """  <MERGE3/> <FD_ALL3 timeout="60000" interval="10000"/> <VERIFY_SUSPECT2/>
  <pbcast.NAKACK2{retransmit}/> <UNICAST3/> <pbcast.STABLE/>
  <pbcast.GMS join_timeout="{join}" print_local_addr="false"/> <UFC/> <MFC/> <FRAG2/>
</config>
"""
TRANSPORTS = {
    "TCP": '<TCP bind_addr="127.0.0.1" bind_port="7800" port_range="40" diag.enabled="false" use_vthreads="{vthreads}"/>\n'
           '  <TCPPING initial_hosts="127.0.0.1[7800]" port_range="40" num_discovery_runs="6"/>\n',
    "UDP": '<UDP bind_addr="127.0.0.1" mcast_addr="228.6.7.8" mcast_port="45588" ip_ttl="0" diag.enabled="false" '
           'use_vthreads="{vthreads}"/>\n  <PING num_discovery_runs="6"/>\n',
}
RETRANSMIT = {"TCP": ' use_mcast_xmit="false"', "UDP": ""}


def configuration(release, stack, kind, first):
    text = (TRANSPORTS[stack] + PROTOCOLS).format(
        vthreads=str(kind == jvm.VIRTUAL).lower(), retransmit=RETRANSMIT[stack], join=500 if first else 30000)
    for word, other in release.spelled.items():
        text = text.replace(word, other)
    return '<config xmlns="urn:org:jgroups">\n  ' + text


# JGroups says for each of its addresses that there is only loopback; what else it warns of is kept.
LOGGING = """handlers=java.util.logging.ConsoleHandler
.level=WARNING
org.jgroups.stack.Configurator.level=SEVERE
org.jgroups.protocols.UDP.level=SEVERE
"""
MENU, TEST = r"\[1\] Start test", "running for "  # what the driver says when it waits, and each node when a test begins
TESTS = 3  # in one cluster; the last one counts, the others warm up
# Multicast needs an interface that carries it and a route; the namespace leaves the machine's own alone.
NETWORK = "ip link set lo up && ip link set lo multicast on && ip route add 224.0.0.0/4 dev lo"


class Namespace:
    """Lives as long as its process, which waits for the end of its input."""

    def __enter__(self):
        try:
            self.holder = subprocess.Popen(["unshare", "-n", "sh", "-c", f"{NETWORK} && echo up && exec cat"],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        except OSError as error:
            raise jvm.Failure(f"unshare: {error}")
        if self.holder.stdout.readline().strip() != "up":
            why = self.holder.communicate()[1].strip()
            raise jvm.Failure(f"no network namespace of its own: {why}; needs root, util-linux and iproute2")
        return ["nsenter", "-t", str(self.holder.pid), "-n"]

    def __exit__(self, *_):
        self.holder.stdin.close()
        self.holder.wait()


def node_command(release, jdk, kind, folder, name, driver=None):
    """A node as it can be started by hand too; driver: what the node that starts the tests is told, by option."""
    # env: only java is to be preloaded, not nsenter.
    wisp = ["env", f"LD_PRELOAD={jvm.require_library()}", "WISP=1", "WISP_STATS=1"] if kind == jvm.WISP else []
    options = ["-nohup"] if driver is None else [] if release.menu else ["-time", driver["seconds"], "-threads", driver["threads"]]
    return [*wisp, f"{jdk.home}/bin/java", "-Xms64m", "-Xmx192m", "-XX:+UseSerialGC",
            f"-Djava.util.logging.config.file={folder}/logging.properties", "-Djava.net.preferIPv4Stack=true",
            "-Djgroups.bind_addr=127.0.0.1", "-cp", str(jgroups(release.version)), "org.jgroups.tests.perf.UPerf",
            "-props", f"{folder}/{'others' if driver is None else 'first'}.xml", "-name", name,
            release.virtual, str(kind == jvm.VIRTUAL).lower(), *map(str, options)]


SCRIPT = """#!/bin/sh
# The cluster that wisp bench uperf measures, to be run alone. Needs root, for a network namespace of its own.
# The first node's menu: 1 starts a test, X ends all nodes.{menu}
[ "$1" = inside ] || exec unshare -n sh "$0" inside
{network} || exit 1
(
    sleep 5  # until the first node is there
    for number in $(seq 2 {nodes}); do
        {other} > "{folder}/n$number.log" 2>&1 &
    done
) &
exec {first}
"""


def write_files(folder, release, jdk, kind, stack, nodes, driver):
    """What the nodes read, and a script that starts them, kept for the user."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "logging.properties").write_text(LOGGING)
    for file, first in (("first.xml", True), ("others.xml", False)):
        (folder / file).write_text(configuration(release, stack, kind, first))
    typed = ", ".join(key if what is None else f"{key} and then {driver[what]}" for key, what, _ in release.menu)
    script = folder / "run.sh"
    script.write_text(SCRIPT.format(
        menu=typed and f" Type first: {typed}.", network=NETWORK, nodes=nodes, folder=folder,
        other=shlex.join(node_command(release, jdk, kind, folder, "n$number")).replace("'n$number'", '"n$number"'),
        first=shlex.join(node_command(release, jdk, kind, folder, "n1", driver))))
    script.chmod(0o755)


class Node:
    def __init__(self, prefix, command, name):
        self.command = [*prefix, *command]
        self.process = subprocess.Popen(self.command, env=jdks.plain_environment(), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.output, self.name = "", name
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        # Not by line: what the menu asks has no end of line.
        for part in iter(lambda: self.process.stdout.buffer.read1(65536), b""):
            self.output += part.decode(errors="replace")

    def say(self, text):
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended; whoever waits for its answer says so

    def count(self, pattern):
        return len(re.findall(pattern, self.output))

    def wait_for(self, pattern, seconds, times=1):
        deadline = time.monotonic() + jvm.time_left(seconds)
        while self.count(pattern) < times:
            if self.process.poll() is not None or time.monotonic() > deadline:
                jvm.check_time()
                state = "ended" if self.process.poll() is not None else f"did not say '{pattern}' within {seconds} s"
                raise jvm.Failure(f"{self.name} {state}: {self.output[-600:]}\n  {shlex.join(self.command)}")
            time.sleep(0.05)

    def end(self):
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join(5)


def set_by_menu(driver, release, values):
    for key, what, answer in release.menu:
        menus = driver.count(MENU)
        driver.say(key)
        if what is not None:
            driver.wait_for(r"(?:Number of sender threads|Time \(secs\)): \Z", 30)
            time.sleep(0.5)  # after the question it throws away what came too early
            driver.say(str(values[what]))
            answer += str(values[what])
        driver.wait_for(rf"{re.escape(answer)}\s", 30)
        driver.wait_for(MENU, 30, times=menus + 1)


def uperf(release, jdk, kind, stack, nodes, folder, values, tests=TESTS):
    """Requests per second and node, of the last test; checks that every node took part in it. values: seconds, threads."""
    write_files(folder, release, jdk, kind, stack, nodes, values)
    with Namespace() as prefix:
        members = []
        try:
            members.append(Node(prefix, node_command(release, jdk, kind, folder, "n1", values), "n1"))
            driver = members[0]
            driver.wait_for(MENU, 60)
            set_by_menu(driver, release, values)
            for number in range(2, nodes + 1):
                members.append(Node(prefix, node_command(release, jdk, kind, folder, f"n{number}"), f"n{number}"))
            for member in members:
                member.wait_for(rf"\*\* view: .*\({nodes}\)", 120)
            for member in members[1:]:  # without it a node does not know how long to run
                member.wait_for(r"Fetched config", 60)
            for test in range(1, tests + 1):
                menus = driver.count(MENU)
                driver.say("1")
                for member in members:
                    member.wait_for(r"done \(in \d+ ms\)", 60 + 10 * values["seconds"], times=test)
                # Its table of results has no line for a node whose figures came too late, and at times no end.
                driver.wait_for(MENU, 60 + 10 * values["seconds"], times=menus + 1)
            driver.say("X")
            for member in members:
                member.end()
        finally:
            for member in members:
                member.process.kill()
                member.end()
        return read_result([m.output for m in members], kind, tests)


def read_result(outputs, kind, tests):
    """Mean over the nodes of what each says of its own last test. UPerf's own total is the same mean, but over
    those nodes only whose figures reach the driver within a fifth of the test's length, which on a machine that
    eight JVMs share is often not all of them."""
    rates = []
    for number, text in enumerate(outputs, 1):
        # By test, not by menu: the driver's comes before its own last line when its own figures come too late.
        ends = [re.search(r"^10: ([\d.,]+) reqs/sec \(([\d,]+) reads ([\d,]+) writes\)", part, re.MULTILINE)
                for part in text.split(TEST)[1:] if re.search(r"^done \(in", part, re.MULTILINE)]
        ends = [found.groups() for found in ends if found]
        if len(ends) != tests or any(float(figure.replace(",", "")) <= 0 for figure in ends[-1]):
            raise jvm.Failure(f"node {number} has {len(ends)} of {tests} tests with a result, or made no requests: {text[-600:]}")
        rates.append(float(ends[-1][0].replace(",", "")))
    figure = sum(rates) / len(rates)
    last = outputs[0].split(TEST)[-1].split("= Results: =")[-1]
    shares = re.findall(r"^n\d+: ([\d.,]+) reqs/sec \([\d,]*[1-9][\d,]* gets", last, re.MULTILINE)
    total = re.findall(r"Throughput: ([\d.,]+) reqs/sec/node", last) or shares  # 5.4.13 fails before it says a total
    own = sum(float(f.replace(",", "")) for f in total) / max(1, len(total))
    if len(shares) == len(outputs) and abs(own / figure - 1) > 0.15:
        raise jvm.Failure(f"the nodes' mean is {figure:.0f} requests/s, UPerf's own {own:.0f}")
    for number, text in enumerate(outputs, 1):
        if kind == jvm.WISP and not re.search(r"^wisp: tasks=[1-9]", text, re.MULTILINE):
            raise jvm.Failure(f"it ran, but not every node on Wisp, or node {number} did not end: {text[-300:]}")
    return {"per_node": figure, "slowest_node": min(rates)}


def jgroups(version):
    return jvm.released_jar("org.jgroups", "jgroups", version)
