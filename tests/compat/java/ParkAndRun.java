import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Threads that park, run, block on monitors, sleep, come and go, for some seconds. Argument: seconds. */
public class ParkAndRun {
    static volatile long sink;

    static long work(int n) {
        long h = n;
        for (int i = 0; i < 20000; i++) h = h * 31 + (h >>> 7) + i;
        return h;
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000000L;
        BlockingQueue<Integer> there = new ArrayBlockingQueue<>(4), back = new ArrayBlockingQueue<>(4);
        Object lock = new Object();
        AtomicLong done = new AtomicLong();
        List<Runnable> bodies = new ArrayList<>();
        bodies.add(() -> {
            try {
                there.put(1);
                if (back.take() != 2) throw new IllegalStateException();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        bodies.add(() -> {
            try {
                if (there.take() != 1) throw new IllegalStateException();
                back.put(2);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        for (int i = 0; i < 4; i++) bodies.add(() -> sink = work((int) sink));
        for (int i = 0; i < 4; i++) bodies.add(() -> {
            synchronized (lock) {
                sink = work(3);
            }
        });
        bodies.add(() -> LockSupport.parkNanos(200000));
        bodies.add(() -> {
            try {
                Thread.sleep(2);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        bodies.add(() -> {
            Thread t = new Thread(() -> sink = work(1));
            t.start();
            try {
                t.join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        CountDownLatch finished = new CountDownLatch(bodies.size() - 2);
        List<Thread> threads = new ArrayList<>();
        int index = 0;
        for (Runnable body : bodies) {
            boolean counted = index++ >= 2;
            Thread t = new Thread(() -> {
                // On a slow machine, or compiling everything, longer than was asked for.
                while (System.nanoTime() < end || done.get() <= 50) {
                    body.run();
                    done.incrementAndGet();
                }
                if (counted) finished.countDown();
            }, "body " + index);
            t.setDaemon(true);
            t.start();
            threads.add(t);
        }
        finished.await();
        System.out.println("done " + (done.get() > 50));
        if (args.length > 1) Thread.sleep(Long.parseLong(args[1]) * 1000);
    }
}
