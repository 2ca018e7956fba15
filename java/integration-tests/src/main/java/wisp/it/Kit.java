package wisp.it;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** What most cases need: threads whose failures are not lost, and waits that end. */
public final class Kit {
    /** A body that may throw. */
    public interface Body {
        void run() throws Exception;
    }

    /** What comes of gaps of this length. */
    public interface Round {
        String run(long gapMillis) throws Exception;
    }

    /** Beyond what the harness allows a case: it knows seconds without a processor, and collects stacks. */
    private static final long PATIENCE_NANOS = 300_000_000_000L;

    /** The exit code of a case that skips itself, as of the parts of scripts/test. */
    public static final int SKIPPED = 77;

    private Kit() {
    }

    public static void say(String format, Object... values) {
        System.out.println(values.length == 0 ? format : String.format(format, values));
    }

    /** An exception in any of a case's threads fails the case. */
    public static Runnable failing(Body body) {
        return () -> {
            try {
                body.run();
            } catch (Throwable e) {
                fail("thread " + Thread.currentThread().getName(), e);
            }
        };
    }

    public static Thread thread(String name, Body body) {
        return new Thread(failing(body), name);
    }

    public static Thread start(String name, Body body) {
        Thread thread = thread(name, body);
        thread.start();
        return thread;
    }

    public static Thread daemon(String name, Body body) {
        Thread thread = thread(name, body);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Runs the body in this many threads at once and waits for all. */
    public static void together(int count, String name, Body body) throws InterruptedException {
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = start(name + "-" + i, body);
        }
        join(threads);
    }

    public static void join(Thread... threads) throws InterruptedException {
        for (Thread thread : threads) {
            thread.join(PATIENCE_NANOS / 1_000_000);
            check("thread " + thread.getName() + " ends", !thread.isAlive());
        }
    }

    /** Polls, with sleeps, until it holds. */
    public static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (!condition.getAsBoolean()) {
            check(what, System.nanoTime() < deadline);
            Thread.sleep(2);
        }
    }

    public static void awaitState(Thread thread, Thread.State state) throws InterruptedException {
        await(thread.getName() + " is " + state, () -> thread.getState() == state);
    }

    /**
     * Waits until the thread sits in a native method: seen there twice, since class loading passes through some, and
     * with no kernel thread of this process ready to run, since one that lost the processor looks the same.
     */
    public static void awaitNative(Thread thread) throws InterruptedException {
        check(thread.getName() + " is in a native method", awaitNativeOrEnd(thread));
    }

    /** The same for a thread that may end instead; then false. */
    public static boolean awaitNativeOrEnd(Thread thread) throws InterruptedException {
        StackTraceElement[][] seen = {{}};
        await(thread.getName() + " is in a native method or has ended", () -> {
            StackTraceElement[] before = seen[0];
            seen[0] = thread.getStackTrace();
            boolean quiet = othersSleep();
            LockSupport.parkNanos(20_000_000);
            return !thread.isAlive()
                    || quiet && before.length > 0 && before[0].isNativeMethod() && Arrays.equals(before, seen[0]);
        });
        return thread.isAlive();
    }

    /** The folders in /proc of this process's kernel threads: by its other name the list has Wisp's tasks in it. */
    public static File[] kernelThreads() {
        return new File("/proc/self/./task").listFiles();
    }

    /** Of the kernel threads of this process only the one that looks is not asleep. */
    private static boolean othersSleep() {
        int awake = 0;
        for (File task : kernelThreads()) {
            try {
                String stat = new String(Files.readAllBytes(new File(task, "stat").toPath()), StandardCharsets.ISO_8859_1);
                awake += stat.charAt(stat.lastIndexOf(')') + 2) == 'S' ? 0 : 1;
            } catch (IOException ended) {
                // The thread is gone.
            }
        }
        return awake <= 1;
    }

    /**
     * Beside the body a ticker goes on, on average once in so many milliseconds. A machine busy with other things may
     * hold up the ticker alone for as long as the body takes, so one good round of five is enough: what holds a
     * carrier spoils each.
     */
    public static void besideTicker(int millisPerTick, Body body) throws Exception {
        for (int round = 1; ; round++) {
            AtomicBoolean done = new AtomicBoolean();
            AtomicInteger ticks = new AtomicInteger();
            Thread ticker = start("ticker", () -> {
                while (!done.get()) {
                    Thread.sleep(1);
                    ticks.incrementAndGet();
                }
            });
            await("it ticks", () -> ticks.get() > 0);
            int before = ticks.get();
            long start = System.nanoTime();
            body.run();
            long millis = millisSince(start);
            int got = ticks.get() - before;
            done.set(true);
            join(ticker);
            if (got >= millis / millisPerTick) {
                return;
            }
            check(got + " ticks in " + millis + " ms, round " + round, round < 5);
        }
    }

    /** What a round with gaps of so many milliseconds gives; a busy machine upsets orders by time, hence longer gaps. */
    public static String byTime(String expected, Round round) throws Exception {
        for (long gap = 150; ; gap *= 3) {
            String got = round.run(gap);
            if (got.equals(expected) || gap > 4_000) {
                return got;
            }
        }
    }

    public static void check(String what, boolean holds) {
        if (!holds) {
            fail("does not hold: " + what, new AssertionError());
        }
    }

    /** Prints the exception's class that the body throws, or "nothing". */
    public static void sayThrown(String what, Body body) {
        say("%s throws %s", what, thrown(body));
    }

    public static String thrown(Body body) {
        try {
            body.run();
        } catch (Throwable e) {
            return e.getClass().getName();
        }
        return "nothing";
    }

    public static long millisSince(long startNanos) {
        return (System.nanoTime() - startNanos) / 1_000_000;
    }

    /** Runs a case's class in a JVM of its own, under Wisp if this one is, with its statistics on standard error. */
    public static ProcessBuilder again(Class<?> program, String... arguments) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-cp",
                System.getProperty("java.class.path"));
        if (underWisp()) {
            builder.command().add("-Dwisp.it.wisp=true");
            builder.command().add("-Dcom.alibaba.wisp.carrierEngines=" + System.getProperty("com.alibaba.wisp.carrierEngines"));
            for (String line : Files.readAllLines(new File("/proc/self/maps").toPath())) {
                if (line.endsWith("/libwisp.so")) {
                    builder.environment().put("LD_PRELOAD", line.substring(line.indexOf('/')));
                }
            }
            builder.environment().put("WISP", "1");
            builder.environment().put("WISP_STATS", "1");
        }
        builder.command().add(program.getName());
        builder.command().addAll(Arrays.asList(arguments));
        return builder;
    }

    /** True in the run under Wisp; for the few cases that look below Java. */
    public static boolean underWisp() {
        return Boolean.getBoolean("wisp.it.wisp");
    }

    /** The case cannot run on this machine: the harness counts it as skipped, for this reason. */
    public static void skip(String why) {
        System.err.println("SKIPPED: " + why);
        System.exit(SKIPPED);
    }

    private static void fail(String what, Throwable e) {
        System.out.println("FAILED: " + what + ": " + e);
        e.printStackTrace();
        System.out.flush();
        Runtime.getRuntime().halt(99);
    }
}
