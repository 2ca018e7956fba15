package wisp.it.cases.stack;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** A stack overflow is caught and the thread goes on, over and over, in several threads and in main. */
@WispCase(smoke = true, timeoutSeconds = 120,
        variants = {WispCase.INTERPRETER, WispCase.C1, "-Xss512k", "-Xss4m", "17-25: -Xss256k"})
public final class Overflows {
    private static final AtomicInteger CAUGHT = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        Kit.together(4, "deep", () -> {
            int smallest = Integer.MAX_VALUE;
            for (int i = 0; i < 10; i++) {
                smallest = Math.min(smallest, overflow());
                Thread.yield();
            }
            check("reasonably deep: " + smallest, smallest > 500);
            Thread.sleep(1);
        });
        overflow();
        say("caught %d", CAUGHT.get());
        Thread after = Kit.start("after", () -> say("a new thread runs: %d", depth(100)));
        Kit.join(after);
    }

    private static int overflow() {
        int[] reached = new int[1];
        try {
            descend(reached);
        } catch (StackOverflowError e) {
            CAUGHT.incrementAndGet();
        }
        return reached[0];
    }

    private static void descend(int[] reached) {
        reached[0]++;
        descend(reached);
    }

    private static int depth(int n) {
        return n == 0 ? 0 : 1 + depth(n - 1);
    }
}
