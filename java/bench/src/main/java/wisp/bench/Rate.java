package wisp.bench;

import java.io.IOException;

/**
 * How fast a counter goes, between two looks of a thread that may lose its processor at any moment: among thousands
 * of runnable threads it waits up to a second between two of its lines. So each look is at counter and clock together,
 * and again if that took long; what counts is the time in the middle of the quickest one.
 */
final class Rate {
    private static final int TRIES = 20;
    private static final long QUICK_NANOS = 50_000;

    private final Counter counter;
    private Look first;
    private Look last;

    Rate(Counter counter) {
        this.counter = counter;
    }

    /** Anything that only grows. */
    interface Counter {
        long get() throws IOException;
    }

    void begin() throws IOException {
        first = look();
    }

    void end() throws IOException {
        last = look();
    }

    /** Between {@link #begin} and {@link #end}. */
    long counted() {
        return last.count - first.count;
    }

    double perSecond() {
        return counted() * 1e9 / (last.at - first.at);
    }

    private Look look() throws IOException {
        Look best = null;
        for (int i = 0; i < TRIES && (best == null || best.took > QUICK_NANOS); i++) {
            long before = System.nanoTime();
            long count = counter.get();
            Look look = new Look(before, count, System.nanoTime() - before);
            if (best == null || look.took < best.took) {
                best = look;
            }
        }
        return best;
    }

    private static final class Look {
        final long at;
        final long count;
        final long took;

        Look(long before, long count, long took) {
            this.at = before + took / 2;
            this.count = count;
            this.took = took;
        }
    }
}
