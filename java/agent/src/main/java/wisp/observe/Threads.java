package wisp.observe;

import java.util.HashMap;
import java.util.Map;

/**
 * From the runtime's tasks to Java threads, and their stacks. Used by one thread, the runtime's observer
 * (runtime/jvm/observer.cpp), which is attached to the JVM only when something asks for it: an ordinary Java
 * thread may ask for another one's stack at any time, a signal handler or SysMonitor may not.
 */
public final class Threads {
    private static final int MAX_FRAMES = 64;

    /** As of the last look, and of the one before: of a thread that has ended there are events to come. */
    private static Map<Long, Thread> known = new HashMap<Long, Thread>();
    private static Map<Long, Thread> before = known;
    private static boolean keeps;

    private Threads() {
    }

    /** The thread's id, from its field: a subclass may say something else. */
    private static native long id(Thread thread);

    /** The thread with this id, if one of the last two looks has seen it; else null. */
    public static Thread seen(long id) {
        Thread thread = known.get(id);
        return thread != null ? thread : before.get(id);
    }

    /** Whether looks are remembered; if not, nobody's Thread is held back from the garbage collector. */
    public static void keep(boolean wanted) {
        keeps = wanted;
        if (!wanted) {
            known = new HashMap<Long, Thread>();
            before = known;
        }
    }

    /** Goes through all threads. */
    public static void look() {
        ThreadGroup root = Thread.currentThread().getThreadGroup();
        while (root.getParent() != null) {
            root = root.getParent();
        }
        Thread[] all;
        int count;
        do {
            all = new Thread[root.activeCount() * 2 + 64];
            count = root.enumerate(all);
        } while (count == all.length);
        Map<Long, Thread> found = new HashMap<Long, Thread>();
        for (int i = 0; i < count; i++) {
            found.put(id(all[i]), all[i]);
        }
        before = known;
        known = found;
    }

    /**
     * The thread's name, "native" or "java" after its innermost frame, and its frames; null if it has ended or
     * has no Java frame.
     */
    static String[] stack(long id) {
        if (!known.containsKey(id)) {
            look();
        }
        Thread thread = known.get(id);
        if (!keeps) {
            keep(false);
        }
        StackTraceElement[] frames = thread == null ? new StackTraceElement[0] : thread.getStackTrace();
        if (frames.length == 0) {
            return null;
        }
        int shown = Math.min(frames.length, MAX_FRAMES);
        String[] result = new String[2 + shown + (shown < frames.length ? 1 : 0)];
        result[0] = thread.getName();
        result[1] = frames[0].isNativeMethod() ? "native" : "java";
        for (int i = 0; i < shown; i++) {
            result[2 + i] = "at " + frames[i];
        }
        if (shown < frames.length) {
            result[2 + shown] = "... " + (frames.length - shown) + " more";
        }
        return result;
    }
}
