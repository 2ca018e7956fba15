package wisp.it.cases.libraries;

import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import one.profiler.AsyncProfiler;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * async-profiler 4 in each of its modes: samples carry the name of the Java thread whose code they hit, while the threads
 * change their carriers all the time.
 */
@WispCase(carriers = {1, 2}, minJdk = 11, timeoutSeconds = 120)
public final class AsyncProfilerModes {
    /** It writes to standard output when a round on a busy machine brought no sample. */
    private static final String QUIET = ",loglevel=none";
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static volatile boolean done;
    private static volatile boolean seen;
    private static volatile Object sink;

    public static void main(String[] args) throws Exception {
        AsyncProfiler profiler = AsyncProfiler.getInstance();
        SynchronousQueue<Integer> there = new SynchronousQueue<>();
        SynchronousQueue<Integer> back = new SynchronousQueue<>();
        Thread[] threads = {
            Kit.start("red", () -> {
                for (int i = 0; !done; i++) {
                    there.put(i);
                    Burns.burnRed();
                    back.take();
                }
                there.put(-1);
            }),
            Kit.start("green", () -> {
                for (int got; (got = there.take()) >= 0; back.put(got)) Burns.burnGreen();
            }),
            Kit.start("allocating", () -> {
                while (!done) {
                    sink = new byte[10_000];
                    Thread.sleep(0, 50_000);
                }
            }),
            Kit.start("holding", AsyncProfilerModes::contend),
            Kit.start("wanting", AsyncProfilerModes::contend),
            Kit.start("parked", () -> {
                while (!done) LockSupport.parkNanos(1_000_000_000);
            }),
        };
        for (String event : new String[] {"itimer", "ctimer", "cpu", "wall", "alloc", "lock"}) mode(profiler, event);
        done = true;
        Kit.join(threads);
    }

    /** Runs until what has to be seen was seen; a sample with the wrong name fails at once. */
    private static void mode(AsyncProfiler profiler, String event) throws Exception {
        String interval = event.equals("alloc") ? "10k" : event.equals("lock") ? "1us" : "1ms";
        try {
            profiler.execute("start,event=" + event + ",interval=" + interval + ",threads" + QUIET);
        } catch (IllegalStateException e) {
            Kit.say("%s is not to be had here", event);
            return;
        }
        seen = false;
        Thread late = Kit.start("late", () -> {
            while (!seen) {
                Burns.burnRed();
                Thread.sleep(1);
            }
        });
        for (int round = 0; ; round++) {
            Thread.sleep(500);
            String samples = profiler.execute("collapsed,threads" + QUIET);
            int red = count(samples, "[red", "burnRed", "burnGreen");
            int green = count(samples, "[green", "burnGreen", "burnRed");
            int allocating = count(samples, "[allocating", "byte[]", "burn");
            int waiting = count(samples, "[wanting", "contend", "burn") + count(samples, "[holding", "contend", "burn");
            int begun = count(samples, "[late", "burnRed", "burnGreen");
            int parked = count(samples, "[parked", "LockSupport.parkNanos", "burn");
            boolean enough = event.equals("alloc") ? allocating > 0 : event.equals("lock") ? waiting > 0
                    : red > 5 && green > 5 && begun > 5 && (parked > 0 || !event.equals("wall"));
            if (enough || round == 60) {
                profiler.execute("stop" + QUIET);
                Kit.check(event + " saw too little: " + red + ", " + green + ", " + allocating + ", " + waiting
                        + ", " + begun + ", " + parked, enough);
                seen = true;
                late.join();
                Kit.say("%s: samples have the right names", event);
                return;
            }
        }
    }

    /** Samples of that thread that hit that code; ones that hit the other's must not be there. */
    private static int count(String samples, String thread, String own, String others) {
        int found = 0;
        for (String line : samples.split("\n")) {
            if (!line.startsWith(thread)) continue;
            Kit.check("of another thread: " + line, !line.contains(others));
            if (line.contains(own)) found += Integer.parseInt(line.substring(line.lastIndexOf(' ') + 1));
        }
        return found;
    }

    private static void contend() throws InterruptedException {
        while (!done) {
            LOCK.lock();
            try {
                Thread.sleep(2);
            } finally {
                LOCK.unlock();
            }
        }
    }
}
