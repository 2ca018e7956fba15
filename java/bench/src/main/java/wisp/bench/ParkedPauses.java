package wisp.bench;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Pauses of the JVM while many threads are parked, each some frames deep: full collections, timed here, and young
 * ones, which a loop of allocation brings about. What each safepoint took is in the log of -Xlog:safepoint.
 */
public final class ParkedPauses {
    private static volatile boolean open;
    private static volatile Object sink;

    public static void main(String[] args) throws Exception {
        Options options = new Options(ParkedPauses.class).define("threads", 1_000).define("depth", 20)
                .define("collections", 5).define("megabytes", 2_000).define("kind", Threads.PLATFORM).parse(args);
        int count = options.number("threads", 0, 1_000_000);
        int depth = options.number("depth", 1, 1_000);
        int collections = options.number("collections", 1, 1_000);
        int megabytes = options.number("megabytes", 0, 1_000_000);
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);

        CountDownLatch arrived = new CountDownLatch(count);
        AtomicInteger passed = new AtomicInteger();
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = Threads.unstarted(kind, () -> passed.addAndGet(parkBelow(depth, arrived)));
            threads[i].start();
        }
        arrived.await();
        Thread.sleep(100);
        System.gc();
        double[] fullMillis = new double[collections];
        for (int i = 0; i < collections; i++) {
            long start = System.nanoTime();
            System.gc();
            fullMillis[i] = (System.nanoTime() - start) / 1e6;
        }
        for (int i = 0; i < megabytes * 16; i++) {
            sink = new byte[1 << 16];
        }
        open = true;
        for (Thread thread : threads) {
            LockSupport.unpark(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Report.check("threads that passed", count, passed.get());
        Report.value("full_gc_ms", Report.percentile(fullMillis, 50));
        Report.valid();
    }

    private static int parkBelow(int frames, CountDownLatch arrived) {
        Object[] kept = {arrived, frames}; // something for the collector to find in each frame
        if (frames > 1) {
            return parkBelow(frames - 1, (CountDownLatch) kept[0]);
        }
        arrived.countDown();
        while (!open) {
            LockSupport.park(kept);
        }
        return 1;
    }
}
