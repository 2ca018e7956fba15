package wisp.flight;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.StackTrace;

/**
 * What all events about a task say. {@link Park}, {@link TaskStart} and {@link TaskEnd} are written by the thread
 * itself when they happen; the others by the thread when it has next waited, or by the runtime's observer if that has
 * not come after some tenths of a second. Flight Recorder's own field for the thread is then the observer's: the thread
 * that is meant is {@link #thread}.
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
