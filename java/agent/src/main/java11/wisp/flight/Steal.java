package wisp.flight;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;
import jdk.jfr.StackTrace;

@Name("wisp.Steal")
@Label("Task Steal")
@Category("Wisp")
@Description("A carrier took a task from another one's queue. Off unless asked for: there may be many")
@Registered(false)
@StackTrace(false)
@Enabled(false)
final class Steal extends TaskEvent {
    @Label("From")
    @Description("The carrier that had it")
    int from;
}
