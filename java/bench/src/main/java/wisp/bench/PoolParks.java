package wisp.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;

/**
 * When the workers of a traced pool park and when they run again, which only the JVM sees: from Flight Recorder, on the
 * axis of {@code nanoTime}. Without a recorder there are no parks, and {@link #missing} says why.
 */
final class PoolParks {
    static final String[] FIGURES = {"asleep_at_submit", "unparks_until_result", "parks_until_result", "parks_per_op"};
    /** Two processors' time stamps, and the two clocks, may differ by so much more than the marks say. */
    private static final long CLOCKS_NANOS = 2_000;

    private final ParkClock clock = new ParkClock();
    private final Map<Long, List<long[]>> byThread = new HashMap<>();
    private ParkRecording recording;
    private String missing;

    /** Before the pool is made: a park that began without the recorder is not seen. */
    PoolParks(boolean wanted) {
        if (!wanted) {
            missing = "not asked for";
            return;
        }
        try {
            recording = ParkRecording.start();
        } catch (ParkRecording.Missing e) {
            missing = e.getMessage();
        }
    }

    /** Before each operation and after the last, by the submitter. */
    void mark() {
        if (recording != null) {
            clock.mark();
        }
    }

    /** Ends the pool: parks that go on are not seen. */
    void end(ForkJoinPool pool) throws InterruptedException {
        pool.shutdown();
        if (!pool.awaitTermination(60, TimeUnit.SECONDS)) {
            missing = "the pool did not end";
        }
        if (recording == null) {
            return;
        }
        try {
            List<ParkRecording.Park> parks = recording.stop();
            clock.read(parks);
            for (ParkRecording.Park park : parks) {
                byThread.computeIfAbsent(park.thread, id -> new ArrayList<>())
                        .add(new long[] {clock.nanoTime(park.begin), clock.nanoTime(park.end)});
            }
        } catch (ParkRecording.Missing e) {
            missing = e.getMessage();
        }
    }

    /** A thread that has noted something while it was parked: one of the two times is wrong, so all are left out. */
    void compare(List<PoolTrace.Operation> operations) {
        for (PoolTrace.Operation operation : operations) {
            long error = clockError(operation);
            for (PoolTrace.Lane lane : operation.workers) {
                for (long[] park : error >= 0 ? of(lane) : Collections.<long[]>emptyList()) {
                    long inside = lane.deepestInside(park[0], park[1]);
                    if (inside > error + CLOCKS_NANOS) {
                        missing = "the recorder's clock and nanoTime do not agree: a worker was at work " + inside + " ns inside a park";
                    }
                }
            }
        }
    }

    String missing() {
        return missing;
    }

    /** Each as long[] {begin, end}, in order. */
    List<long[]> of(PoolTrace.Lane lane) {
        return missing == null ? byThread.getOrDefault(lane.thread, Collections.emptyList()) : Collections.emptyList();
    }

    /** ns; -1: nothing can be said of this operation. */
    long clockError(PoolTrace.Operation operation) {
        return missing == null ? clock.errorAfter(operation.number) : -1;
    }

    /** As FIGURES: of all workers, in one operation. */
    private double[] figures(PoolTrace.Operation operation, List<PoolTrace.Lane> workers) {
        double[] counts = new double[FIGURES.length];
        for (PoolTrace.Lane lane : workers) {
            for (long[] park : of(lane)) {
                boolean before = park[0] <= operation.submit;
                counts[0] += before && park[1] > operation.submit ? 1 : 0;
                counts[1] += park[1] > operation.submit && park[1] <= operation.result ? 1 : 0;
                counts[2] += !before && park[0] < operation.result ? 1 : 0;
                counts[3] += !before && park[0] <= operation.end ? 1 : 0;
            }
        }
        return counts;
    }

    /** Means over these operations, and how sharp the times are; or why there are none. */
    void report(List<PoolTrace.Operation> operations, List<PoolTrace.Lane> workers) {
        double[] sums = new double[FIGURES.length];
        double[] errors = new double[operations.size()];
        int seen = 0;
        for (PoolTrace.Operation operation : operations) {
            long error = clockError(operation);
            if (error >= 0) {
                double[] counts = figures(operation, workers);
                Arrays.setAll(sums, i -> sums[i] + counts[i]);
                errors[seen++] = error / 1e3;
            }
        }
        if (missing == null && 2 * seen < operations.size()) {
            missing = "the recorder's clock did not go evenly";
        }
        if (missing != null) {
            System.out.println("no_parks=" + missing);
            return;
        }
        for (int i = 0; i < sums.length; i++) {
            Report.value(FIGURES[i], sums[i] / seen);
        }
        double[] known = Arrays.copyOf(errors, seen);
        Report.value("park_error_us", Report.percentile(known, 50));
        Report.value("park_error_worst_us", Report.percentile(known, 100));
    }
}
