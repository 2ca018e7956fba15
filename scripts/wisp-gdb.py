"""gdb commands for a JVM that Wisp runs in, live or a core file; needs libwisp.so's debugging information.

    gdb -p PID -x wisp-gdb.py
    (gdb) wisp tasks            every task: number, nid, state, carrier, name
    (gdb) wisp bt 12            native stack of task 12 (Java frames: the JVM's own unwinder is needed)
    (gdb) wisp bt all
    (gdb) wisp carriers

A parked task's registers are in memory (runtime/coroutine/switch_x86_64.S). `wisp bt` shows them as the
caller of the selected thread's innermost frame, for the time of one backtrace; nothing is written to the
process, so core files work as well.
"""

import gdb
from gdb.unwinder import Unwinder

ALL_TIDS = 3 << 22  # kTaskTids (runtime/scheduler/task_tid.h)
STATES = ["created", "ready", "running", "parked", "dead"]
# Offsets in the saved frame; rsp itself is behind it.
SAVED = {"r12": 8, "r13": 16, "r14": 24, "r15": 32, "rbx": 40, "rbp": 48, "rip": 56}
FRAME_SIZE = 64


def atomic(value):
    """The value inside a std::atomic."""
    for path in (("_M_i",), ("_M_b", "_M_p"), ("_M_base", "_M_i")):
        try:
            inner = value
            for name in path:
                inner = inner[name]
            return inner
        except gdb.error:
            continue
    raise gdb.error("not an atomic: %s" % value.type)


def tasks():
    task = atomic(gdb.parse_and_eval("wisp::g_all"))
    while int(task) != 0:
        if STATES[int(atomic(task["state"]))] != "dead":
            yield task
        task = task["all_next"]


def number(task):
    first, tid = int(gdb.parse_and_eval("wisp::g_first_tid")), int(task["tid"])
    return tid - first + 1 if tid >= first else tid - first + 1 + ALL_TIDS


def carrier_of(task):
    return "-" if int(task["carrier"]) == 0 else str(int(task["carrier"]["index"]))


def describe(task):
    return "%5d  nid=0x%x  %-8s carrier %-3s run %-8d \"%s\"" % (
        number(task), int(task["tid"]), STATES[int(atomic(task["state"]))], carrier_of(task),
        int(atomic(task["times_run"])), task["name"].string(errors="replace"))


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class ParkedTask(Unwinder):
    """While `sp` is set: the innermost frame is called by the parked task."""

    def __init__(self):
        super().__init__("wisp-parked-task")
        self.sp = None
        self.innermost = None

    def __call__(self, pending):
        # Not by level: functions inlined into the innermost one count as levels.
        if self.sp is None or int(pending.read_register("rsp")) != self.innermost:
            return None
        memory = gdb.selected_inferior()
        info = pending.create_unwind_info(FrameId(pending.read_register("rsp"), pending.read_register("rip")))
        for name, offset in SAVED.items():
            data = bytes(memory.read_memory(self.sp + offset, 8))
            kind = pending.read_register(name).type
            info.add_saved_register(name, gdb.Value(int.from_bytes(data, "little")).cast(kind))
        kind = pending.read_register("rsp").type
        info.add_saved_register("rsp", gdb.Value(self.sp + FRAME_SIZE).cast(kind))
        return info


UNWINDER = ParkedTask()
gdb.unwinder.register_unwinder(None, UNWINDER, replace=True)


def backtrace(task):
    print(describe(task))
    if int(atomic(task["on_cpu"]["word_"])) == 1:
        worker = atomic(task["worker"])
        print("      runs on kernel thread %s: use `thread apply`" %
              ("?" if int(worker) == 0 else int(worker["tid"])))
        return
    UNWINDER.innermost = int(gdb.newest_frame().read_register("rsp"))
    UNWINDER.sp = int(task["context"]["sp"])
    gdb.invalidate_cached_frames()
    try:
        frame = gdb.newest_frame()
        while frame is not None and int(frame.read_register("rsp")) == UNWINDER.innermost:
            frame = frame.older()
        level = 0
        while frame is not None and frame.is_valid() and level < 64:
            place = frame.find_sal()
            where = "" if place.symtab is None else " at %s:%d" % (place.symtab.filename, place.line)
            name = frame.name() or gdb.solib_name(frame.pc()) or "??"
            print("  #%-2d 0x%016x in %s%s" % (level, frame.pc(), name, where))
            frame = frame.older()
            level += 1
    except gdb.error as error:  # beyond the frames that gdb can unwind: Java code
        print("      (%s)" % error)
    finally:
        UNWINDER.sp = None
        gdb.invalidate_cached_frames()


class Wisp(gdb.Command):
    """wisp tasks | wisp bt NUMBER|all | wisp carriers"""

    def __init__(self):
        super().__init__("wisp", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        words = gdb.string_to_argv(argument)
        try:
            gdb.parse_and_eval("wisp::g_all")
        except gdb.error:
            raise gdb.GdbError("no libwisp.so with debugging information here: those of make install and "
                               "make package are without; build/lib of a checkout has it")
        if words == ["tasks"]:
            for task in sorted(tasks(), key=number):
                print(describe(task))
        elif words == ["carriers"]:
            scheduler = gdb.parse_and_eval("wisp::g_scheduler")
            for i in range(int(scheduler["carrier_count"])):
                carrier = scheduler["carriers"][i]
                current = atomic(carrier["current"])
                print("carrier %d: %s, %d switches" % (
                    i, "idle" if int(current) == 0 else "runs " + describe(current).strip(),
                    int(atomic(carrier["switches"]))))
        elif len(words) == 2 and words[0] == "bt" and (words[1] == "all" or words[1].isdigit()):
            found = [t for t in tasks() if words[1] == "all" or number(t) == int(words[1])]
            if not found:
                raise gdb.GdbError("no task " + words[1])
            for task in sorted(found, key=number):
                backtrace(task)
        else:
            raise gdb.GdbError(self.__doc__)


Wisp()
