package wisp.flight;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;

@Name("wisp.NativePark")
@Label("Task Park in Native Code")
@Category("Wisp")
@Description("As Task Park, where the thread cannot write it at once: inside the JVM or a native library")
@Registered(false)
@StackTrace(false)
@Threshold("20 ms")
final class NativePark extends WaitEvent {
}
