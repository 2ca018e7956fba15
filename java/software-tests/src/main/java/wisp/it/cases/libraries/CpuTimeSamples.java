package wisp.it.cases.libraries;

import java.io.File;
import java.nio.file.Files;
import java.util.concurrent.SynchronousQueue;
import org.openjdk.jmc.common.IMCStackTrace;
import org.openjdk.jmc.common.IMCThread;
import org.openjdk.jmc.common.item.IItem;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.common.item.IMemberAccessor;
import org.openjdk.jmc.common.item.ItemFilters;
import org.openjdk.jmc.flightrecorder.JfrAttributes;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * Flight Recorder's samples by CPU time (JDK 25): each is on the lane of the thread whose code it hit, while the threads
 * change their carriers all the time, of threads from before the recording and of one from within.
 */
@WispCase(carriers = {1, 2}, minJdk = 25, timeoutSeconds = 120)
public final class CpuTimeSamples {
    private static volatile boolean done;

    public static void main(String[] args) throws Exception {
        SynchronousQueue<Integer> there = new SynchronousQueue<>();
        SynchronousQueue<Integer> back = new SynchronousQueue<>();
        Thread red = Kit.start("red", () -> {
            for (int i = 0; !done; i++) {
                there.put(i);
                Burns.burnRed();
                back.take();
            }
            there.put(-1);
        });
        Thread green = Kit.start("green", () -> {
            for (int got; (got = there.take()) >= 0; back.put(got)) Burns.burnGreen();
        });
        Recordings.tool("jfrStart", "name=cpu", "jdk.CPUTimeSample#enabled=true", "jdk.CPUTimeSample#throttle=5ms");
        Thread blue = Kit.start("blue", () -> {
            while (!done) {
                Burns.burnBlue();
                Thread.sleep(1);
            }
        });
        File file = File.createTempFile("wisp-cpu", ".jfr");
        boolean enough = false;
        int[] seen = null;
        for (int round = 0; round < 40 && !enough; round++) {
            Thread.sleep(500);
            Recordings.tool("jfrDump", "name=cpu", "filename=" + file);
            seen = samples(file);
            enough = seen[0] > 5 && seen[1] > 5 && seen[2] > 5;
        }
        Recordings.tool("jfrStop", "name=cpu");
        done = true;
        Kit.join(red, green, blue);
        Files.delete(file.toPath());
        Kit.check("too few samples: " + seen[0] + ", " + seen[1] + ", " + seen[2], enough);
        Kit.say("samples by CPU time are on the right lanes");
    }

    /** How many each thread has in its own code; none may be in the others'. */
    private static int[] samples(File file) throws Exception {
        String[] threads = {"red", "green", "blue"};
        String[] methods = {"burnRed", "burnGreen", "burnBlue"};
        int[] seen = new int[threads.length];
        for (IItemIterable some : JfrLoaderToolkit.loadEvents(file).apply(ItemFilters.type("jdk.CPUTimeSample"))) {
            IMemberAccessor<IMCThread, IItem> lane = JfrAttributes.EVENT_THREAD.getAccessor(some.getType());
            IMemberAccessor<IMCStackTrace, IItem> stack = JfrAttributes.EVENT_STACKTRACE.getAccessor(some.getType());
            for (IItem item : some) {
                IMCThread thread = lane.getMember(item);
                Kit.check("a sample is on no lane", thread != null);
                for (int i = 0; i < methods.length; i++) {
                    if (!Recordings.runs(stack.getMember(item), Burns.class, methods[i])) continue;
                    Kit.check(methods[i] + " on the lane of " + thread.getThreadName(), threads[i].equals(thread.getThreadName()));
                    seen[i]++;
                }
            }
        }
        return seen;
    }
}
