import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.*;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Jobs of the soak: threads that wait for each other, and for time. */
final class SoakWaits {
    static final Soak.Job[] JOBS = {
        r -> { // two threads hand numbers to and fro
            int n = 50 + r.nextInt(300);
            BlockingQueue<Long> there = r.nextBoolean() ? new SynchronousQueue<>() : new ArrayBlockingQueue<>(1 + r.nextInt(4));
            BlockingQueue<Long> back = new LinkedBlockingQueue<>();
            Thread t = Soak.start(() -> {
                try {
                    for (int i = 0; i < n; i++) back.put(there.take() * 3);
                } catch (InterruptedException e) {
                    Soak.sink.set(-1);
                }
            });
            long sum = 0;
            for (int i = 0; i < n; i++) {
                there.put((long) i);
                sum += back.take();
            }
            t.join();
            return sum;
        },
        r -> { // a bounded buffer by monitor, several on both sides
            int sides = 1 + r.nextInt(4), n = 100 + r.nextInt(200);
            long[] sum = {0};
            ArrayList<Integer> buffer = new ArrayList<>();
            List<Thread> all = new ArrayList<>();
            for (int s = 0; s < sides; s++) {
                all.add(Soak.start(() -> {
                    try {
                        for (int i = 0; i < n; i++) synchronized (buffer) {
                            while (buffer.size() >= 5) buffer.wait(i % 7 == 0 ? 3 : 0);
                            buffer.add(i);
                            buffer.notifyAll();
                        }
                    } catch (InterruptedException e) {
                        Soak.sink.set(-2);
                    }
                }));
                all.add(Soak.start(() -> {
                    try {
                        for (int i = 0; i < n; i++) synchronized (buffer) {
                            while (buffer.isEmpty()) buffer.wait();
                            sum[0] += buffer.remove(0);
                            buffer.notifyAll();
                        }
                    } catch (InterruptedException e) {
                        Soak.sink.set(-3);
                    }
                }));
            }
            for (Thread t : all) t.join();
            return sum[0];
        },
        r -> { // lock, condition, read-write lock
            ReentrantLock lock = new ReentrantLock(r.nextBoolean());
            Condition changed = lock.newCondition();
            ReentrantReadWriteLock rw = new ReentrantReadWriteLock();
            int parties = 2 + r.nextInt(4), n = 30 + r.nextInt(60);
            int[] turn = {0};
            List<Thread> all = new ArrayList<>();
            for (int p = 0; p < parties; p++) {
                int me = p;
                all.add(Soak.start(() -> {
                    for (int i = 0; i < n; i++) {
                        lock.lock();
                        try {
                            while (turn[0] % parties != me) changed.await(20, TimeUnit.MILLISECONDS);
                            turn[0]++;
                            changed.signalAll();
                        } catch (InterruptedException e) {
                            Soak.sink.set(-4);
                        } finally {
                            lock.unlock();
                        }
                        if (i % 5 == 0) {
                            rw.writeLock().lock();
                            rw.writeLock().unlock();
                        } else {
                            rw.readLock().lock();
                            rw.readLock().unlock();
                        }
                    }
                }));
            }
            for (Thread t : all) t.join();
            return turn[0];
        },
        r -> { // interrupts of every kind of wait
            long caught = 0;
            for (int i = 0; i < 6; i++) {
                int kind = r.nextInt(4);
                int[] got = {0};
                CountDownLatch never = new CountDownLatch(1);
                Thread t = Soak.start(() -> {
                    try {
                        if (kind == 0) Thread.sleep(100000);
                        else if (kind == 1) synchronized (got) { got.wait(); }
                        else if (kind == 2) never.await();
                        else {
                            while (!Thread.interrupted()) LockSupport.park();
                            throw new InterruptedException();
                        }
                    } catch (InterruptedException e) {
                        got[0] = 1;
                    }
                });
                if (r.nextBoolean()) Thread.sleep(r.nextInt(3));
                t.interrupt();
                t.join();
                caught += got[0];
            }
            return caught;
        },
        r -> { // sleepers and parkers with deadlines
            long begin = System.nanoTime();
            int ms = 1 + r.nextInt(8);
            Thread.sleep(ms, 1000);
            LockSupport.parkNanos(r.nextInt(2000000));
            synchronized (r) {
                r.wait(1 + r.nextInt(4));
            }
            if (System.nanoTime() - begin < ms * 1000000L) throw Soak.wrong("slept too short");
            return ms;
        },
    };
}
