package wisp.it.cases.monitor;

import static wisp.it.Kit.say;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Nested locks in one order: everybody eats. */
@WispCase(variants = WispCase.INTERPRETER)
public final class Philosophers {
    public static void main(String[] args) throws Exception {
        int seats = 7;
        Object[] forks = new Object[seats];
        Arrays.setAll(forks, i -> new Object());
        AtomicInteger numbers = new AtomicInteger();
        AtomicInteger meals = new AtomicInteger();
        Kit.together(seats, "philosopher", () -> {
            int me = numbers.getAndIncrement();
            Object first = forks[Math.min(me, (me + 1) % seats)];
            Object second = forks[Math.max(me, (me + 1) % seats)];
            for (int i = 0; i < 1_000; i++) {
                synchronized (first) {
                    Thread.yield();
                    synchronized (second) {
                        meals.incrementAndGet();
                    }
                }
            }
        });
        say("meals %d", meals.get());
    }
}
