package wisp.it.cases.gc;

import static wisp.it.Kit.say;

import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Compiled code loses its assumptions while many threads run it and sleep in it. */
@WispCase(variants = WispCase.COMPILE_ALL, timeoutSeconds = 120)
public final class Deoptimisation {
    private interface Shape {
        int area(int x);
    }

    private static volatile Shape shape = x -> x;

    public static void main(String[] args) throws Exception {
        AtomicLong sum = new AtomicLong();
        CyclicBarrier phase = new CyclicBarrier(5);
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Kit.start("user" + i, () -> {
                for (int p = 0; p < 3; p++) {
                    long mine = 0;
                    for (int n = 0; n < 100_000; n++) {
                        mine += shape.area(n);
                        if (n % 20_000 == 0) {
                            Thread.sleep(1);
                        }
                    }
                    sum.addAndGet(mine);
                    phase.await();
                    phase.await();
                }
            });
        }
        phase.await();
        shape = x -> x + 1;
        phase.await();
        phase.await();
        shape = x -> x + 2;
        phase.await();
        phase.await();
        phase.await();
        Kit.join(threads);
        say("sum %d", sum.get());
    }
}
