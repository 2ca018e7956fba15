package wisp.it.cases.thread;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Thousands of short lives in waves: what one thread leaves behind must not reach the next. */
@WispCase(smoke = true)
public final class Churn {
    public static void main(String[] args) throws Exception {
        ThreadLocal<byte[]> local = new ThreadLocal<>();
        AtomicInteger lived = new AtomicInteger();
        for (int wave = 0; wave < 100; wave++) {
            Kit.together(40, "wave" + wave, () -> {
                check("no inheritance from a dead thread", local.get() == null && !Thread.interrupted());
                local.set(new byte[100]);
                lived.incrementAndGet();
                if (lived.get() % 3 == 0) {
                    Thread.currentThread().interrupt();
                }
            });
        }
        say("lived %d", lived.get());
    }
}
