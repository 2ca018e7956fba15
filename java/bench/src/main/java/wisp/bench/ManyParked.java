package wisp.bench;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * The memory that many parked threads take, as the kernel counts it (VmRSS): at once, and when they have been
 * parked for so long that Wisp has given unused stack back (its option trimMs: one to two seconds).
 */
public final class ManyParked {
    private static volatile boolean open;

    public static void main(String[] args) throws Exception {
        Options options = new Options(ManyParked.class).define("threads", 10_000).define("settle-ms", 3_000)
                .define("kind", Threads.PLATFORM).parse(args);
        int count = options.number("threads", 1, 1_000_000);
        int settle = options.number("settle-ms", 0, 600_000);
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);

        AtomicInteger passed = new AtomicInteger();
        CountDownLatch arrived = new CountDownLatch(count);
        Thread[] threads = new Thread[count];
        System.gc();
        long before = Proc.status("VmRSS");
        long start = System.nanoTime();
        for (int i = 0; i < count; i++) {
            threads[i] = Threads.unstarted(kind, () -> {
                arrived.countDown();
                while (!open) {
                    LockSupport.park(ManyParked.class);
                }
                passed.incrementAndGet();
            });
            threads[i].start();
        }
        arrived.await();
        double startMillis = (System.nanoTime() - start) / 1e6;
        Thread.sleep(200); // lets the last ones really park
        long fresh = Proc.status("VmRSS");
        Thread.sleep(settle);
        long parked = Proc.status("VmRSS");
        long peak = Proc.status("VmHWM");

        long wake = System.nanoTime();
        open = true;
        for (Thread thread : threads) {
            LockSupport.unpark(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        double wakeMillis = (System.nanoTime() - wake) / 1e6;
        Report.check("threads that passed", count, passed.get());
        Report.value("start_ms", startMillis);
        Report.value("wake_and_join_ms", wakeMillis);
        Report.value("rss_before_kb", before);
        Report.value("rss_fresh_kb", fresh);
        Report.value("rss_parked_kb", parked);
        Report.value("rss_peak_kb", peak);
        Report.value("rss_per_thread_kb", (double) (parked - before) / count);
        Report.valid();
    }
}
