import java.util.concurrent.atomic.AtomicLong;

/** Thread.suspend, resume and stop where the JDK still has them, on threads that run, park and wait. */
public class StopSuspend {
    static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @SuppressWarnings({"deprecation", "removal"})
    public static void main(String[] args) throws Exception {
        AtomicLong[] counts = new AtomicLong[6];
        Thread[] threads = new Thread[6];
        Object never = new Object();
        String[] ends = new String[6];
        for (int i = 0; i < 6; i++) {
            int me = i;
            counts[i] = new AtomicLong();
            threads[i] = new Thread(() -> {
                try {
                    for (;;) {
                        counts[me].incrementAndGet();
                        if (me % 3 == 1) sleep(1);
                        if (me % 3 == 2) {
                            synchronized (never) {
                                never.wait(1);
                            }
                        }
                    }
                } catch (Throwable t) {
                    ends[me] = t.getClass().getName();
                }
            });
            threads[i].setDaemon(true);
            threads[i].start();
        }
        sleep(100);
        try {
            for (int round = 0; round < 5; round++) {
                for (int i = 0; i < 6; i++) {
                    threads[i].suspend();
                    sleep(20);  // in native code it stops only on its return
                    long seen = counts[i].get();
                    sleep(40);
                    if (counts[i].get() != seen) System.out.println("suspended thread " + i + " ran");
                    threads[i].resume();
                    while (counts[i].get() == seen) sleep(1);
                }
            }
            System.out.println("suspend and resume");
        } catch (UnsupportedOperationException e) {
            System.out.println("suspend: " + e.getClass());
        } catch (NoSuchMethodError e) {
            System.out.println("suspend: gone");
        }
        try {
            for (Thread t : threads) t.stop();
            for (Thread t : threads) t.join();
            for (int i = 0; i < 6; i++) System.out.println(i + " ended by " + ends[i]);
        } catch (UnsupportedOperationException e) {
            System.out.println("stop: " + e.getClass());
        } catch (NoSuchMethodError e) {
            System.out.println("stop: gone");
        }
    }
}
