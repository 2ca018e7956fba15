package wisp.it.cases.monitor;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import wisp.it.Kit;
import wisp.it.WispCase;

/** Mutual exclusion under contention, with yields and sleeps inside and outside the lock. */
@WispCase(smoke = true, variants = {WispCase.INTERPRETER, WispCase.C1, WispCase.NO_BIAS, WispCase.BIAS})
public final class ContendedEnter {
    private static final Object LOCK = new Object();
    private static int counter;
    private static int inside;

    public static void main(String[] args) throws Exception {
        Kit.together(8, "contender", () -> {
            for (int i = 0; i < 5_000; i++) {
                synchronized (LOCK) {
                    check("alone", ++inside == 1);
                    counter++;
                    if (i % 64 == 0) {
                        Thread.yield();
                    }
                    if (i % 1_000 == 0) {
                        Thread.sleep(1);
                    }
                    inside--;
                }
            }
        });
        say("counter %d", counter);
        Kit.together(8, "static", () -> {
            for (int i = 0; i < 5_000; i++) {
                increment();
            }
        });
        say("counter %d", counter);
    }

    private static synchronized void increment() {
        counter++;
    }
}
