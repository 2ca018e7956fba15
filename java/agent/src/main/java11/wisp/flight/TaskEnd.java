package wisp.flight;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;
import jdk.jfr.StackTrace;

@Name("wisp.TaskEnd")
@Label("Task End")
@Category("Wisp")
@Description("A task ended")
@Registered(false)
@StackTrace(false)
final class TaskEnd extends TaskEvent {
}
