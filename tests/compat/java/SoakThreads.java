import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Jobs of the soak: pools, many threads, those that compute, and synchronizers. */
final class SoakThreads {
    static final Soak.Job[] JOBS = {
        r -> { // fork/join, futures
            int n = 2000 + r.nextInt(2000);
            ForkJoinPool pool = new ForkJoinPool(1 + r.nextInt(4));
            try {
                long a = pool.submit(new Sum(0, n)).get();
                long b = CompletableFuture.supplyAsync(() -> (long) n).thenApplyAsync(x -> x * 2)
                        .thenCombine(CompletableFuture.supplyAsync(() -> 3L), Long::sum).get();
                return a + b;
            } finally {
                pool.shutdown();
            }
        },
        r -> { // many short threads, some of which throw
            AtomicLong sum = new AtomicLong();
            List<Thread> all = new ArrayList<>();
            int n = 5 + r.nextInt(40);
            for (int i = 0; i < n; i++) {
                int me = i;
                Thread t = new Thread(null, () -> {
                    sum.addAndGet(me);
                    if (me % 5 == 0) throw Soak.wrong("on purpose");
                }, "short " + i, r.nextInt(3) == 0 ? 300 << 10 : 0);
                t.setPriority(1 + r.nextInt(10));
                t.setDaemon(r.nextBoolean());
                t.setUncaughtExceptionHandler((x, e) -> sum.addAndGet(1000));
                all.add(t);
            }
            for (Thread t : all) t.start();
            for (Thread t : all) t.join();
            return sum.get();
        },
        r -> { // spinners and computing
            int v = ++Soak.spun;
            boolean[] seen = new boolean[1];
            CountDownLatch done = new CountDownLatch(1);
            AtomicLong gate = new AtomicLong();
            Thread t = Soak.start(() -> {
                while (gate.get() == 0) { }
                done.countDown();
            });
            long h = r.nextInt();
            for (int i = 0; i < 200000; i++) h = Soak.mix(h + i);
            gate.set(1);
            done.await();
            t.join();
            return h + (v & 0) + (seen[0] ? 1 : 0);
        },
        r -> { // looks at others
            Thread.getAllStackTraces();
            Thread t = Soak.start(() -> LockSupport.parkNanos(3000000));
            while (t.isAlive()) {
                t.getStackTrace();
                t.getState();
                Thread.yield();
            }
            return 1;
        },
        r -> { // timers and scheduled pools
            ScheduledThreadPoolExecutor pool = new ScheduledThreadPoolExecutor(1 + r.nextInt(3));
            AtomicLong n = new AtomicLong();
            CountDownLatch five = new CountDownLatch(5);
            pool.scheduleAtFixedRate(() -> {
                five.countDown();
                if (n.get() < 5) n.incrementAndGet();
            }, 0, 1, TimeUnit.MILLISECONDS);
            five.await();
            pool.shutdownNow();
            if (!pool.awaitTermination(60, TimeUnit.SECONDS)) throw Soak.wrong("pool goes on");
            return 5;
        },
        r -> { // phaser, semaphore, barrier, exchanger
            int parties = 2 + r.nextInt(5);
            CyclicBarrier barrier = new CyclicBarrier(parties);
            Semaphore semaphore = new Semaphore(1 + r.nextInt(2));
            Phaser phaser = new Phaser(parties);
            AtomicLong sum = new AtomicLong();
            List<Thread> all = new ArrayList<>();
            for (int i = 0; i < parties; i++) all.add(Soak.start(() -> {
                try {
                    for (int k = 0; k < 15; k++) {
                        barrier.await();
                        semaphore.acquire();
                        sum.addAndGet(k);
                        semaphore.release();
                        phaser.arriveAndAwaitAdvance();
                    }
                } catch (Exception e) {
                    Soak.sink.set(-6);
                }
            }));
            for (Thread t : all) t.join();
            Exchanger<Long> exchanger = new Exchanger<>();
            Thread t = Soak.start(() -> {
                try {
                    sum.addAndGet(exchanger.exchange(1L));
                } catch (InterruptedException e) {
                    Soak.sink.set(-7);
                }
            });
            sum.addAndGet(exchanger.exchange(10L));
            t.join();
            return sum.get();
        },
    };

    static class Sum extends RecursiveTask<Long> {
        final int from, to;

        Sum(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        protected Long compute() {
            if (to - from < 50) {
                long s = 0;
                for (int i = from; i < to; i++) s += Soak.mix(i);
                return s;
            }
            int middle = from + to >>> 1;
            Sum left = new Sum(from, middle), right = new Sum(middle, to);
            left.fork();
            return right.compute() + left.join();
        }
    }
}
