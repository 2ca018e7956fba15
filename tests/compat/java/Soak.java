import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

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

    /** The order is part of what a seed means. */
    static final Job[] JOBS = Stream.of(SoakWaits.JOBS, SoakOutside.JOBS, SoakThreads.JOBS).flatMap(Stream::of)
            .toArray(Job[]::new);

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
