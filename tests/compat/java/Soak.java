import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Everything at once, at random, for a number of rounds. What each job adds to the checksum depends on the
 * seed only, never on scheduling: the same line on plain threads and under Wisp. Arguments: seed, rounds.
 */
public class Soak {
    interface Job {
        long run(Random r) throws Exception;
    }

    public static class Tiny {
        static long state = 17;

        public static long next(long n) {
            return state += n;
        }
    }

    static final AtomicLong sink = new AtomicLong();
    static volatile int spun;

    static long mix(long n) {
        n = (n ^ n >>> 31) * 0x7fb5d329728ea185L;
        return n ^ n >>> 27;
    }

    static Thread start(Runnable r) {
        Thread t = new Thread(r);
        t.start();
        return t;
    }

    static RuntimeException wrong(String what) {
        return new IllegalStateException(what);
    }

    static final Job[] JOBS = {
        r -> { // two threads hand numbers to and fro
            int n = 50 + r.nextInt(300);
            BlockingQueue<Long> there = r.nextBoolean() ? new SynchronousQueue<>() : new ArrayBlockingQueue<>(1 + r.nextInt(4));
            BlockingQueue<Long> back = new LinkedBlockingQueue<>();
            Thread t = start(() -> {
                try {
                    for (int i = 0; i < n; i++) back.put(there.take() * 3);
                } catch (InterruptedException e) {
                    sink.set(-1);
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
                all.add(start(() -> {
                    try {
                        for (int i = 0; i < n; i++) synchronized (buffer) {
                            while (buffer.size() >= 5) buffer.wait(i % 7 == 0 ? 3 : 0);
                            buffer.add(i);
                            buffer.notifyAll();
                        }
                    } catch (InterruptedException e) {
                        sink.set(-2);
                    }
                }));
                all.add(start(() -> {
                    try {
                        for (int i = 0; i < n; i++) synchronized (buffer) {
                            while (buffer.isEmpty()) buffer.wait();
                            sum[0] += buffer.remove(0);
                            buffer.notifyAll();
                        }
                    } catch (InterruptedException e) {
                        sink.set(-3);
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
                all.add(start(() -> {
                    for (int i = 0; i < n; i++) {
                        lock.lock();
                        try {
                            while (turn[0] % parties != me) changed.await(20, TimeUnit.MILLISECONDS);
                            turn[0]++;
                            changed.signalAll();
                        } catch (InterruptedException e) {
                            sink.set(-4);
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
                Thread t = start(() -> {
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
            if (System.nanoTime() - begin < ms * 1000000L) throw wrong("slept too short");
            return ms;
        },
        r -> { // garbage
            long h = 0;
            Object[] keep = new Object[100];
            for (int i = 0; i < 3000; i++) {
                byte[] b = new byte[r.nextInt(2000)];
                keep[i % 100] = b;
                h += b.length;
            }
            if (r.nextInt(6) == 0) System.gc();
            return h;
        },
        r -> { // a class of a loader of its own
            URL here = Soak.class.getProtectionDomain().getCodeSource().getLocation();
            long sum = 0;
            try (URLClassLoader loader = new URLClassLoader(new URL[] {here}, null)) {
                Class<?> c = loader.loadClass("Soak$Tiny");
                for (int i = 0; i < 5; i++) sum += (Long) c.getMethod("next", long.class).invoke(null, (long) i);
            }
            return sum;
        },
        r -> { // a child
            int n = r.nextInt(100);
            Process p = new ProcessBuilder("/bin/sh", "-c", "read x; echo $x; exit " + n).start();
            p.getOutputStream().write((n + "\n").getBytes());
            p.getOutputStream().close();
            long back;
            try (BufferedReader in = new BufferedReader(new InputStreamReader(p.getInputStream()))) {
                back = Long.parseLong(in.readLine());
            }
            return back * 100 + p.waitFor();
        },
        r -> { // sockets
            int n = 20 + r.nextInt(80);
            long sum = 0;
            try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
                Thread t = start(() -> {
                    try (Socket s = server.accept()) {
                        s.setTcpNoDelay(true);
                        DataInputStream in = new DataInputStream(s.getInputStream());
                        DataOutputStream out = new DataOutputStream(s.getOutputStream());
                        for (int i = 0; i < n; i++) out.writeLong(in.readLong() + 1);
                    } catch (Exception e) {
                        e.printStackTrace();
                        sink.set(-5);
                    }
                });
                try (Socket s = new Socket(server.getInetAddress(), server.getLocalPort())) {
                    s.setTcpNoDelay(true);
                    if (r.nextBoolean()) s.setSoTimeout(50000);
                    DataInputStream in = new DataInputStream(s.getInputStream());
                    DataOutputStream out = new DataOutputStream(s.getOutputStream());
                    for (int i = 0; i < n; i++) {
                        out.writeLong(i);
                        sum += in.readLong();
                    }
                }
                t.join();
            }
            return sum;
        },
        r -> { // files
            File f = File.createTempFile("soak", null);
            byte[] data = new byte[r.nextInt(20000)];
            r.nextBytes(data);
            Files.write(f.toPath(), data);
            long h = java.util.Arrays.hashCode(Files.readAllBytes(f.toPath()));
            if (!f.delete()) throw wrong("delete");
            return h;
        },
        r -> { // stack overflow
            try {
                return deep(0) & 0;
            } catch (StackOverflowError e) {
                return 5;
            }
        },
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
                    if (me % 5 == 0) throw wrong("on purpose");
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
            int v = ++spun;
            boolean[] seen = new boolean[1];
            CountDownLatch done = new CountDownLatch(1);
            AtomicLong gate = new AtomicLong();
            Thread t = start(() -> {
                while (gate.get() == 0) { }
                done.countDown();
            });
            long h = r.nextInt();
            for (int i = 0; i < 200000; i++) h = mix(h + i);
            gate.set(1);
            done.await();
            t.join();
            return h + (v & 0) + (seen[0] ? 1 : 0);
        },
        r -> { // looks at others
            Thread.getAllStackTraces();
            Thread t = start(() -> LockSupport.parkNanos(3000000));
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
            if (!pool.awaitTermination(60, TimeUnit.SECONDS)) throw wrong("pool goes on");
            return 5;
        },
        r -> { // phaser, semaphore, barrier, exchanger
            int parties = 2 + r.nextInt(5);
            CyclicBarrier barrier = new CyclicBarrier(parties);
            Semaphore semaphore = new Semaphore(1 + r.nextInt(2));
            Phaser phaser = new Phaser(parties);
            AtomicLong sum = new AtomicLong();
            List<Thread> all = new ArrayList<>();
            for (int i = 0; i < parties; i++) all.add(start(() -> {
                try {
                    for (int k = 0; k < 15; k++) {
                        barrier.await();
                        semaphore.acquire();
                        sum.addAndGet(k);
                        semaphore.release();
                        phaser.arriveAndAwaitAdvance();
                    }
                } catch (Exception e) {
                    sink.set(-6);
                }
            }));
            for (Thread t : all) t.join();
            Exchanger<Long> exchanger = new Exchanger<>();
            Thread t = start(() -> {
                try {
                    sum.addAndGet(exchanger.exchange(1L));
                } catch (InterruptedException e) {
                    sink.set(-7);
                }
            });
            sum.addAndGet(exchanger.exchange(10L));
            t.join();
            return sum.get();
        },
    };

    static long deep(long n) {
        synchronized (sink) {
            return deep(n + 1) + 1;
        }
    }

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
                for (int i = from; i < to; i++) s += mix(i);
                return s;
            }
            int middle = from + to >>> 1;
            Sum left = new Sum(from, middle), right = new Sum(middle, to);
            left.fork();
            return right.compute() + left.join();
        }
    }

    public static void main(String[] args) throws Exception {
        long seed = Long.parseLong(args[0]);
        int rounds = Integer.parseInt(args[1]);
        long checksum = seed;
        for (int round = 0; round < rounds; round++) {
            Random r = new Random(seed * 1000003 + round);
            int threads = 2 + r.nextInt(r.nextInt(4) == 0 ? 40 : 10);
            long[] results = new long[threads];
            Thread[] all = new Thread[threads];
            for (int i = 0; i < threads; i++) {
                int me = i;
                long mine = r.nextLong();
                int jobs = 1 + r.nextInt(4);
                all[i] = new Thread(() -> {
                    Random own = new Random(mine);
                    int job = -1;
                    try {
                        for (int k = 0; k < jobs; k++) {
                            job = own.nextInt(JOBS.length);
                            results[me] = mix(results[me] * 31 + JOBS[job].run(own) + job);
                        }
                    } catch (Throwable e) {
                        System.out.println("job " + job + ": " + e);
                        e.printStackTrace();
                        results[me] = -1;
                    }
                }, "soak " + round + "." + i);
                all[i].setPriority(1 + r.nextInt(10));
            }
            for (Thread t : all) t.start();
            for (Thread t : all) t.join();
            for (long v : results) checksum = mix(checksum * 31 + v);
        }
        System.out.println("checksum " + Long.toHexString(checksum) + " errors " + sink);
        int way = (int) (seed % 4);
        if (way == 0) System.exit(7);
        if (way == 1) start(() -> Runtime.getRuntime().halt(8)).join();
        if (way == 2) start(() -> System.exit(9));
    }
}
