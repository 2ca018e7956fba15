package wisp.flight;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;

/** Written by the waiting thread itself: see runtime/jvm/own_events.cpp. */
@Name("wisp.Park")
@Label("Task Park")
@Category("Wisp")
@Description("A task waited and left its carrier meanwhile; the duration is from there until it ran again")
@Registered(false)
@StackTrace(true)
@Threshold("20 ms")
final class Park extends WaitEvent {
}
