package wisp.flight;

import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.MemoryAddress;
import jdk.jfr.Timespan;

/** A wait of a task off its carrier. */
abstract class WaitEvent extends TaskEvent {
    @Label("Reason")
    @Description("park (LockSupport), wait (Object.wait), sleep, monitor (entering one), poll, read, accept; in native code: "
            + "lock (of the JVM or a library), time (a sleep), readable, writable (a descriptor)")
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
