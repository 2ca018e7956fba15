import java.io.InputStream;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that stall, or that do not, for the stall finder and Flight Recorder. Prints "ready" and ends when stdin
 * ends. Modes: spin (a thread computes), native (a thread sits in a call that Wisp does not know), good (two that
 * hand an object to and fro, one that sleeps), mixed (waits, sleeps, child threads), all.
 */
public final class FlightWorkload {
    static volatile boolean stop;
    static volatile long sink;

    public static void main(String[] args) throws Exception {
        String mode = args[0];
        boolean all = mode.equals("all");
        if (all || mode.equals("spin")) {
            start("spinner", () -> {
                nap(20);
                spinForLong();
            });
        }
        if (all || mode.equals("native")) {
            // The length of an archive that is a named pipe without a writer: open(2) inside libzip blocks.
            String fifo = args[1];
            start("blocked-native", () -> openFifo(fifo));
        }
        if (all || mode.equals("good")) {
            LinkedBlockingQueue<Integer> there = new LinkedBlockingQueue<>();
            LinkedBlockingQueue<Integer> back = new LinkedBlockingQueue<>();
            start("pong", () -> pass(there, back));
            start("ping", () -> {
                there.add(1);
                pass(back, there);
            });
            start("sleeper", FlightWorkload::sleepOften);
        }
        if (all || mode.equals("mixed")) {
            start("parker", () -> {
                while (!stop) {
                    LockSupport.parkNanos(60_000_000);
                }
            });
            Object monitor = new Object();
            start("owner", () -> holdAndWait(monitor));
            start("entering", () -> enterOften(monitor));
            start("maker", FlightWorkload::makeThreads);
            start("computing", FlightWorkload::spinForLong);
            start("breathing", FlightWorkload::spinAndWait);
        }
        System.out.println("ready");
        InputStream in = System.in;
        while (in.read() >= 0) {
            sink++;
        }
        stop = true;
    }

    static void spinForLong() {
        while (!stop) {
            sink += spin();
        }
    }

    private static void spinAndWait() {
        while (!stop) {
            long end = System.nanoTime() + 50_000_000;
            while (System.nanoTime() - end < 0) {
                sink += spin();
            }
            nap(25);
        }
    }

    static long spin() {
        long x = sink;
        for (int i = 0; i < 1_000_000; i++) {
            x = x * 31 + i;
        }
        return x;
    }

    private static void openFifo(String fifo) {
        nap(20);  // a stall is told of once: not for the time that the start of a thread may take
        try (InputStream in = new java.io.FileInputStream(fifo)) {
            sink += in.read();
        } catch (java.io.IOException e) {
            sink++;
        }
    }

    private static void pass(LinkedBlockingQueue<Integer> from, LinkedBlockingQueue<Integer> to) {
        try {
            while (!stop) {
                to.put(from.take());
            }
        } catch (InterruptedException e) {
            sink++;
        }
    }

    private static void sleepOften() {
        while (!stop) {
            nap(1);
        }
    }

    private static void holdAndWait(Object monitor) {
        while (!stop) {
            synchronized (monitor) {
                nap(50);
            }
            nap(5);
        }
    }

    private static void enterOften(Object monitor) {
        while (!stop) {
            synchronized (monitor) {
                sink++;
            }
        }
    }

    private static void makeThreads() {
        for (int i = 0; !stop; i++) {
            start("child-" + i, () -> nap(150));
            nap(50);
        }
    }

    private static void nap(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            sink++;
        }
    }

    private static void start(String name, Runnable run) {
        Thread thread = new Thread(run, name);
        thread.setDaemon(true);
        thread.start();
    }
}
