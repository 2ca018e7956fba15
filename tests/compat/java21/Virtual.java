import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;

/** Virtual threads whose carriers are tasks: parking, pinning by synchronized and by native frames, many. */
public class Virtual {
    static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        AtomicLong sum = new AtomicLong();
        try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 10000; i++) {
                int me = i;
                pool.submit(() -> {
                    sleep(me % 20);
                    sum.addAndGet(me);
                });
            }
        }
        System.out.println("slept " + sum);
        // Pinned while they sleep: more of them than carriers.
        sum.set(0);
        try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 50; i++) {
                Object own = new Object();
                pool.submit(() -> {
                    synchronized (own) {
                        sleep(5);
                        sum.incrementAndGet();
                    }
                });
            }
        }
        System.out.println("pinned " + sum);
        // Contended between virtual and platform threads.
        Object lock = new Object();
        ReentrantLock other = new ReentrantLock();
        int[] count = {0, 0};
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            Runnable r = () -> {
                for (int k = 0; k < 200; k++) {
                    synchronized (lock) {
                        count[0]++;
                        if (k % 50 == 0) sleep(1);
                    }
                    other.lock();
                    try {
                        count[1]++;
                    } finally {
                        other.unlock();
                    }
                }
            };
            threads.add(i % 2 == 0 ? Thread.ofVirtual().start(r) : Thread.ofPlatform().start(r));
        }
        for (Thread t : threads) t.join();
        System.out.println("counted " + count[0] + " " + count[1]);
        // wait and notify across kinds
        SynchronousQueue<Integer> hand = new SynchronousQueue<>();
        Thread taker = Thread.startVirtualThread(() -> {
            try {
                for (int i = 0; i < 5000; i++) sum.addAndGet(hand.take());
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        for (int i = 0; i < 5000; i++) hand.put(1);
        taker.join();
        System.out.println("handed " + sum);
        Thread waiter = Thread.startVirtualThread(() -> {
            synchronized (hand) {
                try {
                    hand.wait();
                } catch (InterruptedException e) {
                    System.out.println("interrupted in wait");
                }
            }
        });
        while (waiter.getState() != Thread.State.WAITING) sleep(1);
        waiter.interrupt();
        waiter.join();
        Thread cpu = Thread.startVirtualThread(() -> {
            long h = 0;
            for (int i = 0; i < 50_000_000; i++) h = h * 31 + i;
            sum.set(h);
        });
        cpu.join();
        System.out.println("computed " + sum);
    }
}
