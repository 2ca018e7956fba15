package wisp.flight;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;
import jdk.jfr.StackTrace;

@Name("wisp.TaskStart")
@Label("Task Start")
@Category("Wisp")
@Description("A task ran for the first time")
@Registered(false)
@StackTrace(false)
final class TaskStart extends TaskEvent {
}
