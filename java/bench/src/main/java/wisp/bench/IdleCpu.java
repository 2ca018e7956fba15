package wisp.bench;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * What waiting costs. {@code --load idle}: threads are parked and nothing happens. {@code --load light}:
 * besides, one of them computes for about 100 µs every 10 ms (1 % of one core).
 */
public final class IdleCpu {
    private static volatile long sink;

    public static void main(String[] args) throws Exception {
        Options options = new Options(IdleCpu.class).define("load", "idle").define("seconds", 10)
                .define("threads", 20).define("kind", Threads.PLATFORM).parse(args);
        boolean light = options.text("load", "idle", "light").equals("light");
        int seconds = options.number("seconds", 1, 86_400);
        int count = options.number("threads", 0, 100_000);
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);

        Thread[] waiting = new Thread[count];
        for (int i = 0; i < count; i++) {
            Thread parked = Threads.unstarted(kind, () -> {
                while (true) {
                    LockSupport.park(IdleCpu.class);
                }
            });
            if (kind.equals(Threads.PLATFORM)) {
                parked.setDaemon(true);
            }
            parked.start();
            waiting[i] = parked;
        }
        work(2_000); // compiles it, so that the load is the same from the first tick on
        Proc.cpuMillis();
        Proc.sleeps();
        Thread.sleep(1_000);

        long cpuBefore = Proc.cpuMillis();
        long sleepsBefore = Proc.sleeps();
        long start = System.nanoTime();
        AtomicInteger ticks = new AtomicInteger();
        if (light) {
            Runnable load = () -> {
                for (int i = 0; i < seconds * 100; i++) {
                    LockSupport.parkNanos(10_000_000);
                    work(1);
                    ticks.incrementAndGet();
                }
            };
            Threads.runAll(kind, load);
        } else {
            Thread.sleep(seconds * 1_000L);
        }
        long cpuMillis = Proc.cpuMillis() - cpuBefore;
        double elapsed = (System.nanoTime() - start) / 1e9;
        Report.check("ticks of work", light ? seconds * 100 : 0, ticks.get());
        int alive = 0;
        for (Thread one : waiting) {
            alive += one.isAlive() ? 1 : 0;
        }
        Report.check("threads still parked", count, alive);
        Report.value("ticks", ticks.get());
        Report.value("seconds", elapsed);
        Report.value("cpu_ms", cpuMillis);
        Report.value("cpu_ms_per_s", cpuMillis / elapsed);
        Report.value("sleeps_per_s", (Proc.sleeps() - sleepsBefore) / elapsed);
        Report.valid();
        System.exit(0);
    }

    private static void work(int times) {
        long x = 88172645463325252L;
        for (long i = 0; i < times * 80_000L; i++) {
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
        }
        sink = x;
    }
}
