package wisp.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.SingleWriterRecorder;

/** The only class that needs HdrHistogram: the others compile and run without. */
final class HdrLatency implements Latency {
    /** A microsecond to a minute, to 1 %: 20 kB, small enough for each of thousands of threads. */
    private static final long SHORTEST_NANOS = 1_000;
    private static final long LONGEST_NANOS = 60_000_000_000L;
    private static final int DIGITS = 2;

    private final List<SingleWriterRecorder> recorders = new ArrayList<>();
    private long inWarmUp;

    @Override
    public LongConsumer recorder() {
        SingleWriterRecorder recorder = new SingleWriterRecorder(SHORTEST_NANOS, LONGEST_NANOS, DIGITS);
        recorders.add(recorder);
        return nanos -> recorder.recordValue(Math.min(nanos, LONGEST_NANOS));
    }

    @Override
    public void begin() {
        inWarmUp = drain().getTotalCount();
    }

    @Override
    public void report(long trips) {
        Histogram all = drain();
        Report.check("recorded round trips", trips, inWarmUp + all.getTotalCount());
        Report.value("p50_us", all.getValueAtPercentile(50) / 1e3);
        Report.value("p99_us", all.getValueAtPercentile(99) / 1e3);
        Report.value("p99_9_us", all.getValueAtPercentile(99.9) / 1e3);
        Report.value("longest_us", all.getMaxValue() / 1e3);
    }

    private Histogram drain() {
        Histogram sum = new Histogram(SHORTEST_NANOS, LONGEST_NANOS, DIGITS);
        for (SingleWriterRecorder recorder : recorders) {
            sum.add(recorder.getIntervalHistogram());
        }
        return sum;
    }
}
