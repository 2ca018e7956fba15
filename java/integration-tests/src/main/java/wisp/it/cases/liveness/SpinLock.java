package wisp.it.cases.liveness;

import static wisp.it.Kit.say;

import java.util.concurrent.atomic.AtomicBoolean;
import wisp.it.Kit;
import wisp.it.WispCase;

/** A home-made spin lock shared by more threads than carriers: the holder must run again. */
@WispCase
public final class SpinLock {
    private static final AtomicBoolean LOCKED = new AtomicBoolean();
    private static int counter;

    public static void main(String[] args) throws Exception {
        Kit.together(6, "spinner", () -> {
            for (int i = 0; i < 300; i++) {
                while (!LOCKED.compareAndSet(false, true)) {
                    // spins
                }
                counter++;
                if (i % 100 == 0) {
                    Thread.sleep(1); // holding it
                }
                LOCKED.set(false);
            }
        });
        say("counter %d", counter);
    }
}
