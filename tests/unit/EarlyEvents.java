import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;

/**
 * As the system's class loader: what Flight Recorder knows of Wisp's events when they have been loaded and initialised,
 * and Wisp has registered none. And a program that waits and prints that, and what it knows later.
 */
public final class EarlyEvents extends ClassLoader {
    private static final String[] EVENTS = {"TaskStart", "TaskEnd", "Park", "NativePark", "Steal", "HandOff", "Preempt",
        "Stall", "CarrierStatistics"};

    public EarlyEvents(ClassLoader parent) {
        super(parent);
    }

    /** Asked for the superclass of a class of ours when all events have been defined. */
    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (name.equals("jdk.jfr.FlightRecorderListener") && Thread.currentThread().getName().equals("Wisp Observer")) {
            for (String event : EVENTS) {
                Class.forName("wisp.flight." + event, true, this);
            }
            Seen.early = registered();
            Seen.once.countDown();
        }
        return super.loadClass(name, resolve);
    }

    static String registered() {
        List<EventType> types = FlightRecorder.getFlightRecorder().getEventTypes();
        TreeSet<String> names = new TreeSet<>();
        for (EventType type : types) {
            if (type.getName().startsWith("wisp.")) {
                names.add(type.getName());
            }
        }
        return names.toString();
    }

    static final class Seen {
        static final CountDownLatch once = new CountDownLatch(1);
        static volatile String early;
    }

    public static void main(String[] args) throws Exception {
        Seen.once.await(60, TimeUnit.SECONDS);
        String later = registered();
        for (int i = 0; i < 600 && !later.contains("CarrierStatistics"); i++) {
            Thread.sleep(100);
            later = registered();
        }
        System.out.println("early " + Seen.early + " later " + later);
    }
}
