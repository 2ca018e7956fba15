package wisp.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;

/**
 * What a fork/join pool does, event by event: each thread writes kind and {@code nanoTime} into arrays of its own that
 * are made before. The submitter reads them after it has the result; every event lies before the end of its task, so
 * the joins order them before that. Between operations nobody writes. The workers' parks, which the JDK's own code makes,
 * come from Flight Recorder when all is over (see PoolParks).
 */
final class PoolTrace {
    /** The submitter SUBMITs, PARKs and UNPARKs; a worker BEGINs what it takes from a queue, also inside a join. */
    enum Event { SUBMIT, PARK, UNPARK, BEGIN, END, FORK, JOIN, JOINED, LEAF, LEAF_END }

    static final int PHASES = 5;
    static final String[] PHASE_NAMES = {"first_handoff", "ramp_up", "full_parallelism", "catch_up", "result_handoff"};

    final Lane submitter = new Lane("submitter");
    private final List<Lane> workers = new CopyOnWriteArrayList<>();
    private final List<Operation> operations = new ArrayList<>();
    private final PoolParks parks;
    private int count;

    PoolTrace(boolean withParks) {
        parks = new PoolParks(withParks);
    }

    /** One that has ended: the figures of the phases, and what was noted. */
    static final class Operation {
        final int number;
        final long submit;
        final long result;
        /** When the next one begins. */
        long end;
        final double[] phases;
        final Lane submitter;
        final List<Lane> workers;

        Operation(int number, long submit, long result, double[] phases, Lane submitter, List<Lane> workers) {
            this.number = number;
            this.submit = submit;
            this.result = result;
            this.phases = phases;
            this.submitter = submitter;
            this.workers = workers;
        }

        /** As the submitter measured it: one that lost its processor between two notes is not in the middle. */
        double total() {
            return phases[PHASES + 1];
        }
    }

    static final class Lane {
        private static final int CAPACITY = 1 << 13;
        private final String name;
        private final Event[] kinds;
        private final long[] times;
        private int count;
        /** 0: not yet known. */
        long thread;

        Lane(String name) {
            this(name, new Event[CAPACITY], new long[CAPACITY]);
        }

        private Lane(String name, Event[] kinds, long[] times) {
            this.name = name;
            this.kinds = kinds;
            this.times = times;
        }

        /** A copy that stays; this one begins anew. */
        Lane take() {
            Lane copy = new Lane(name, Arrays.copyOf(kinds, count), Arrays.copyOf(times, count));
            copy.count = count;
            copy.thread = thread;
            count = 0;
            return copy;
        }

        /** By how much an event of this lane lies inside these bounds; 0: none does. */
        long deepestInside(long from, long to) {
            long deepest = 0;
            for (int i = 0; i < count; i++) {
                deepest = Math.max(deepest, Math.min(times[i] - from, to - times[i]));
            }
            return deepest;
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
            lane.thread = getId();
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

    /** By the submitter, before each. */
    void operationComes() {
        parks.mark();
        nextBegins();
    }

    private void nextBegins() {
        if (!operations.isEmpty()) {
            operations.get(operations.size() - 1).end = System.nanoTime();
        }
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
            double[] phases = {(root - submit) / 1e3, (allRun - root) / 1e3, (firstDone - allRun) / 1e3,
                (complete - firstDone) / 1e3, (result - complete) / 1e3, active.size(), nanos / 1e3};
            List<Lane> copies = new ArrayList<>();
            for (Lane lane : active) {
                copies.add(lane.take());
            }
            operations.add(new Operation(count, submit, result, phases, submitter.take(), copies));
        }
        count++;
        submitter.count = 0;
        for (Lane lane : active) {
            lane.count = 0;
        }
    }

    /** After the last operation. */
    void end(ForkJoinPool pool) throws InterruptedException {
        operationComes();
        parks.end(pool);
        parks.compare(operations);
    }

    /** Lanes with what each did until the result; a worker that did nothing has one when it is known that it was parked. */
    private String timeline(Operation operation) {
        StringBuilder text = new StringBuilder(describe(operation.submitter, operation, false));
        for (Lane worker : workers) {
            Lane lane = operation.workers.stream().filter(one -> one.thread == worker.thread).findAny().orElse(worker);
            String events = describe(lane, operation, parks.clockError(operation) >= 0);
            text.append(events.contains("@") ? "|" + events : "");
        }
        return text.toString();
    }

    private String describe(Lane lane, Operation operation, boolean withParks) {
        TreeMap<Long, String> events = new TreeMap<>();
        for (long[] park : withParks ? parks.of(lane) : new ArrayList<long[]>()) {
            if (park[1] > operation.submit && park[0] < operation.result) {
                events.merge(park[0], " PARK@" + (park[0] - operation.submit), String::concat);
                events.merge(park[1], " UNPARK@" + (park[1] - operation.submit), String::concat);
            }
        }
        for (int i = 0; i < lane.count; i++) {
            events.merge(lane.times[i], " " + lane.kinds[i] + "@" + (lane.times[i] - operation.submit), String::concat);
        }
        return lane.name + String.join("", events.values());
    }

    /**
     * Means over the middle half of the operations (by total time): unlike medians they add up, unlike plain means a
     * rare slow operation does not move them. The timeline is that of the operation in the very middle.
     */
    void report() {
        List<Operation> sorted = new ArrayList<>(operations);
        sorted.sort(Comparator.comparingDouble(Operation::total));
        int from = sorted.size() / 4;
        List<Operation> middle = sorted.subList(from, Math.max(from + 1, sorted.size() * 3 / 4));
        String[] names = Arrays.copyOf(PHASE_NAMES, PHASES + 2);
        names[PHASES] = "participants";
        names[PHASES + 1] = "traced_total";
        for (int phase = 0; phase < names.length; phase++) {
            double sum = 0;
            for (Operation operation : middle) {
                sum += operation.phases[phase];
            }
            Report.value(phase == PHASES ? names[phase] : names[phase] + "_us", sum / middle.size());
        }
        parks.report(middle, workers);
        System.out.println("timeline=" + timeline(sorted.get(sorted.size() / 2)));
    }
}
