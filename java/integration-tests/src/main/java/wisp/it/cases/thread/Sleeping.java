package wisp.it.cases.thread;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.concurrent.TimeUnit;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Sleep lasts as long as asked for and ends early only by an interrupt. */
@WispCase(smoke = true)
public final class Sleeping {
    public static void main(String[] args) throws Exception {
        Kit.together(20, "sleeper", () -> {
            long start = System.nanoTime();
            Thread.sleep(30);
            check("30 ms", Kit.millisSince(start) >= 29);
            Thread.sleep(0);
            start = System.nanoTime();
            Thread.sleep(1, 500_000);
            check("1.5 ms", System.nanoTime() - start >= 1_000_000);
            TimeUnit.MICROSECONDS.sleep(200);
        });
        Kit.sayThrown("sleep(-1)", () -> Thread.sleep(-1));

        Thread thread = Kit.start("interrupted", () -> {
            Kit.sayThrown("sleep under interrupt", () -> Thread.sleep(60_000));
            say("flag after: %s", Thread.currentThread().isInterrupted());
            Thread.currentThread().interrupt();
            Kit.sayThrown("sleep after interrupt", () -> Thread.sleep(60_000));
            say("flag after: %s", Thread.interrupted());
        });
        Kit.awaitState(thread, Thread.State.TIMED_WAITING);
        thread.interrupt();
        Kit.join(thread);

        // The shorter sleeper wakes first although it went to sleep last.
        say("order %s", Kit.byTime("12345", gap -> {
            StringBuffer order = new StringBuffer();
            Thread[] threads = new Thread[5];
            for (int i = 0; i < threads.length; i++) {
                int place = threads.length - i;
                threads[i] = Kit.start("order" + place, () -> {
                    Thread.sleep(place * gap);
                    order.append(place);
                });
            }
            Kit.join(threads);
            return order.toString();
        }));
    }
}
