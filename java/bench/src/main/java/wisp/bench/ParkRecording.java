package wisp.bench;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Every park of this process, as Flight Recorder sees it (jdk.ThreadPark), also those inside the JDK's own classes. By
 * reflection: this code compiles for Java 8, and not every JVM has the recorder.
 */
final class ParkRecording {
    private static final String PARK = "jdk.ThreadPark";
    private static final String LOSS = "jdk.DataLoss";
    /** Of Wisp, on unless switched off; while wisp.Park is, Wisp takes another way through a park. */
    private static final String[] OTHERS = {"Park", "NativePark", "TaskStart", "TaskEnd", "Steal", "HandOff", "Preempt",
        "Stall", "CarrierStatistics"};

    private final Class<?> type;
    private final Object recording;

    /** Times in ns since 1970 by the recorder's clock. */
    static final class Park {
        final long thread;
        final long begin;
        final long end;
        final String blocker;

        Park(long thread, long begin, long end, String blocker) {
            this.thread = thread;
            this.begin = begin;
            this.end = end;
            this.blocker = blocker;
        }
    }

    /** Why there is no recording; the text is for the user. */
    static final class Missing extends Exception {
        private static final long serialVersionUID = 1;

        Missing(String why) {
            super(why);
        }
    }

    private ParkRecording(Class<?> type, Object recording) {
        this.type = type;
        this.recording = recording;
    }

    static ParkRecording start() throws Missing {
        String jvm = "the JVM " + System.getProperty("java.version");
        try {
            Class<?> type = Class.forName("jdk.jfr.Recording");
            Object recording = type.getConstructor().newInstance();
            Method disable = type.getMethod("disable", String.class);
            for (String event : OTHERS) {
                disable.invoke(recording, "wisp." + event);
            }
            type.getMethod("enable", String.class).invoke(recording, LOSS);
            Object settings = type.getMethod("enable", String.class).invoke(recording, PARK);
            Class<?> settingsType = Class.forName("jdk.jfr.EventSettings");
            settingsType.getMethod("withThreshold", Duration.class).invoke(settings, Duration.ZERO);
            settingsType.getMethod("withoutStackTrace").invoke(settings);
            type.getMethod("start").invoke(recording);
            return new ParkRecording(type, recording);
        } catch (ClassNotFoundException | NoClassDefFoundError e) {
            throw new Missing(jvm + " has no Flight Recorder");
        } catch (ReflectiveOperationException e) {
            throw failed(jvm, e);
        }
    }

    /** All parks that ended while it ran, by their begin. */
    List<Park> stop() throws Missing {
        try {
            Path file = Files.createTempFile("wisp-bench", ".jfr");
            try {
                type.getMethod("stop").invoke(recording);
                type.getMethod("dump", Path.class).invoke(recording, file);
                type.getMethod("close").invoke(recording);
                return read(file);
            } finally {
                Files.deleteIfExists(file);
            }
        } catch (ReflectiveOperationException | IOException e) {
            throw failed("its recording", e);
        }
    }

    private static List<Park> read(Path file) throws ReflectiveOperationException, Missing {
        String consumer = "jdk.jfr.consumer.";
        Class<?> event = Class.forName(consumer + "RecordedEvent");
        Method eventType = event.getMethod("getEventType");
        Method begin = event.getMethod("getStartTime");
        Method end = event.getMethod("getEndTime");
        Method thread = event.getMethod("getThread");
        Method blocker = event.getMethod("getClass", String.class);
        Method typeName = Class.forName("jdk.jfr.EventType").getMethod("getName");
        Method threadId = Class.forName(consumer + "RecordedThread").getMethod("getJavaThreadId");
        Method className = Class.forName(consumer + "RecordedClass").getMethod("getName");
        List<Park> parks = new ArrayList<>();
        for (Object one : (List<?>) Class.forName(consumer + "RecordingFile").getMethod("readAllEvents", Path.class).invoke(null, file)) {
            String name = (String) typeName.invoke(eventType.invoke(one));
            if (name.equals(LOSS)) {
                throw new Missing("Flight Recorder lost events");
            }
            Object parked = thread.invoke(one);
            if (name.equals(PARK) && parked != null) {
                Object waited = blocker.invoke(one, "parkedClass");
                parks.add(new Park((Long) threadId.invoke(parked), nanos(begin.invoke(one)), nanos(end.invoke(one)),
                        waited == null ? "" : (String) className.invoke(waited)));
            }
        }
        parks.sort(Comparator.comparingLong(park -> park.begin));
        return parks;
    }

    private static long nanos(Object instant) {
        return ((Instant) instant).getEpochSecond() * 1_000_000_000 + ((Instant) instant).getNano();
    }

    private static Missing failed(String what, Exception e) {
        Throwable cause = e instanceof InvocationTargetException ? e.getCause() : e;
        return new Missing("Flight Recorder does not work here: " + what + ": " + cause);
    }
}
