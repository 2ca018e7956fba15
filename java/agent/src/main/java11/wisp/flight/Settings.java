package wisp.flight;

import java.util.List;
import java.util.Map;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.Recording;
import jdk.jfr.RecordingState;

/** What the running recordings want of an event. */
final class Settings {
    /** What default.jfc and profile.jfc of JDK 11 to 25 have on. */
    private static final List<String> OF_CONFIGURATIONS = List.of("jdk.ActiveSetting", "jdk.ThreadPark");

    private Settings() {
    }

    /**
     * The smallest threshold among the running recordings that have the event on; MAX_VALUE if none has.
     * {@code on}: where a configuration does not say.
     */
    static long smallest(List<Recording> recordings, Class<? extends Event> event, boolean on, long threshold) {
        EventType type = EventType.getEventType(event);
        long smallest = Long.MAX_VALUE;
        for (Recording recording : recordings) {
            if (recording.getState() != RecordingState.RUNNING) {
                continue;
            }
            Map<String, String> settings = recording.getSettings();
            String enabled = setting(settings, type, "enabled");
            if (enabled == null ? on && ofConfiguration(settings) : enabled.equals("true")) {
                smallest = Math.min(smallest, nanos(setting(settings, type, "threshold"), threshold));
            }
        }
        return smallest;
    }

    /**
     * A program that makes a recording of its own gets what it asks for, as with the JDK's events: ours are on only in
     * what is made after a configuration, as by {@code JFR.start}. Not by {@code @Enabled(false)}: turned
     * on later, on JDK 17, six of nine recordings from the start had stack traces without methods. And not by a lambda:
     * the JDK throws errors when it links one, and the recording would list those as this thread's.
     */
    private static boolean ofConfiguration(Map<String, String> settings) {
        for (String name : OF_CONFIGURATIONS) {
            if (!"true".equals(settings.get(name + "#enabled"))) {
                return false;
            }
        }
        return true;
    }

    /** Files name an event by its name, programs by its number. */
    private static String setting(Map<String, String> settings, EventType type, String what) {
        String value = settings.get(type.getId() + "#" + what);
        return value != null ? value : settings.get(type.getName() + "#" + what);
    }

    private static long nanos(String text, long otherwise) {
        if (text == null) {
            return otherwise;
        }
        String number = text.trim();
        String unit = number.replaceAll("[0-9 ]", "");
        try {
            long value = Long.parseLong(number.replaceAll("[^0-9]", ""));
            switch (unit) {
                case "ns": return value;
                case "us": return value * 1_000;
                case "ms": return value * 1_000_000;
                case "s": return value * 1_000_000_000;
                case "m": return value * 60_000_000_000L;
                case "h": return value * 3_600_000_000_000L;
                case "d": return value * 86_400_000_000_000L;
                default: return otherwise;
            }
        } catch (NumberFormatException e) {
            return otherwise;
        }
    }
}
