package wisp.bench;

import java.util.concurrent.atomic.AtomicInteger;

/** Starts threads that do next to nothing and joins them: the cost of a thread's life. */
public final class ThreadStart {
    public static void main(String[] args) throws Exception {
        Options options = new Options(ThreadStart.class).define("threads", 20_000).define("batch", 1)
                .define("kind", Threads.PLATFORM).parse(args);
        int threads = options.number("threads", 1, 100_000_000);
        int batch = options.number("batch", 1, 10_000);
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);

        run(kind, Math.max(1, threads / 10), batch);
        Report.value("us_per_thread", run(kind, threads, batch));
        Report.valid();
    }

    private static double run(String kind, int threads, int batch) throws InterruptedException {
        AtomicInteger ran = new AtomicInteger();
        Runnable[] bodies = new Runnable[batch];
        for (int i = 0; i < batch; i++) {
            bodies[i] = ran::incrementAndGet;
        }
        int rounds = (threads + batch - 1) / batch;
        long start = System.nanoTime();
        for (int i = 0; i < rounds; i++) {
            Threads.runAll(kind, bodies);
        }
        double micros = (System.nanoTime() - start) / 1e3;
        Report.check("threads run", (long) rounds * batch, ran.get());
        return micros / ((double) rounds * batch);
    }
}
