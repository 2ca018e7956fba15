package wisp.it.cases.juc;

import static wisp.it.Kit.say;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import wisp.it.Kit;
import wisp.it.WispCase;

/** CompletableFuture: chains over pools, combination, failure, timed and interrupted waits. */
@WispCase(smoke = true)
public final class CompletableFutures {
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(3);
        List<CompletableFuture<Integer>> all = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            int number = i;
            all.add(CompletableFuture.supplyAsync(() -> number)
                    .thenApplyAsync(x -> x + 1, pool)
                    .thenComposeAsync(x -> CompletableFuture.supplyAsync(() -> x * 2, pool))
                    .thenCombine(CompletableFuture.supplyAsync(() -> 1), Integer::sum));
        }
        CompletableFuture.allOf(all.toArray(new CompletableFuture<?>[0])).get(300, TimeUnit.SECONDS);
        int sum = 0;
        for (CompletableFuture<Integer> one : all) {
            sum += one.join();
        }
        say("sum %d", sum);

        CompletableFuture<String> failed = CompletableFuture.supplyAsync(() -> {
            throw new IllegalStateException("inside");
        }, pool);
        Kit.sayThrown("get", failed::get);
        Kit.sayThrown("join", failed::join);
        say("handled %s", failed.handle((value, e) -> e.getCause().getMessage()).get());

        CompletableFuture<String> open = new CompletableFuture<>();
        Kit.sayThrown("timed get", () -> open.get(10, TimeUnit.MILLISECONDS));
        Thread waiting = Kit.start("waiting", () -> Kit.sayThrown("interrupted get", open::get));
        Kit.awaitState(waiting, Thread.State.WAITING);
        waiting.interrupt();
        Kit.join(waiting);
        Thread second = Kit.start("second", () -> say("got %s", open.get()));
        Kit.awaitState(second, Thread.State.WAITING);
        open.complete("done");
        Kit.join(second);
        say("any %s", CompletableFuture.anyOf(open, new CompletableFuture<>()).get());
        pool.shutdown();
    }
}
