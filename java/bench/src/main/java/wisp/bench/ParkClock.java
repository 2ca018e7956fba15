package wisp.bench;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Puts Flight Recorder's times on the axis of {@code nanoTime}. Nothing is assumed of how the two clocks lie to each other: now
 * and then a thread parks with its permit there, which returns at once, between two readings of nanoTime; the recorder's
 * begin and end of that park lie between them too, so the distance of the clocks has a least and a greatest value. Some
 * such parks together are a mark; between two marks the distance changes evenly. It may change much: on Intel processors
 * HotSpot takes the frequency of its fast clock from the processor's name ("@ 2.80GHz"), which was 2,350 ppm too high on a
 * virtual machine with 2,793.4 MHz.
 */
final class ParkClock {
    private static final int PARKS_PER_MARK = 4;
    /**
     * Between two marks the distance changes as between most others, but for the marks' errors and this part of the time
     * between them: else the recorder's clock jumped.
     */
    private static final double MOST_DRIFT = 1e-4;

    private final Thread thread = Thread.currentThread();
    private long[] before = new long[1 << 10];
    private long[] after = new long[1 << 10];
    private int count;

    /** Of each mark: when by the recorder's clock, its distance from nanoTime, and how wrong that may be; ns. */
    private long[] at;
    private long[] distance;
    private long[] error;
    /** By how much the distance mostly changes, by the recorder's time. */
    private double drift;

    private static final class Mark {
    }

    private final Mark blocker = new Mark();

    /** By the thread that made this object. Microseconds. */
    void mark() {
        if (count + PARKS_PER_MARK > before.length) {
            before = Arrays.copyOf(before, 2 * count);
            after = Arrays.copyOf(after, 2 * count);
        }
        for (int i = 0; i < PARKS_PER_MARK; i++) {
            LockSupport.unpark(thread);
            before[count] = System.nanoTime();
            LockSupport.park(blocker);
            after[count++] = System.nanoTime();
        }
    }

    /** From what the recorder says of the marks. */
    void read(List<ParkRecording.Park> parks) throws ParkRecording.Missing {
        long[] begins = new long[count];
        long[] ends = new long[count];
        int found = 0;
        for (ParkRecording.Park park : parks) {
            if (park.thread == thread.getId() && park.blocker.equals(Mark.class.getName())) {
                if (found < count) {
                    begins[found] = park.begin;
                    ends[found] = park.end;
                }
                found++;
            }
        }
        if (found != count) {
            throw new ParkRecording.Missing("Flight Recorder saw " + found + " of " + count + " parks");
        }
        at = new long[count / PARKS_PER_MARK];
        distance = new long[at.length];
        error = new long[at.length];
        for (int mark = 0; mark < at.length; mark++) {
            long least = Long.MIN_VALUE;
            long greatest = Long.MAX_VALUE;
            for (int i = mark * PARKS_PER_MARK; i < (mark + 1) * PARKS_PER_MARK; i++) {
                least = Math.max(least, ends[i] - after[i]);
                greatest = Math.min(greatest, begins[i] - before[i]);
            }
            at[mark] = begins[mark * PARKS_PER_MARK];
            distance[mark] = least + (greatest - least) / 2;
            error[mark] = Math.abs(greatest - least) / 2 + 1;
        }
        double[] drifts = new double[Math.max(0, at.length - 1)];
        for (int mark = 0; mark < drifts.length; mark++) {
            drifts[mark] = (double) (distance[mark + 1] - distance[mark]) / (at[mark + 1] - at[mark]);
        }
        Arrays.sort(drifts);
        drift = drifts.length == 0 ? 0 : drifts[drifts.length / 2];
    }

    long nanoTime(long recorded) {
        int mark = Arrays.binarySearch(at, recorded);
        mark = Math.max(0, mark < 0 ? -mark - 2 : mark);
        if (mark + 1 == at.length || recorded < at[0]) {
            return recorded - distance[mark];
        }
        double part = (double) (recorded - at[mark]) / (at[mark + 1] - at[mark]);
        return recorded - distance[mark] - Math.round(part * (distance[mark + 1] - distance[mark]));
    }

    /** Between this mark and the next, ns; -1: there the recorder's clock did not go evenly. */
    long errorAfter(int mark) {
        long both = error[mark] + error[mark + 1];
        long time = at[mark + 1] - at[mark];
        boolean jumped = Math.abs(distance[mark + 1] - distance[mark] - drift * time) > both + MOST_DRIFT * time;
        return jumped ? -1 : Math.max(error[mark], error[mark + 1]);
    }
}
