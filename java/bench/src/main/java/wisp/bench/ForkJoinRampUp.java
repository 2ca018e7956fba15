package wisp.bench;

import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.locks.LockSupport;

/**
 * How fast an idle pool gets to work: every {@code pause} µs a thread outside submits a task that splits
 * into {@code leaves} small pieces, {@code work} µs in all, and waits for its result. With {@code traced} above zero so
 * many more operations are run on a pool whose threads note what they do (see PoolTrace), and taken apart; unless {@code parks} is
 * no, Flight Recorder notes meanwhile when they park.
 */
public final class ForkJoinRampUp {
    private static int leafSteps;

    public static void main(String[] args) throws Exception {
        Options options = new Options(ForkJoinRampUp.class).define("ops", 2_000).define("leaves", 64)
                .define("work", 150).define("pause", 1_000).define("traced", 0).define("parks", "yes")
                .define("parallelism", Runtime.getRuntime().availableProcessors()).parse(args);
        int ops = options.number("ops", 10, 10_000_000);
        int leaves = options.number("leaves", 1, 1 << 20);
        int workMicros = options.number("work", 1, 1_000_000);
        int pauseMicros = options.number("pause", 0, 1_000_000);
        int traced = options.number("traced", 0, 100_000);
        String parks = options.text("parks", "yes", "no");
        int parallelism = options.number("parallelism", 1, 1_000);

        Tree whole = new Tree(0, leaves);
        leafSteps = 1_000;
        double micros1000 = Report.percentile(serialMicros(whole), 50);
        leafSteps = (int) Math.max(1, Math.round(1_000 * workMicros / micros1000));
        double serialMicros = Report.percentile(serialMicros(whole), 50);
        long expected = whole.serial();

        ForkJoinPool pool = new ForkJoinPool(parallelism);
        double[] micros = new double[ops];
        int warmUp = Math.min(ops, 500);
        long cpuBefore = 0;
        long sleepsBefore = 0;
        for (int i = -warmUp; i < ops; i++) {
            if (i == 0) {
                cpuBefore = Proc.cpuMillis();
                sleepsBefore = Proc.sleeps();
            }
            long start = System.nanoTime();
            long result = pool.invoke(new Tree(0, leaves));
            long end = System.nanoTime();
            Report.check("sum over the leaves", expected, result);
            if (i >= 0) {
                micros[i] = (end - start) / 1e3;
            }
            LockSupport.parkNanos(pauseMicros * 1_000L);
        }
        Report.value("cpu_us_per_op", (Proc.cpuMillis() - cpuBefore) * 1e3 / ops);
        Report.value("kernel_sleeps_per_op", (double) (Proc.sleeps() - sleepsBefore) / ops);
        pool.shutdown();

        Report.value("parallelism", parallelism);
        Report.value("serial_us", serialMicros);
        Report.samples("us_per_op", micros);
        if (traced > 0) {
            trace(traced, leaves, parallelism, pauseMicros, expected, parks.equals("yes"));
        }
        Report.valid();
    }

    private static void trace(int ops, int leaves, int parallelism, int pauseMicros, long expected, boolean parks)
            throws InterruptedException {
        PoolTrace trace = new PoolTrace(parks);
        ForkJoinPool pool = trace.pool(parallelism);
        for (int i = -ops; i < ops; i++) {
            trace.operationComes();
            long start = System.nanoTime();
            trace.submitter.record(PoolTrace.Event.SUBMIT);
            ForkJoinTask<Long> task = pool.submit(new Tree(0, leaves));
            trace.submitter.record(PoolTrace.Event.PARK);
            long result = task.join();
            trace.submitter.record(PoolTrace.Event.UNPARK);
            long nanos = System.nanoTime() - start;
            Report.check("sum over the leaves, traced", expected, result);
            trace.operationDone(i >= 0, nanos);
            LockSupport.parkNanos(pauseMicros * 1_000L);
        }
        trace.end(pool);
        trace.report();
    }

    /** What all leaves take on one thread, measured when compiled. */
    private static double[] serialMicros(Tree whole) {
        double[] micros = new double[200];
        long sum = 0;
        for (int i = -2_000; i < micros.length; i++) {
            long start = System.nanoTime();
            sum += whole.serial();
            if (i >= 0) {
                micros[i] = (System.nanoTime() - start) / 1e3;
            }
        }
        Report.check("equal sums", sum, whole.serial() * (2_000 + micros.length));
        return micros;
    }

    private static final class Tree extends RecursiveTask<Long> {
        private static final long serialVersionUID = 1;
        private final int from;
        private final int to;

        Tree(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        protected Long compute() {
            PoolTrace.Lane lane = PoolTrace.lane();
            if (lane == null) {
                return split(null);
            }
            lane.record(PoolTrace.Event.BEGIN);
            long sum = split(lane);
            lane.record(PoolTrace.Event.END);
            return sum;
        }

        private long split(PoolTrace.Lane lane) {
            if (to - from == 1) {
                note(lane, PoolTrace.Event.LEAF);
                long value = leaf(from);
                note(lane, PoolTrace.Event.LEAF_END);
                return value;
            }
            int middle = (from + to) >>> 1;
            Tree left = new Tree(from, middle);
            note(lane, PoolTrace.Event.FORK);
            left.fork();
            long right = new Tree(middle, to).split(lane);
            note(lane, PoolTrace.Event.JOIN);
            long sum = right + left.join();
            note(lane, PoolTrace.Event.JOINED);
            return sum;
        }

        private static void note(PoolTrace.Lane lane, PoolTrace.Event event) {
            if (lane != null) {
                lane.record(event);
            }
        }

        long serial() {
            long sum = 0;
            for (int i = from; i < to; i++) {
                sum += leaf(i);
            }
            return sum;
        }

        private static long leaf(int seed) {
            long x = seed + 88172645463325252L;
            for (int i = 0; i < leafSteps; i++) {
                x ^= x << 13;
                x ^= x >>> 7;
                x ^= x << 17;
            }
            return x;
        }
    }
}
