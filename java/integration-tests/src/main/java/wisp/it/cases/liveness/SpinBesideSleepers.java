package wisp.it.cases.liveness;

import static wisp.it.Kit.say;

import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * Threads that come out of a sleep and then compute until another one has run, in a process in which nothing else
 * happens: whoever should see to that other one must not trust in somebody who sleeps himself. Without passes over stacks,
 * which would wake the monitor thread now and then.
 */
@WispCase(smoke = true, wispFlags = "-Dcom.alibaba.wisp.trimMs=0")
public final class SpinBesideSleepers {
    private static final int ROUNDS = 5;

    private static volatile boolean read;

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < ROUNDS; i++) {
            twoSleepers();
        }
        say("%d times two sleepers woke up at once", ROUNDS);
        sleeperAndReader();
        say("a reader ran beside a sleeper that had woken up");
    }

    private static void twoSleepers() throws Exception {
        AtomicInteger ran = new AtomicInteger();
        long when = System.nanoTime() + 100_000_000;
        Kit.together(2, "sleeper", () -> {
            long left = Math.max(0, when - System.nanoTime()); // a machine may stand still that long
            Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
            ran.incrementAndGet();
            while (ran.get() < 2) {
            }
        });
    }

    /** The bytes come from another process, so that no thread of this one runs when they come. */
    private static void sleeperAndReader() throws Exception {
        Process process = new ProcessBuilder("sh", "-c", "sleep 1; echo").start();
        Thread reader = Kit.start("reader", () -> {
            Kit.check("a line", process.getInputStream().read() == '\n');
            read = true;
        });
        Thread sleeper = Kit.start("sleeper", () -> {
            Thread.sleep(500);
            while (!read) {
            }
        });
        Kit.join(reader);
        Kit.join(sleeper);
        Kit.check("exit code", process.waitFor() == 0);
    }
}
