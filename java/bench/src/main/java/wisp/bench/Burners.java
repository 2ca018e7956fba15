package wisp.bench;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** Threads that compute and never block, beside those that are measured. A unit of their work has a known result. */
final class Burners {
    private static final int STEPS = 20_000; // some hundred microseconds
    private static final long UNIT_SUM = 7187585509091798316L;

    private final Thread[] threads;
    private final LongAdder units = new LongAdder();
    private final AtomicLong wrong = new AtomicLong();
    private volatile boolean stop;

    Burners(String kind, int count) {
        threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = Threads.unstarted(kind, this::burn);
        }
    }

    int count() {
        return threads.length;
    }

    void start() {
        for (Thread thread : threads) {
            thread.start();
        }
    }

    /** Of work, done so far by all. */
    long units() {
        return units.sum();
    }

    void stop() {
        stop = true;
    }

    void check() throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
        Report.check("units of work with a wrong sum", 0, wrong.get());
    }

    private void burn() {
        while (!stop) {
            long x = 1;
            long sum = 0;
            for (int i = 0; i < STEPS; i++) {
                x ^= x << 13;
                x ^= x >>> 7;
                x ^= x << 17;
                sum += x;
            }
            if (sum != UNIT_SUM) {
                wrong.incrementAndGet();
            }
            units.increment();
        }
    }
}
