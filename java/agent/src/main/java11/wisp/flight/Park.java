package wisp.flight;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.MemoryAddress;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;
import jdk.jfr.Timespan;

@Name("wisp.Park")
@Label("Task Park")
@Category("Wisp")
@Description("A task waited and left its carrier meanwhile; the duration is from there until it ran again")
@StackTrace(false)
@Threshold("20 ms")
final class Park extends TaskEvent {
    @Label("Reason")
    @Description("lock (monitor, LockSupport, VM lock), time (a sleep), readable, writable (a descriptor)")
    String reason;

    @Label("Ended By")
    @Description("woken, timeout, or signal")
    String endedBy;

    @Label("Waker")
    @Description("Number of the task that woke it; -1: no task did")
    long waker;

    @Label("Waited For Carrier")
    @Description("The part of the duration after the wake-up, in a run queue; 0 if a timer woke it")
    @Timespan(Timespan.NANOSECONDS)
    long queued;

    @Label("Address")
    @MemoryAddress
    long address;

    @Label("Descriptor")
    @Description("The file descriptor it waited for; -1: none")
    int descriptor;
}
