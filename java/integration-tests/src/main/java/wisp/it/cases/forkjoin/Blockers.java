package wisp.it.cases.forkjoin;

import static wisp.it.Kit.say;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.TimeUnit;
import wisp.it.WispCase;

/** ManagedBlocker: a pool of two gets by although more than two tasks block for each other. */
@WispCase(smoke = true)
public final class Blockers {
    public static void main(String[] args) throws Exception {
        ForkJoinPool pool = new ForkJoinPool(2);
        CountDownLatch all = new CountDownLatch(6);
        List<ForkJoinTask<?>> tasks = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            tasks.add(pool.submit(() -> {
                all.countDown();
                ForkJoinPool.managedBlock(new ForkJoinPool.ManagedBlocker() {
                    @Override
                    public boolean block() throws InterruptedException {
                        all.await();
                        return true;
                    }

                    @Override
                    public boolean isReleasable() {
                        return all.getCount() == 0;
                    }
                });
                return null;
            }));
        }
        for (ForkJoinTask<?> task : tasks) {
            task.get(300, TimeUnit.SECONDS);
        }
        say("all six met");
        pool.shutdown();
        // CompletableFuture.get blocks through the same door. Not so on JDK 8, which does not always
        // compensate for it: 1 of 8 plain runs waited for ever in a new pool, 2 of 8 in the one above.
        boolean compensates = !System.getProperty("java.specification.version").startsWith("1.");
        ForkJoinPool second = new ForkJoinPool(compensates ? 2 : 6);
        CompletableFuture<Integer> gate = new CompletableFuture<>();
        List<ForkJoinTask<Integer>> waiting = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            waiting.add(second.submit(() -> gate.get()));
        }
        second.submit(() -> gate.complete(5));
        int sum = 0;
        for (ForkJoinTask<Integer> task : waiting) {
            sum += task.get(300, TimeUnit.SECONDS);
        }
        say("sum %d", sum);
        second.shutdown();
    }
}
