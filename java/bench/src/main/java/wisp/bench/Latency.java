package wisp.bench;

import java.util.function.LongConsumer;

/**
 * How long round trips took. Each client thread has a recorder of its own, so that none waits for another. Without
 * HdrHistogram on the class path nothing is recorded and nothing reported: throughput needs no library.
 */
interface Latency {
    /** For one thread; takes nanoseconds. */
    LongConsumer recorder();

    /** What was recorded so far was warm-up. */
    void begin();

    /** Prints percentiles of what came since; trips: how many there were in all, warm-up included. */
    void report(long trips);

    static Latency create() {
        try {
            return (Latency) Class.forName("wisp.bench.HdrLatency").getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException | NoClassDefFoundError noHdrHistogram) {
            System.err.println("latencies are not measured: no HdrHistogram on the class path (" + noHdrHistogram + ")");
            return new Latency() {
                @Override
                public LongConsumer recorder() {
                    return nanos -> { };
                }

                @Override
                public void begin() {
                }

                @Override
                public void report(long trips) {
                }
            };
        }
    }
}
