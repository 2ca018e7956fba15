package wisp.flight;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;

@Name("wisp.HandOff")
@Label("Carrier Hand-off")
@Category("Wisp")
@Description("A task gave its carrier away before a call that blocks in the kernel; the duration is the call's")
@Registered(false)
@StackTrace(false)
@Threshold("20 ms")
final class HandOff extends TaskEvent {
}
