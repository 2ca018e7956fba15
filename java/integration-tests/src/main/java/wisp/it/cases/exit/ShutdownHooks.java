package wisp.it.cases.exit;

import static wisp.it.Kit.say;

import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Hooks run at once, may start threads and wait for them; exit in a hook's thread does not hang. */
@WispCase(smoke = true)
public final class ShutdownHooks {
    public static void main(String[] args) {
        CyclicBarrier meeting = new CyclicBarrier(3);
        AtomicInteger ran = new AtomicInteger();
        for (int i = 0; i < 3; i++) {
            Runtime.getRuntime().addShutdownHook(Kit.thread("hook" + i, () -> {
                meeting.await(); // they run beside each other, not in a row
                Kit.together(3, "helper", () -> {
                    Thread.sleep(5);
                    ran.incrementAndGet();
                });
                if (meeting.await() == 0) {
                    say("hooks ran %d helpers", ran.get());
                }
            }));
        }
        Thread removed = new Thread(() -> say("never"));
        Runtime.getRuntime().addShutdownHook(removed);
        say("removed %s", Runtime.getRuntime().removeShutdownHook(removed));
        say("main returns");
    }
}
