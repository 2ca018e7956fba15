package wisp.it.cases.stack;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

import wisp.it.WispCase;

/**
 * Threads that have been deep, wait for long near the bottom of their stacks or far up, and go on. Meanwhile Wisp
 * gives back what lies below (trimMs): nothing of theirs may change, and an overflow is caught as ever.
 */
@WispCase
public final class ParkedForLong {
    private static final int THREADS = 64;
    private static volatile boolean open;

    public static void main(String[] args) throws Exception {
        AtomicInteger right = new AtomicInteger();
        CountDownLatch arrived = new CountDownLatch(THREADS);
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            int depth = i % 4 * 200;
            int seed = i;
            threads[i] = new Thread(() -> {
                long before = descend(1500, seed, null);
                long parked = descend(depth, seed, arrived);
                long after = descend(1500, seed, null);
                if (before == after && parked == descend(depth, seed, null) && overflows()) {
                    right.incrementAndGet();
                }
            });
            threads[i].start();
        }
        arrived.await();
        System.gc();
        Thread.sleep(2500);
        System.gc(); // walks the stacks as they are now
        open = true;
        for (Thread thread : threads) {
            LockSupport.unpark(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        say("%d threads", right.get());
        check("all went on", right.get() == THREADS);
    }

    /** Locals of every frame are read again on the way back; at the end it waits, if there is something to announce. */
    private static long descend(int depth, long seed, CountDownLatch arrived) {
        Object mine = seed;
        long local = seed * 31 + depth;
        if (depth > 0) {
            return descend(depth - 1, local, arrived) ^ local ^ mine.hashCode();
        }
        if (arrived != null) {
            arrived.countDown();
            while (!open) {
                LockSupport.park();
            }
        }
        return local + mine.hashCode();
    }

    private static boolean overflows() {
        try {
            return endless(0) < 0;
        } catch (StackOverflowError e) {
            return true;
        }
    }

    private static int endless(int n) {
        return endless(n + 1) + 1;
    }
}
