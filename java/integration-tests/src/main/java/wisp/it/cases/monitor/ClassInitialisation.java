package wisp.it.cases.monitor;

import static wisp.it.Kit.say;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Class initialisation: others wait for the thread that runs it; it may itself sleep and wait for a third. */
@WispCase(smoke = true, variants = WispCase.INTERPRETER)
public final class ClassInitialisation {
    private static final CountDownLatch HELPER_DONE = new CountDownLatch(1);
    private static final AtomicInteger INITIALISED = new AtomicInteger();

    private static final class Slow {
        static final int VALUE = compute();

        private static int compute() {
            INITIALISED.incrementAndGet();
            try {
                Thread.sleep(100);
                HELPER_DONE.await();
                synchronized (Slow.class) {
                    Slow.class.wait(10);
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return 42;
        }
    }

    private static final class Failing {
        static final int VALUE = fail();

        private static int fail() {
            throw new IllegalStateException("in the initialiser");
        }
    }

    public static void main(String[] args) throws Exception {
        AtomicInteger sum = new AtomicInteger();
        Thread helper = Kit.start("helper", () -> {
            Thread.sleep(150);
            HELPER_DONE.countDown();
        });
        Kit.together(10, "user", () -> sum.addAndGet(Slow.VALUE));
        Kit.join(helper);
        say("sum %d, initialised %d time", sum.get(), INITIALISED.get());
        Kit.sayThrown("first use", () -> say("%d", Failing.VALUE));
        Thread second = Kit.start("second", () -> Kit.sayThrown("second use", () -> say("%d", Failing.VALUE)));
        Kit.join(second);
    }
}
