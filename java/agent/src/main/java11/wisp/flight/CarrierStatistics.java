package wisp.flight;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Percentage;
import jdk.jfr.Period;
import jdk.jfr.Registered;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import jdk.jfr.Unsigned;

@Name("wisp.CarrierStatistics")
@Label("Carrier Statistics")
@Category("Wisp")
@Description("One event per carrier. Counts and times are totals since the start of the JVM")
@Registered(false)
@StackTrace(false)
@Period("1 s")
final class CarrierStatistics extends Event {
    @Label("Carrier")
    int carrier;

    @Label("Running")
    @Description("A task ran there at this moment")
    boolean running;

    @Label("Busy")
    @Description("Share of the time since the last event in which tasks ran there")
    @Percentage
    float busy;

    @Label("Queue Length")
    @Unsigned
    long queueLength;

    @Label("Tasks")
    @Description("Living tasks whose last carrier it is")
    @Unsigned
    long tasks;

    @Label("Switches")
    @Unsigned
    long switches;

    @Label("Parks")
    @Unsigned
    long parks;

    @Label("Unparks")
    @Unsigned
    long unparks;

    @Label("Steals")
    @Unsigned
    long steals;

    @Label("Failed Steals")
    @Unsigned
    long failedSteals;

    @Label("Preemptions")
    @Unsigned
    long preemptions;

    @Label("Timeouts")
    @Unsigned
    long timeouts;

    @Label("Event Loop Turns")
    @Unsigned
    long polls;

    @Label("Tasks Started")
    @Unsigned
    long started;

    @Label("Tasks Completed")
    @Unsigned
    long completed;

    @Label("Run Time")
    @Timespan(Timespan.NANOSECONDS)
    long runTime;

    @Label("Idle Time")
    @Timespan(Timespan.NANOSECONDS)
    long idleTime;

    @Label("Queue Time")
    @Description("Tasks waited in its queue; an estimate from a sample")
    @Timespan(Timespan.NANOSECONDS)
    long queueTime;

    @Label("Lost Events")
    @Description("Of all events wisp.*, so many were dropped because they came too fast; the same for all carriers")
    @Unsigned
    long lostEvents;
}
