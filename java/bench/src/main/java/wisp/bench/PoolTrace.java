package wisp.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;

/**
 * What a fork/join pool does, event by event: each thread writes kind and {@code nanoTime} into arrays of its own that
 * are made before. The submitter reads them after it has the result; every event lies before the end of its task, so
 * the joins order them before that. Between operations nobody writes.
 */
final class PoolTrace {
    /** SUBMIT, PARK and UNPARK are the submitter's; a worker BEGINs what it takes from a queue, also inside a join. */
    enum Event { SUBMIT, PARK, UNPARK, BEGIN, END, FORK, JOIN, JOINED, LEAF, LEAF_END }

    static final int PHASES = 5;
    static final String[] PHASE_NAMES = {"first_handoff", "ramp_up", "full_parallelism", "catch_up", "result_handoff"};

    final Lane submitter = new Lane("submitter");
    private final List<Lane> workers = new CopyOnWriteArrayList<>();
    private final List<double[]> operations = new ArrayList<>();
    private final List<String> timelines = new ArrayList<>();

    static final class Lane {
        private static final int CAPACITY = 1 << 13;
        private final String name;
        private final Event[] kinds = new Event[CAPACITY];
        private final long[] times = new long[CAPACITY];
        private int count;

        Lane(String name) {
            this.name = name;
        }

        void record(Event kind) {
            kinds[count] = kind;
            times[count++] = System.nanoTime();
        }

        private long time(Event kind, boolean last) {
            for (int i = 0; i < count; i++) {
                int at = last ? count - 1 - i : i;
                if (kinds[at] == kind) {
                    return times[at];
                }
            }
            throw new IllegalStateException(name + " has no " + kind);
        }
    }

    static final class Worker extends ForkJoinWorkerThread {
        final Lane lane;

        Worker(ForkJoinPool pool, Lane lane) {
            super(pool);
            this.lane = lane;
        }
    }

    ForkJoinPool pool(int parallelism) {
        return new ForkJoinPool(parallelism, pool -> {
            Lane lane = new Lane("worker");
            workers.add(lane);
            return new Worker(pool, lane);
        }, null, false);
    }

    /** Null outside a traced pool. */
    static Lane lane() {
        Thread thread = Thread.currentThread();
        return thread instanceof Worker ? ((Worker) thread).lane : null;
    }

    /**
     * Takes the events of the operation that has just ended apart (not in the warm-up), and forgets them. {@code nanos} is what
     * the submitter measured from outside: the phases must fill it.
     */
    void operationDone(boolean keep, long nanos) {
        List<Lane> active = new ArrayList<>();
        for (Lane lane : workers) {
            if (lane.count > 0) {
                active.add(lane);
            }
        }
        long submit = submitter.time(Event.SUBMIT, false);
        long root = Long.MAX_VALUE;
        long allRun = Long.MIN_VALUE;
        long firstDone = Long.MAX_VALUE;
        long complete = Long.MIN_VALUE;
        for (Lane lane : active) {
            long begin = lane.time(Event.BEGIN, false);
            long end = lane.time(Event.END, true);
            root = Math.min(root, begin);
            allRun = Math.max(allRun, begin);
            firstDone = Math.min(firstDone, end);
            complete = Math.max(complete, end);
        }
        firstDone = Math.max(firstDone, allRun); // one was done before the last began: no full parallelism
        long result = submitter.time(Event.UNPARK, false);
        boolean inOrder = submit <= root && allRun <= complete && complete <= result;
        Report.check("phases in their order (1: yes)", 1, inOrder ? 1 : 0);
        if (keep) {
            operations.add(new double[] {(root - submit) / 1e3, (allRun - root) / 1e3, (firstDone - allRun) / 1e3,
                (complete - firstDone) / 1e3, (result - complete) / 1e3, active.size(), nanos / 1e3});
            timelines.add(timeline(active, submit));
        }
        submitter.count = 0;
        for (Lane lane : active) {
            lane.count = 0;
        }
    }

    private String timeline(List<Lane> active, long origin) {
        StringBuilder text = new StringBuilder();
        append(text, submitter, origin);
        for (Lane lane : active) {
            append(text.append('|'), lane, origin);
        }
        return text.toString();
    }

    private static void append(StringBuilder text, Lane lane, long origin) {
        text.append(lane.name);
        for (int i = 0; i < lane.count; i++) {
            text.append(' ').append(lane.kinds[i]).append('@').append(lane.times[i] - origin);
        }
    }

    /**
     * Means over the middle half of the operations (by total time): unlike medians they add up, unlike plain means a
     * rare slow operation does not move them. The timeline is that of the operation in the very middle.
     */
    void report() {
        Integer[] order = new Integer[operations.size()];
        Arrays.setAll(order, i -> i);
        Arrays.sort(order, (a, b) -> Double.compare(total(a), total(b)));
        int from = order.length / 4;
        int to = Math.max(from + 1, order.length * 3 / 4);
        String[] names = Arrays.copyOf(PHASE_NAMES, PHASES + 2);
        names[PHASES] = "participants";
        names[PHASES + 1] = "traced_total";
        for (int phase = 0; phase < names.length; phase++) {
            double sum = 0;
            for (int i = from; i < to; i++) {
                sum += operations.get(order[i])[phase];
            }
            Report.value(phase == PHASES ? names[phase] : names[phase] + "_us", sum / (to - from));
        }
        System.out.println("timeline=" + timelines.get(order[order.length / 2]));
    }

    private double total(int operation) {
        double sum = 0;
        for (int phase = 0; phase < PHASES; phase++) {
            sum += operations.get(operation)[phase];
        }
        return sum;
    }
}
