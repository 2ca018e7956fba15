package wisp.flight;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;
import jdk.jfr.StackTrace;

@Name("wisp.Preempt")
@Label("Carrier Preemption")
@Category("Wisp")
@Description("SysMonitor took the carrier from a task that ran on while others waited")
@Registered(false)
@StackTrace(false)
final class Preempt extends TaskEvent {
}
