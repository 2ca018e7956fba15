package wisp.bench;

import java.util.concurrent.atomic.AtomicLong;

/** How many times per second threads can give way to each other with {@code Thread.yield()}. */
public final class YieldBench {
    public static void main(String[] args) throws Exception {
        Options options = new Options(YieldBench.class).define("threads", 2).define("yields", 3_000_000)
                .define("kind", Threads.PLATFORM).parse(args);
        int threads = options.number("threads", 1, 10_000);
        int yields = options.number("yields", 1, 1_000_000_000);
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);

        run(kind, threads, Math.max(1, yields / 10)); // compiles the loop
        double seconds = run(kind, threads, yields);
        double total = (double) threads * yields;
        Report.value("yields_per_s", total / seconds);
        Report.value("ns_per_yield", seconds * 1e9 / total);
        Report.valid();
    }

    private static double run(String kind, int threads, int yields) throws InterruptedException {
        AtomicLong done = new AtomicLong();
        Runnable[] bodies = new Runnable[threads];
        for (int i = 0; i < threads; i++) {
            bodies[i] = () -> {
                int count = 0;
                while (count < yields) {
                    Thread.yield();
                    count++;
                }
                done.addAndGet(count);
            };
        }
        long start = System.nanoTime();
        Threads.runAll(kind, bodies);
        double seconds = (System.nanoTime() - start) / 1e9;
        Report.check("yields made", (long) threads * yields, done.get());
        return seconds;
    }
}
