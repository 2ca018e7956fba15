package wisp.it;

import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** What most cases need: threads whose failures are not lost, and waits that end. */
public final class Kit {
    /** A body that may throw. */
    public interface Body {
        void run() throws Exception;
    }

    private static final long PATIENCE_NANOS = 30_000_000_000L;

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

    /** Waits until the thread sits in a native method: seen there twice, since class loading passes through some. */
    public static void awaitNative(Thread thread) throws InterruptedException {
        StackTraceElement[][] seen = {{}};
        await(thread.getName() + " is in a native method", () -> {
            StackTraceElement[] before = seen[0];
            seen[0] = thread.getStackTrace();
            LockSupport.parkNanos(20_000_000);
            return before.length > 0 && before[0].isNativeMethod() && Arrays.equals(before, seen[0]);
        });
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

    /** True in the run under Wisp; for the few cases that look below Java. */
    public static boolean underWisp() {
        return Boolean.getBoolean("wisp.it.wisp");
    }

    private static void fail(String what, Throwable e) {
        System.out.println("FAILED: " + what + ": " + e);
        e.printStackTrace();
        System.out.flush();
        Runtime.getRuntime().halt(99);
    }
}
