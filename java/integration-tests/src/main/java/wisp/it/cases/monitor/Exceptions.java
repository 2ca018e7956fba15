package wisp.it.cases.monitor;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** An exception through synchronized code releases each lock on its way. */
@WispCase(variants = {WispCase.INTERPRETER, WispCase.C1, WispCase.NO_BIAS, WispCase.BIAS})
public final class Exceptions {
    private static final Object OUTER = new Object();
    private static final Object INNER = new Object();

    public static void main(String[] args) throws Exception {
        AtomicInteger caught = new AtomicInteger();
        Kit.together(4, "thrower", () -> {
            for (int i = 0; i < 2_000; i++) {
                try {
                    nested(i);
                } catch (IllegalStateException e) {
                    caught.incrementAndGet();
                }
                check("released", !Thread.holdsLock(OUTER) && !Thread.holdsLock(INNER));
            }
        });
        say("caught %d", caught.get());
    }

    private static void nested(int i) {
        synchronized (OUTER) {
            synchronized (INNER) {
                synchronized (OUTER) {
                    if (i % 50 == 0) {
                        Thread.yield();
                    }
                    throw new IllegalStateException("from within");
                }
            }
        }
    }
}
