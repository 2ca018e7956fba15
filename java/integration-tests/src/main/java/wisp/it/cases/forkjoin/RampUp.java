package wisp.it.cases.forkjoin;

import static wisp.it.Kit.say;

import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.WispCase;

/** An idle pool is woken from outside over and over; no wake-up is lost. */
@WispCase
public final class RampUp {
    private static final class Leaves extends RecursiveAction {
        private final int from;
        private final int to;
        private final AtomicLong sum;

        Leaves(int from, int to, AtomicLong sum) {
            this.from = from;
            this.to = to;
            this.sum = sum;
        }

        @Override
        protected void compute() {
            if (to - from == 1) {
                sum.addAndGet(from);
            } else {
                int middle = (from + to) / 2;
                invokeAll(new Leaves(from, middle, sum), new Leaves(middle, to, sum));
            }
        }
    }

    public static void main(String[] args) throws Exception {
        ForkJoinPool pool = new ForkJoinPool(3);
        AtomicLong sum = new AtomicLong();
        for (int i = 0; i < 300; i++) {
            pool.invoke(new Leaves(0, 64, sum));
            if (i % 3 == 0) {
                Thread.sleep(1);
            }
        }
        say("sum %d", sum.get());
        pool.shutdown();
    }
}
