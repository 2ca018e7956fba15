package wisp.it.cases.thread;

import static wisp.it.Kit.say;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Two thousand threads alive at once, each woken and counted. */
@WispCase(smoke = true)
public final class ManyThreads {
    public static void main(String[] args) throws Exception {
        int count = 2_000;
        CountDownLatch arrived = new CountDownLatch(count);
        CountDownLatch open = new CountDownLatch(1);
        AtomicLong sum = new AtomicLong();
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            int number = i;
            threads[i] = Kit.start("many-" + i, () -> {
                arrived.countDown();
                open.await();
                sum.addAndGet(number);
            });
        }
        arrived.await();
        open.countDown();
        Kit.join(threads);
        say("sum %d", sum.get());
    }
}
