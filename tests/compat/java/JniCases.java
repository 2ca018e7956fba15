import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Native code on Java threads; one line per behaviour. Arguments: folder of the native libraries, cases. */
public class JniCases {
    static native void rawSleep(int ms);
    static native void rawPipeOpen();
    static native int rawPipeRead();
    static native void rawPipeWrite(int value);
    static native void flagSpin(int value);
    static native void flagSet(int value);
    static native long spin(int ms);
    static native void rawFutexWait();
    static native void rawFutexWake();
    static native int localUse();
    static native int localsEnded();
    static native int localsMade();
    static native int keyUse();
    static native int keysEnded();
    static native boolean lateLoad(String path);
    static native int lateNext();
    static native int exceptions(Runnable callback);
    static native int attach(Runnable callback, int threads);
    static native void locksInit(int tasks, int own);
    static native void locksUse(int me);
    static native String locksEnd();
    static native int once();
    static native int magicStatic();
    static native int futures();
    static native String shared();
    static native void robustInit();
    static native int robustLock();
    static native int robustRepair();
    static native void monitors(Object lock, int[] cell, int rounds);
    static native int critical(int[] array);
    static native boolean identity();
    static native void crash();
    static native void abortNow();
    static native void limit(int kind, long value);

    static Thread start(Runnable r) {
        Thread t = new Thread(r);
        t.start();
        return t;
    }

    static void all(int n, java.util.function.IntConsumer body) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        AtomicInteger failed = new AtomicInteger();
        for (int i = 0; i < n; i++) {
            int me = i;
            threads.add(start(() -> {
                try {
                    body.accept(me);
                } catch (Throwable t) {
                    failed.incrementAndGet();
                    t.printStackTrace();
                }
            }));
        }
        for (Thread t : threads) t.join();
        if (failed.get() != 0) System.out.println("failed " + failed);
    }

    static void sleep(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void blocking() throws Exception {
        // While eight threads sit in the kernel unseen, a ticker goes on.
        CountDownLatch done = new CountDownLatch(8);
        for (int i = 0; i < 8; i++) start(() -> { rawSleep(400); done.countDown(); });
        long begin = System.nanoTime();
        int ticks = 0;
        for (; ticks < 10; ticks++) sleep(5);
        done.await();
        long ms = (System.nanoTime() - begin) / 1000000;
        // One after the other would be 3,200 ms.
        System.out.println("raw sleeps beside each other " + (ms < 2400) + " ticks " + ticks);

        rawPipeOpen();
        int[] got = new int[3];
        Thread[] readers = new Thread[3];
        for (int i = 0; i < 3; i++) {
            int me = i;
            readers[i] = start(() -> got[me] = rawPipeRead());
        }
        sleep(50);
        for (int i = 0; i < 3; i++) rawPipeWrite(i + 1);
        for (Thread t : readers) t.join();
        System.out.println("raw reads " + (got[0] + got[1] + got[2]));

        Thread[] waiters = new Thread[4];
        for (int i = 0; i < 4; i++) waiters[i] = start(JniCases::rawFutexWait);
        sleep(30);
        rawFutexWake();
        for (Thread t : waiters) t.join();
        System.out.println("raw futex");
    }

    static void spinning() throws Exception {
        for (int round = 1; round <= 20; round++) {
            int value = round;
            Thread[] spinners = new Thread[3];
            for (int i = 0; i < 3; i++) spinners[i] = start(() -> flagSpin(value));
            start(() -> flagSet(value)).join();
            for (Thread t : spinners) t.join();
        }
        System.out.println("spun for others");
        all(4, i -> spin(50));
        System.out.println("spun for the clock");
    }

    static void locals() throws Exception {
        AtomicInteger wrong = new AtomicInteger();
        for (int round = 0; round < 5; round++) {
            all(40, i -> {
                // uses * 100 + plain: 108, 209, 310
                if (localUse() != 108) wrong.incrementAndGet();
                sleep(1);
                if (localUse() != 209) wrong.incrementAndGet();
                Thread.yield();
                if (localUse() != 310) wrong.incrementAndGet();
                if (keyUse() != 1) wrong.incrementAndGet();
                sleep(1);
                if (keyUse() != 0) wrong.incrementAndGet();
            });
        }
        // Destructors run after the thread is no longer alive for Java.
        for (int i = 0; i < 500 && (localsEnded() < 200 || keysEnded() < 400); i++) sleep(10);
        System.out.println("thread_local wrong " + wrong + " made " + localsMade() + " ended " + localsEnded()
                + " keys ended " + keysEnded());
    }

    static void late(String library) throws Exception {
        AtomicInteger wrong = new AtomicInteger();
        CountDownLatch ready = new CountDownLatch(8), loaded = new CountDownLatch(1);
        Runnable use = () -> {
            if (lateNext() != 1044) wrong.incrementAndGet();
            sleep(1);
            if (lateNext() != 1047) wrong.incrementAndGet();
        };
        Thread[] before = new Thread[8];
        for (int i = 0; i < 8; i++) before[i] = start(() -> {
            ready.countDown();
            try {
                loaded.await();
            } catch (InterruptedException e) {
                return;
            }
            use.run();
        });
        ready.await();
        Thread loader = start(() -> {
            System.out.println("late load " + lateLoad(library));
            use.run();
        });
        loader.join();
        loaded.countDown();
        for (Thread t : before) t.join();
        all(20, i -> use.run());
        use.run();
        System.out.println("late thread_local wrong " + wrong);
    }

    static void exceptions() throws Exception {
        AtomicInteger sum = new AtomicInteger();
        all(16, i -> sum.addAndGet(exceptions(() -> sleep(i % 3))));
        System.out.println("C++ exceptions " + sum);
    }

    static void attaching() throws Exception {
        Object lock = new Object();
        int[] count = {0};
        AtomicInteger sum = new AtomicInteger();
        all(6, i -> sum.addAndGet(attach(() -> {
            synchronized (lock) {
                if (++count[0] % 64 == 0) Thread.yield();
            }
        }, 4)));
        System.out.println("attached " + sum + " calls " + count[0]);
    }

    static void locks() throws Exception {
        locksInit(8, 4);
        all(8, JniCases::locksUse);
        System.out.println("locks " + locksEnd());
        AtomicInteger sum = new AtomicInteger();
        all(10, i -> sum.addAndGet(once()));
        System.out.println("once " + sum);
        sum.set(0);
        all(10, i -> sum.addAndGet(magicStatic()));
        System.out.println("static " + sum);
        sum.set(0);
        all(5, i -> sum.addAndGet(futures()));
        System.out.println("futures " + sum);
    }

    static void shared2() throws Exception {
        for (int i = 0; i < 3; i++) System.out.println("shared " + shared());
        List<String> out = java.util.Collections.synchronizedList(new ArrayList<>());
        all(4, i -> out.add(shared()));
        System.out.println("shared by four " + new java.util.TreeSet<>(out));
        robustInit();
        int[] r = new int[1];
        Thread owner = start(() -> r[0] = robustLock());
        owner.join();
        sleep(50);  // the thread ends a moment after join
        System.out.println("robust " + r[0]);
        Thread next = start(() -> {
            int got = robustLock();
            System.out.println("robust next " + got + " repair " + robustRepair() + " again " + robustLock());
        });
        next.join();
    }

    static void monitor() throws Exception {
        Object lock = new Object();
        int[] cell = {0};
        all(12, i -> {
            if (i % 2 == 0) {
                monitors(lock, cell, 100);
            } else {
                for (int k = 0; k < 100; k++)
                    synchronized (lock) {
                        if (k % 20 == 0) sleep(1);
                        cell[0]++;
                    }
            }
        });
        System.out.println("monitors " + cell[0]);
        int[] array = {0};
        AtomicInteger sum = new AtomicInteger();
        all(8, i -> {
            for (int k = 0; k < 10; k++) {
                synchronized (array) { sum.addAndGet(critical(array)); }
                System.gc();
            }
        });
        System.out.println("critical " + array[0] + " " + sum);
    }

    static void identities() throws Exception {
        AtomicInteger good = new AtomicInteger();
        all(50, i -> { for (int k = 0; k < 10; k++) if (identity()) good.incrementAndGet(); });
        System.out.println("identity " + good);
    }

    public static void main(String[] args) throws Exception {
        System.load(args[0] + "/libjni_cases.so");
        System.load(args[0] + "/libjni_locks.so");
        for (int i = 1; i < args.length; i++) {
            switch (args[i]) {
                case "blocking": blocking(); break;
                case "spinning": spinning(); break;
                case "locals": locals(); break;
                case "late": late(args[0] + "/liblate.so"); break;
                case "exceptions": exceptions(); break;
                case "attaching": attaching(); break;
                case "locks": locks(); break;
                case "shared": shared2(); break;
                case "monitor": monitor(); break;
                case "identity": identities(); break;
                case "crash": {
                    start(() -> { for (;;) sleep(1); });
                    Thread t = start(JniCases::crash);
                    t.join();
                    break;
                }
                case "abort": {
                    Thread t = start(JniCases::abortNow);
                    t.join();
                    break;
                }
                default: throw new IllegalArgumentException(args[i]);
            }
        }
    }
}
