"""A cluster of JGroups nodes on loopback, in a network namespace of its own, driven by JGroups' UPerf."""

import re
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from .. import jdks, jvm

PROTOCOLS = """  <MERGE3/> <FD_ALL3 timeout="60000" interval="10000"/> <VERIFY_SUSPECT2/>
  <pbcast.NAKACK2{retransmit}/> <UNICAST3/> <pbcast.STABLE/>
  <pbcast.GMS join_timeout="2000" print_local_addr="false"/> <UFC/> <MFC/> <FRAG2/>
</config>
"""
STACKS = {
    "TCP": '<config xmlns="urn:org:jgroups">\n  <TCP bind_addr="127.0.0.1" bind_port="7800" port_range="40" '
           'diag.enabled="false"/>\n  <TCPPING initial_hosts="127.0.0.1[7800]" port_range="40"/>\n'
           + PROTOCOLS.format(retransmit=' use_mcast_xmit="false"'),
    "UDP": '<config xmlns="urn:org:jgroups">\n  <UDP bind_addr="127.0.0.1" mcast_addr="228.6.7.8" mcast_port="45588" '
           'ip_ttl="0" diag.enabled="false"/>\n  <PING/>\n' + PROTOCOLS.format(retransmit=""),
}
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
    def __init__(self, prefix, jdk, kind, jar, config, name, options):
        environment = jdks.plain_environment()
        if kind == jvm.WISP:
            environment.update(LD_PRELOAD=str(jvm.require_library()), WISP="1", WISP_STATS="1")
        arguments = ["-props", config, "-name", name, "-use_virtual_threads", str(kind == jvm.VIRTUAL).lower(), *options]
        # env: only java is to be preloaded, not nsenter.
        preload = [f"LD_PRELOAD={environment.pop('LD_PRELOAD')}"] if kind == jvm.WISP else []
        self.command = [*prefix, "env", *preload, f"{jdk.home}/bin/java", "-Xms64m", "-Xmx192m",
                        "-Djava.net.preferIPv4Stack=true", "-Djgroups.bind_addr=127.0.0.1", "-cp", str(jar),
                        "org.jgroups.tests.perf.UPerf", *map(str, arguments)]
        self.process = subprocess.Popen(self.command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.output = ""
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
        deadline = time.monotonic() + seconds
        while len(re.findall(pattern, self.output)) < times:
            if self.process.poll() is not None or time.monotonic() > deadline:
                state = "ended" if self.process.poll() is not None else f"did not say '{pattern}' within {seconds} s"
                raise jvm.Failure(f"{state}: {self.output[-400:]}\n  {' '.join(self.command)}")
            time.sleep(0.05)

    def end(self):
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reader.join(5)


def uperf(jdk, kind, jar, stack, nodes, threads, seconds):
    """Requests per second and node, of the last test; checks that every node took part in it."""
    with tempfile.TemporaryDirectory() as folder, Namespace() as prefix:
        config = Path(folder) / "stack.xml"
        config.write_text(STACKS[stack])
        members = []
        try:
            members.append(Node(prefix, jdk, kind, jar, config, "n1", ["-time", seconds, "-threads", threads]))
            driver = members[0]
            driver.wait_for(r"\[1\] Start test", 60)
            for number in range(2, nodes + 1):
                members.append(Node(prefix, jdk, kind, jar, config, f"n{number}", ["-nohup"]))
            for member in members:
                member.wait_for(rf"\*\* view: .*\({nodes}\)", 120)
            for test in range(1, TESTS + 1):
                driver.say("1")
                # UPerf cannot print the result of a test in which some node served nothing, and shows its menu again.
                driver.wait_for(r"\[1\] Start test", 60 + 10 * seconds, times=test + 1)
            driver.say("X")
            for member in members:
                member.end()
        finally:
            for member in members:
                member.process.kill()
                member.end()
        return read_result(members, kind)


def read_result(members, kind):
    tests = members[0].output.split("[1] Start test")[1:TESTS + 1]  # what follows the menu, to the next one
    last = tests[-1].split("= Results: =")[-1] if tests else ""
    shares = dict(re.findall(r"^(n\d+): ([\d.,]+) reqs/sec \([\d,]*[1-9][\d,]* gets", last, re.MULTILINE))
    total = re.search(r"Throughput: ([\d.,]+) reqs/sec/node", last)
    if len(shares) != len(members) or not total:
        raise jvm.Failure(f"{len(shares)} of {len(members)} nodes have requests to show (UPerf waits for their results only a "
                          f"fifth of the test's length, too short where processors are scarce): {last[-400:]}")
    mean = sum(float(v.replace(",", "")) for v in shares.values()) / len(shares)
    figure = float(total.group(1).replace(",", ""))
    if abs(mean - figure) > 0.02 * figure:
        raise jvm.Failure(f"the nodes' mean is {mean:.0f} requests/s, UPerf's own {figure:.0f}")
    if kind == jvm.WISP and not all(re.search(r"^wisp: tasks=[1-9]", m.output, re.MULTILINE) for m in members):
        raise jvm.Failure("it ran, but not every node on Wisp: " + members[-1].output[-300:])
    return {"per_node": figure}


def jgroups(version="5.5.7.Final"):
    """The released jar, by Maven, kept in our cache."""
    folder = jdks.cache_folder().parent / "jars"
    jar = folder / f"jgroups-{version}.jar"
    if not jar.is_file():
        try:
            done = subprocess.run(["mvn", "-B", "-q", "dependency:copy", f"-Dartifact=org.jgroups:jgroups:{version}",
                                   f"-DoutputDirectory={folder}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=300)
            why = done.stdout.strip()[-300:]
        except (OSError, subprocess.TimeoutExpired) as error:
            why = str(error)
        if not jar.is_file():
            raise jvm.Failure(f"org.jgroups:jgroups:{version} cannot be had by mvn: {why}")
    return jar
