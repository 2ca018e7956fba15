package wisp.it.cases.libraries;

import java.io.File;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.openjdk.jmc.common.IMCStackTrace;
import org.openjdk.jmc.common.IMCThread;
import org.openjdk.jmc.common.item.IItem;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.common.item.IMemberAccessor;
import org.openjdk.jmc.common.item.ItemFilters;
import org.openjdk.jmc.flightrecorder.JfrAttributes;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * A recording as JDK Mission Control reads it, with Mission Control's own library: a wait is on the lane of the thread
 * that waited, under its stack. For the JVM's event of a park in both runs, for wisp.Park in the one under Wisp.
 */
@WispCase(carriers = {2}, minJdk = 11, timeoutSeconds = 120)
public final class MissionControl {
    private static final Object MONITOR = new Object();
    private static volatile boolean done;

    public static void main(String[] args) throws Exception {
        Map<String, String> methods = new HashMap<>();
        Thread[] threads = {
            thread(methods, "parking", "parks", MissionControl::parks),
            thread(methods, "sleeping", "sleeps", MissionControl::sleeps),
            thread(methods, "waiting", "waits", MissionControl::waits),
            thread(methods, "entering", "enters", MissionControl::enters),
            thread(methods, "holding", "holds", MissionControl::holds),
        };
        Kit.awaitState(threads[0], Thread.State.TIMED_WAITING);
        Set<String> own = new HashSet<>(methods.keySet());
        own.remove("holding");
        Recordings.tool("jfrStart", "name=lanes");
        File file = File.createTempFile("wisp-lanes", ".jfr");
        boolean jvm = false, wisp = !Kit.underWisp();
        for (int round = 0; round < 20 && !(jvm && wisp); round++) {
            Thread.sleep(1000);
            Recordings.tool("jfrDump", "name=lanes", "filename=" + file);
            IItemCollection items = JfrLoaderToolkit.loadEvents(file);
            jvm = seen(items, "jdk.ThreadPark", methods).contains("parking");
            wisp = wisp || seen(items, "wisp.Park", methods).containsAll(own);
        }
        Recordings.tool("jfrStop", "name=lanes");
        done = true;
        Kit.join(threads);
        Files.delete(file.toPath());
        Kit.say("the JVM's parks have lane and stack: %s", jvm);
        Kit.say("what Wisp adds has them, too: %s", wisp);
    }

    /** The threads that have such events; each with the method that this thread runs on its stack. */
    private static Set<String> seen(IItemCollection items, String event, Map<String, String> methods) {
        Set<String> seen = new HashSet<>();
        for (IItemIterable some : items.apply(ItemFilters.type(event))) {
            IMemberAccessor<IMCThread, IItem> lane = JfrAttributes.EVENT_THREAD.getAccessor(some.getType());
            IMemberAccessor<IMCStackTrace, IItem> stack = JfrAttributes.EVENT_STACKTRACE.getAccessor(some.getType());
            for (IItem item : some) {
                IMCThread thread = lane.getMember(item);
                Kit.check(event + " is on no lane", thread != null);
                String method = methods.get(thread.getThreadName());
                if (method != null && Recordings.runs(stack.getMember(item), MissionControl.class, method)) {
                    seen.add(thread.getThreadName());
                }
                for (String other : methods.values()) {
                    Kit.check(event + " of " + thread.getThreadName() + " in " + other,
                            other.equals(method) || !Recordings.runs(stack.getMember(item), MissionControl.class, other));
                }
            }
        }
        return seen;
    }

    private static Thread thread(Map<String, String> methods, String name, String method, Kit.Body body) {
        methods.put(name, method);
        return Kit.start(name, body);
    }

    private static void parks() {
        while (!done) LockSupport.parkNanos(40_000_000);
    }

    private static void sleeps() throws InterruptedException {
        while (!done) Thread.sleep(40);
    }

    private static void waits() throws InterruptedException {
        Object nobodys = new Object();
        synchronized (nobodys) {
            while (!done) nobodys.wait(40);
        }
    }

    private static void holds() throws InterruptedException {
        while (!done) {
            synchronized (MONITOR) {
                Thread.sleep(60);
            }
            Thread.sleep(5);
        }
    }

    private static void enters() throws InterruptedException {
        while (!done) {
            synchronized (MONITOR) {
                Kit.check("held by me", Thread.holdsLock(MONITOR));
            }
            Thread.sleep(1);
        }
    }
}
