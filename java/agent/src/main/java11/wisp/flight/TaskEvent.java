package wisp.flight;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.StackTrace;

/**
 * What all events about a task say. All but {@link Park}, {@link TaskStart} and {@link TaskEnd} are written by the runtime's observer some tenths of a second
 * after they happened, so Flight Recorder's own field for the thread is the observer's, and there is no stack: the
 * thread that is meant is {@link #thread}.
 */
@Category("Wisp")
@StackTrace(false)
abstract class TaskEvent extends Event {
    @Label("Thread")
    @Description("The Java thread of the task; none if it had ended before the event was written")
    Thread thread;

    @Label("Java Thread Id")
    long javaId;

    @Label("Thread Name")
    @Description("The first 15 bytes of the name, as the operating system would show it")
    String threadName;

    @Label("Task")
    @Description("Wisp's number of the task, as in wisp stat --tasks")
    long task;

    @Label("Carrier")
    @Description("The carrier it was on; -1: none")
    int carrier;
}
