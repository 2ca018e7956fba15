"""Cases of compat: set-user-id programs, hostile environments, children, refused system calls."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import runs
from cases import CASES, SMALL, Missing, case, simple


simple("sec-children", "Children")


# In a mount namespace of its own /etc is a copy in which ld.so preloads the library into every program and finds
# the JDK's libraries: a set-user-id program neither takes LD_PRELOAD with a path nor an origin in its RUNPATH.
PRELOADED = """
set -e
mount -t tmpfs none /mnt && mkdir /mnt/etc && cp -a /etc/. /mnt/etc
printf '%s\\n' {folders} > /mnt/etc/ld.so.conf.d/wisp-compat.conf
mount --bind /mnt/etc /etc && ldconfig
[ -z "{library}" ] || echo "{library}" > /etc/ld.so.preload
exec setpriv --reuid=54321 --regid=54321 --clear-groups "$@"
"""


def of_another_user(c, mode):
    """A java that belongs to user 54322, with this mode, run by user 54321 with Wisp's wishes in the environment."""
    real = Path(c.jdk.home).resolve()
    home = Path(tempfile.mkdtemp(prefix="wisp-setuid-"))
    folders = sorted({str(lib.parent) for lib in real.glob("**/*.so")})
    try:
        shutil.copytree(real, home / "jdk", symlinks=True, ignore=shutil.ignore_patterns("jmods", "src.zip"))
        shutil.copytree(runs.WORK / "classes", home / "classes")
        library = shutil.copy(runs.LIBRARY, home) if c.wisp else ""
        subprocess.run(["chown", "-R", "54322:54322", home], check=True)
        subprocess.run(["chmod", "-R", "a+rX", home], check=True)
        java = home / "jdk/bin/java"
        java.chmod(mode)
        folders = [folder.replace(str(real), str(home / "jdk")) for folder in folders]
        script = PRELOADED.format(folders=" ".join(map(str, folders)), library=library)
        env = runs.jdks.plain_environment() | ({"WISP": "1", "WISP_STATS": "1", "WISP_VERBOSE": "1"}
                                    if c.wisp else {})
        child = subprocess.Popen(["unshare", "--mount", "sh", "-c", script, "sh", str(java), *SMALL, "-cp",
                                  str(home / "classes"), "Privileged"], env=env, cwd="/", stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        out, err, code = c.finish(child, 60)
        return out, err, code
    finally:
        shutil.rmtree(home)


@case("sec-setuid")
def setuid(c):
    """The library is in a set-user-id java (ld.so.preload) and must do nothing; the same java without the bit
    shows that it would."""
    if os.geteuid() != 0:
        raise Missing("not root")
    c.quiet = True
    out, err, code = of_another_user(c, 0o755)
    if c.wisp != ("tasks=" in err) or code != 0:
        return f"without the bit: exit {code}, {err[-300:]}"
    text = f"same user {'uids 54321 54321' in out}\n"
    out, err, code = of_another_user(c, 0o4755)
    # Mapped, so that it was our own look at AT_SECURE that kept it quiet.
    text += out.replace(f"mapped {c.wisp}", "mapped as wanted").replace("wishes 3" if c.wisp else "wishes 0", "wishes")
    return text + f"exit {code} said {err!r}\n"


@case("sec-hostile")
def hostile(c):
    """Environments made to hurt: the program runs as ever, and what is said is short lines of plain text."""
    long = "x" * 100000
    wishes = [{"WISP_OPTIONS": v} for v in (
        "", ",", "=", "=,=", "carriers", "carriers=", "carriers=-1", "carriers=99999999999999999999", "carriers=2" * 999,
        "carriers=1,carriers=2,carriers=0", "%s%n%s%n", "black=name:" + "*a" * 5000 + "b", f"black={long}",
        "black=" + "name:x;" * 10000, "white=package:", "stacksize=1e9", "stacksize=-1k", "trace=0", "\x1b[2J\r\n,",
        "sysmonTickUs=0x10", "carriers=\u0661", ",".join(["nothing=1"] * 2000))]
    wishes += [{"WISP_CHAOS": long}, {"WISP_VERBOSE": long}, {"WISP_STATS": "1" + long}, {"WISP_JDKS": long},
               {"WISP_REEXEC": "1"},
               {"JAVA_TOOL_OPTIONS": "-Dcom.alibaba.wisp.stacksize=" + "9" * 3000},
               {"LD_PRELOAD": f"{runs.LIBRARY}:{runs.LIBRARY} {runs.LIBRARY}"},
               {f"WISP_{i}": str(i) for i in range(300)}]
    text, said = "", []
    for number, wish in enumerate(wishes):
        done = c.java("Short", 5, flags=SMALL, env=wish if c.wisp else None, timeout=60)
        if done != "sum 10\nexit 0\n":
            text += f"{number}: {done!r}\n"
        said += (c.folder / "stderr").read_text(errors="replace").split("\n")
    bad = [line for line in said if len(line) > 600 or re.search(r"[\x00-\x08\x0b-\x1f]", line)]
    return text + f"{len(wishes)} environments, bad lines {[line[:80] for line in bad if not line.startswith('Picked up')]}\n"


# Docker's default profile, as far as a JVM or Wisp asks for what it refuses; what Linux 4.14 did not have yet; and thirteen
# calls that Wisp can do without.
REFUSED = {
    "container": "425-427=EPERM,perf_event_open=EPERM,userfaultfd=EPERM,kcmp=EPERM,process_vm_readv=EPERM,"
                 "process_vm_writev=EPERM,bpf=EPERM,setns=EPERM,435=ENOSYS",
    "kernel-4.14": "io_pgetevents=ENOSYS,rseq=ENOSYS,424-462=ENOSYS",
    "many": "memfd_create=EPERM,sched_setaffinity=EPERM,setpriority=EPERM,get_robust_list=EPERM,rt_sigqueueinfo=EPERM,"
            "perf_event_open=EPERM,rseq=EPERM,425-427=EPERM,434=EPERM,preadv2=EPERM,pwritev2=EPERM"}


def refused(calls):
    def run(c):
        prefix = [sys.executable, str(runs.ROOT / "tests/refuse.py"), calls]
        return "".join(c.java(*program, prefix=prefix, timeout=240) for program in (
            ("Soak", 4711, 20), ("wisp.it.cases.process.ManyChildren",), ("wisp.it.cases.file.ColdReads",)))
    return run


for name, calls in REFUSED.items():
    CASES[f"sec-refused-{name}"] = refused(calls)
