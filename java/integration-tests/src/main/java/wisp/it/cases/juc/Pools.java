package wisp.it.cases.juc;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Thread pools: results, bulk calls, cancellation, rejection, orderly end. */
@WispCase(smoke = true)
public final class Pools {
    public static void main(String[] args) throws Exception {
        use("fixed", Executors.newFixedThreadPool(4));
        use("cached", Executors.newCachedThreadPool());
        use("single", Executors.newSingleThreadExecutor());
        use("stealing", Executors.newWorkStealingPool(3));
        use("bounded", new ThreadPoolExecutor(1, 3, 50, TimeUnit.MILLISECONDS, new ArrayBlockingQueue<>(2),
                new ThreadPoolExecutor.CallerRunsPolicy()));

        ThreadPoolExecutor small = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new SynchronousQueue<>());
        CountDownLatch open = new CountDownLatch(1);
        Future<?> busy = small.submit(() -> {
            open.await();
            return null;
        });
        Kit.sayThrown("a full pool", () -> small.submit(() -> { }));
        say("cancelled %s", busy.cancel(true));
        Kit.sayThrown("get of a cancelled", busy::get);
        say("left behind %d", small.shutdownNow().size());
        say("terminated %s", small.awaitTermination(300, TimeUnit.SECONDS));
        Kit.sayThrown("submit after shutdown", () -> small.submit(() -> { }));
    }

    private static void use(String name, ExecutorService pool) throws Exception {
        List<Callable<Integer>> calls = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            int number = i;
            calls.add(() -> {
                if (number % 10 == 0) {
                    Thread.sleep(1);
                }
                return number * number;
            });
        }
        long sum = 0;
        for (Future<Integer> future : pool.invokeAll(calls)) {
            sum += future.get();
        }
        check("any", pool.invokeAny(calls) >= 0);
        Future<Integer> failing = pool.submit(() -> Integer.parseInt("not a number"));
        Kit.sayThrown(name + " failing", failing::get);
        if (!name.equals("bounded")) { // where this thread might have to run it itself
            CountDownLatch over = new CountDownLatch(1);
            Future<?> slow = pool.submit(() -> {
                over.await();
                return null;
            });
            Kit.sayThrown(name + " timed get", () -> slow.get(5, TimeUnit.MILLISECONDS));
            over.countDown();
        }
        pool.shutdown();
        say("%s sum %d, terminated %s", name, sum, pool.awaitTermination(300, TimeUnit.SECONDS));
    }
}
