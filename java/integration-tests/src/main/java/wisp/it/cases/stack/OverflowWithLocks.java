package wisp.it.cases.stack;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Overflows below synchronized code and wait: locks are released, the threads beside go on. */
@WispCase(variants = {WispCase.INTERPRETER, WispCase.C1}, timeoutSeconds = 120)
public final class OverflowWithLocks {
    private static final Object LOCK = new Object();
    private static volatile boolean stop;

    public static void main(String[] args) throws Exception {
        AtomicLong beside = new AtomicLong();
        Thread other = Kit.start("beside", () -> {
            while (!stop) {
                synchronized (LOCK) {
                    beside.incrementAndGet();
                }
                Thread.sleep(1);
            }
        });
        Kit.await("it runs before", () -> beside.get() > 0);
        AtomicInteger caught = new AtomicInteger();
        Kit.together(3, "deep", () -> {
            for (int i = 0; i < 5; i++) {
                try {
                    descend(0);
                } catch (StackOverflowError e) {
                    caught.incrementAndGet();
                }
                check("released", !Thread.holdsLock(LOCK));
            }
        });
        long before = beside.get();
        Kit.await("it runs after", () -> beside.get() > before);
        stop = true;
        Kit.join(other);
        say("caught %d", caught.get());
    }

    private static int descend(int depth) {
        if (depth % 100 == 50) {
            synchronized (LOCK) {
                return descend(depth + 1) + 1;
            }
        }
        return descend(depth + 1) + 1;
    }
}
