import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Stack overflows on many threads at once while the VM stops the world: HotSpot takes VM locks inside
 * its SIGSEGV handler then. Arguments: threads, overflows per thread.
 */
public class OverflowStorm {
    static int down(int n, Object lock) {
        synchronized (lock) {
            return down(n + 1, lock) + 1;
        }
    }

    static int plain(long a, long b, int n) {
        return plain(b, a + n, n + 1) + 1;
    }

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]), rounds = Integer.parseInt(args[1]);
        AtomicInteger caught = new AtomicInteger();
        AtomicLong others = new AtomicLong();
        boolean[] stop = {false};
        List<Thread> helpers = new ArrayList<>();
        Runnable[] disturb = {
            () -> System.gc(),
            () -> Thread.getAllStackTraces(),
            () -> {
                byte[][] garbage = new byte[64][];
                for (int i = 0; i < 4096; i++) garbage[i % 64] = new byte[1024];
                others.addAndGet(garbage.length);
            },
            () -> {
                try {
                    Thread.sleep(1);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        };
        for (Runnable r : disturb) {
            Thread t = new Thread(() -> {
                while (!stop[0]) {
                    r.run();
                    if (r == disturb[0] || r == disturb[1]) disturb[3].run();
                    Thread.yield();
                }
            });
            t.setDaemon(true);
            t.start();
            helpers.add(t);
        }
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int me = i;
            Thread t = new Thread(null, () -> {
                for (int k = 0; k < rounds; k++) {
                    try {
                        if (((me + k) & 1) == 0) down(0, new Object());
                        else plain(k, me, 0);
                    } catch (StackOverflowError e) {
                        caught.incrementAndGet();
                    }
                    if (k % 3 == 0) Thread.yield();
                    synchronized (caught) {
                        others.incrementAndGet();
                    }
                }
            }, "overflow " + i, me % 3 == 0 ? 256 << 10 : 0);
            all.add(t);
            t.start();
        }
        for (Thread t : all) t.join();
        stop[0] = true;
        for (Thread t : helpers) t.join();
        System.out.println("caught " + caught);
    }
}
