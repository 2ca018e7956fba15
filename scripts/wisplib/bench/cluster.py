"""A cluster of JGroups nodes on loopback, in a network namespace of its own, driven by JGroups' UPerf."""

import re
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from .. import jdks, jvm

# join: how long a node looks for others before it founds the cluster itself. vthreads is the pool that handles what is
# received; JGroups' default is true, whatever UPerf's own option says.
PROTOCOLS = """  <MERGE3/> <FD_ALL3 timeout="60000" interval="10000"/> <VERIFY_SUSPECT2/>
  <pbcast.NAKACK2{retransmit}/> <UNICAST3/> <pbcast.STABLE/>
  <pbcast.GMS join_timeout="{join}" print_local_addr="false"/> <UFC/> <MFC/> <FRAG2/>
</config>
"""
TRANSPORTS = {
    "TCP": '<TCP bind_addr="127.0.0.1" bind_port="7800" port_range="40" diag.enabled="false" use_vthreads="{vthreads}"/>\n'
           '  <TCPPING initial_hosts="127.0.0.1[7800]" port_range="40"/>\n',
    "UDP": '<UDP bind_addr="127.0.0.1" mcast_addr="228.6.7.8" mcast_port="45588" ip_ttl="0" diag.enabled="false" '
           'use_vthreads="{vthreads}"/>\n  <PING/>\n',
}
RETRANSMIT = {"TCP": ' use_mcast_xmit="false"', "UDP": ""}


def configuration(stack, kind, first):
    return '<config xmlns="urn:org:jgroups">\n  ' + (TRANSPORTS[stack] + PROTOCOLS).format(
        vthreads=str(kind == jvm.VIRTUAL).lower(), retransmit=RETRANSMIT[stack], join=500 if first else 30000)


# JGroups says for each of its addresses that there is only loopback; what else it warns of is kept.
LOGGING = """handlers=java.util.logging.ConsoleHandler
.level=WARNING
org.jgroups.stack.Configurator.level=SEVERE
org.jgroups.protocols.UDP.level=SEVERE
"""
TESTS = 3  # in one cluster; the last one counts, the others warm up
# Multicast needs an interface that carries it and a route; the namespace leaves the machine's own alone.
NAMESPACE = "ip link set lo up && ip link set lo multicast on && ip route add 224.0.0.0/4 dev lo && echo up && exec cat"


class Namespace:
    """Lives as long as its process, which waits for the end of its input."""

    def __enter__(self):
        try:
            self.holder = subprocess.Popen(["unshare", "-n", "sh", "-c", NAMESPACE], stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        except OSError as error:
            raise jvm.Failure(f"unshare: {error}")
        if self.holder.stdout.readline().strip() != "up":
            why = self.holder.communicate()[1].strip()
            raise jvm.Failure(f"no network namespace of its own: {why}; needs root, util-linux and iproute2")
        return ["nsenter", "-t", str(self.holder.pid), "-n"]

    def __exit__(self, *_):
        self.holder.stdin.close()
        self.holder.wait()


class Node:
    def __init__(self, prefix, jdk, kind, jar, folder, name, options):
        environment = jdks.plain_environment()
        if kind == jvm.WISP:
            environment.update(LD_PRELOAD=str(jvm.require_library()), WISP="1", WISP_STATS="1")
        arguments = ["-props", folder / ("first.xml" if name == "n1" else "others.xml"), "-name", name,
                     "-use_virtual_threads", str(kind == jvm.VIRTUAL).lower(), *options]
        # env: only java is to be preloaded, not nsenter.
        preload = [f"LD_PRELOAD={environment.pop('LD_PRELOAD')}"] if kind == jvm.WISP else []
        self.command = [*prefix, "env", *preload, f"{jdk.home}/bin/java", "-Xms64m", "-Xmx192m", "-XX:+UseSerialGC",
                        f"-Djava.util.logging.config.file={folder}/logging.properties",
                        "-Djava.net.preferIPv4Stack=true", "-Djgroups.bind_addr=127.0.0.1", "-cp", str(jar),
                        "org.jgroups.tests.perf.UPerf", *map(str, arguments)]
        self.process = subprocess.Popen(self.command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.output, self.name = "", name
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.output += line

    def say(self, text):
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended; whoever waits for its answer says so

    def wait_for(self, pattern, seconds, times=1):
        deadline = time.monotonic() + jvm.time_left(seconds)
        while len(re.findall(pattern, self.output)) < times:
            if self.process.poll() is not None or time.monotonic() > deadline:
                jvm.check_time()
                state = "ended" if self.process.poll() is not None else f"did not say '{pattern}' within {seconds} s"
                raise jvm.Failure(f"{self.name} {state}: {self.output[-600:]}\n  {' '.join(self.command)}")
            time.sleep(0.05)

    def end(self):
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join(5)


def uperf(jdk, kind, jar, stack, nodes, threads, seconds, tests=TESTS):
    """Requests per second and node, of the last test; checks that every node took part in it."""
    with tempfile.TemporaryDirectory() as name, Namespace() as prefix:
        folder = Path(name)
        (folder / "logging.properties").write_text(LOGGING)
        for file, first in (("first.xml", True), ("others.xml", False)):
            (folder / file).write_text(configuration(stack, kind, first))
        members = []
        try:
            members.append(Node(prefix, jdk, kind, jar, folder, "n1", ["-time", seconds, "-threads", threads]))
            driver = members[0]
            driver.wait_for(r"\[1\] Start test", 60)
            for number in range(2, nodes + 1):
                members.append(Node(prefix, jdk, kind, jar, folder, f"n{number}", ["-nohup"]))
            for member in members:
                member.wait_for(rf"\*\* view: .*\({nodes}\)", 120)
            for member in members[1:]:  # without it a node does not know how long to run
                member.wait_for(r"Fetched config", 60)
            for test in range(1, tests + 1):
                driver.say("1")
                for member in members:
                    member.wait_for(r"done \(in \d+ ms\)", 60 + 10 * seconds, times=test)
                # Its table of results has no line for a node whose figures came too late, and at times no end.
                driver.wait_for(r"\[1\] Start test", 60 + 10 * seconds, times=test + 1)
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
        ends = re.findall(r"^10: ([\d.,]+) reqs/sec \(([\d,]+) reads ([\d,]+) writes\)(?=[^\[]*?^done \(in)", text, re.MULTILINE)
        if len(ends) != tests or any(float(figure.replace(",", "")) <= 0 for figure in ends[-1]):
            raise jvm.Failure(f"node {number} has {len(ends)} of {tests} tests with a result, or made no requests: {text[-600:]}")
        rates.append(float(ends[-1][0].replace(",", "")))
    figure = sum(rates) / len(rates)
    last = outputs[0].split("[1] Start test")[1:tests + 1][-1].split("= Results: =")[-1]
    shares = re.findall(r"^n\d+: [\d.,]+ reqs/sec \([\d,]*[1-9][\d,]* gets", last, re.MULTILINE)
    total = re.search(r"Throughput: ([\d.,]+) reqs/sec/node", last)
    if len(shares) == len(outputs) and total and abs(float(total.group(1).replace(",", "")) / figure - 1) > 0.15:
        raise jvm.Failure(f"the nodes' mean is {figure:.0f} requests/s, UPerf's own {total.group(1)}")
    if kind == jvm.WISP and not all(re.search(r"^wisp: tasks=[1-9]", text, re.MULTILINE) for text in outputs):
        raise jvm.Failure("it ran, but not every node on Wisp: " + outputs[-1][-300:])
    return {"per_node": figure, "slowest_node": min(rates)}


def jgroups(version="5.5.7.Final"):
    return jvm.released_jar("org.jgroups", "jgroups", version)
