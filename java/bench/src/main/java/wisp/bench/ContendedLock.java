package wisp.bench;

import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Threads that compute and share one lock: each operation does {@code --inside} units of work with it and
 * {@code --outside} without, a unit some 10 ns. With {@code --lock readers} nine of ten operations only read. The
 * time of a round of {@code --operations} in all, and the CPU time that it took; the first half of the rounds warms up.
 */
public final class ContendedLock {
    private interface Section {
        int run(int units, int operation);
    }

    private static int shared;
    private static long operations;

    private ContendedLock() {
    }

    public static void main(String[] args) throws Exception {
        Options options = new Options(ContendedLock.class).define("threads", 8).define("lock", "monitor")
                .define("inside", 5).define("outside", 10).define("operations", 400_000).define("rounds", 10)
                .define("kind", Threads.PLATFORM).parse(args);
        int threads = options.number("threads", 1, 10_000);
        int inside = options.number("inside", 0, 1_000_000);
        int outside = options.number("outside", 0, 1_000_000);
        int each = Math.max(1, options.number("operations", 1, 1_000_000_000) / threads);
        int rounds = options.number("rounds", 2, 100_000);
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);
        Section section = section(options.text("lock", "monitor", "reentrant", "fair", "readers"));

        double[] ms = new double[rounds - rounds / 2];
        long cpu = 0;
        for (int i = 0; i < rounds; i++) {
            operations = 0;
            long cpuBefore = Proc.cpuMillis();
            long start = System.nanoTime();
            round(kind, section, threads, each, inside, outside);
            double took = (System.nanoTime() - start) / 1e6;
            Report.check("operations", (long) threads * each, operations);
            if (i >= rounds / 2) {
                ms[i - rounds / 2] = took;
                cpu += Proc.cpuMillis() - cpuBefore;
            }
        }
        Report.samples("ms_per_round", ms);
        Report.value("cpu_ms_per_round", (double) cpu / ms.length);
        Report.valid();
    }

    private static void round(String kind, Section section, int threads, int each, int inside, int outside)
            throws InterruptedException {
        Runnable[] bodies = new Runnable[threads];
        Object counting = new Object();
        for (int t = 0; t < threads; t++) {
            bodies[t] = () -> {
                int own = 0;
                for (int i = 0; i < each; i++) {
                    own += section.run(inside, i) + work(outside, i);
                }
                synchronized (counting) {
                    operations += each;
                    shared ^= own;
                }
            };
        }
        Threads.runAll(kind, bodies);
    }

    private static Section section(String lock) {
        if (lock.equals("monitor")) {
            Object monitor = new Object();
            return (units, operation) -> {
                synchronized (monitor) {
                    return shared += work(units, operation);
                }
            };
        }
        if (lock.equals("readers")) {
            ReentrantReadWriteLock both = new ReentrantReadWriteLock();
            return (units, operation) -> locked(operation % 10 == 0 ? both.writeLock() : both.readLock(), units,
                    operation, operation % 10 == 0);
        }
        Lock one = new ReentrantLock(lock.equals("fair"));
        return (units, operation) -> locked(one, units, operation, true);
    }

    private static int locked(Lock lock, int units, int operation, boolean writes) {
        lock.lock();
        try {
            int result = work(units, operation + shared);
            if (writes) {
                shared += result;
            }
            return result;
        } finally {
            lock.unlock();
        }
    }

    private static int work(int units, int seed) {
        int hash = seed;
        for (int i = 0; i < units * 10; i++) {
            hash = hash * 31 + (hash >>> 7);
        }
        return hash;
    }
}
