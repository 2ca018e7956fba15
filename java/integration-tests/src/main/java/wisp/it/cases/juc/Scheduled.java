package wisp.it.cases.juc;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import wisp.it.Kit;
import wisp.it.WispCase;

/** ScheduledThreadPoolExecutor: order by delay, fixed rate, fixed delay, cancellation. */
@WispCase(smoke = true)
public final class Scheduled {
    public static void main(String[] args) throws Exception {
        ScheduledThreadPoolExecutor pool = new ScheduledThreadPoolExecutor(2);
        say("order %s", Kit.byTime("1234", gap -> {
            StringBuffer order = new StringBuffer();
            List<Future<?>> all = new ArrayList<>();
            for (int i = 4; i >= 1; i--) {
                int number = i;
                all.add(pool.schedule(() -> order.append(number), number * gap, TimeUnit.MILLISECONDS));
            }
            for (Future<?> one : all) {
                one.get();
            }
            return order.toString();
        }));

        CountDownLatch rate = new CountDownLatch(20);
        long start = System.nanoTime();
        Future<?> ticking = pool.scheduleAtFixedRate(rate::countDown, 10, 10, TimeUnit.MILLISECONDS);
        say("20 ticks %s", rate.await(300, TimeUnit.SECONDS));
        check("not too early", Kit.millisSince(start) >= 199);
        say("cancelled %s", ticking.cancel(false));
        CountDownLatch delay = new CountDownLatch(5);
        pool.scheduleWithFixedDelay(() -> {
            delay.countDown();
            if (delay.getCount() == 0) {
                throw new IllegalStateException("stops the series");
            }
        }, 0, 5, TimeUnit.MILLISECONDS);
        say("5 delays %s", delay.await(300, TimeUnit.SECONDS));
        Future<?> never = pool.schedule(() -> say("never"), 1, TimeUnit.HOURS);
        never.cancel(false); // before the shutdown, which drops what is cancelled
        pool.shutdown();
        say("terminated %s", pool.awaitTermination(300, TimeUnit.SECONDS));
    }
}
