package wisp.it.cases.forkjoin;

import static wisp.it.Kit.say;

import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Tasks that fork and join, deeper than there are workers; the pool compensates, nobody starves. */
@WispCase(smoke = true)
public final class RecursiveJoin {
    private static final class Fibonacci extends RecursiveTask<Integer> {
        private final int n;

        Fibonacci(int n) {
            this.n = n;
        }

        @Override
        protected Integer compute() {
            if (n < 2) {
                return n;
            }
            Fibonacci left = new Fibonacci(n - 1);
            left.fork();
            return new Fibonacci(n - 2).compute() + left.join();
        }
    }

    public static void main(String[] args) throws Exception {
        for (int parallelism : new int[] {1, 2, 4}) {
            ForkJoinPool pool = new ForkJoinPool(parallelism);
            say("parallelism %d: %d", parallelism, pool.invoke(new Fibonacci(20)));
            AtomicLong sum = new AtomicLong();
            Kit.together(4, "submitter", () -> {
                for (int i = 0; i < 50; i++) {
                    sum.addAndGet(pool.submit(new Fibonacci(10)).get());
                }
            });
            say("submitted from outside: %d", sum.get());
            pool.shutdown();
            say("terminated %s", pool.awaitTermination(300, TimeUnit.SECONDS));
        }
    }
}
