package wisp.flight;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;
import jdk.jfr.Timespan;

@Name("wisp.Stall")
@Label("Task Stall")
@Category("Wisp")
@Description("A task ran for long without giving way. One event when it is found, and one when it is over")
@Registered(false)
@StackTrace(false)
@Threshold("100 ms")
final class Stall extends TaskEvent {
    @Label("Over")
    @Description("False: found, and the duration is so far; true: it has gone on")
    boolean over;

    @Label("In Native Code")
    boolean inNativeCode;

    @Label("Java Stack")
    @Description("Of the thread when it was found; empty if it went on meanwhile")
    String javaStack;

    @Label("Kernel State")
    @Description("Of the kernel thread below: R runs, S and D sleep in the kernel")
    String kernelState;

    @Label("System Call")
    @Description("The number of the system call that it sleeps in; -1: none, or unknown")
    int systemCall;

    @Label("Processor Time")
    @Description("Used in the last part of the stall, from half the threshold on")
    @Timespan(Timespan.NANOSECONDS)
    long processorTime;
}
