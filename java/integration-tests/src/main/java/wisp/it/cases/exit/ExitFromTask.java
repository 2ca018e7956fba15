package wisp.it.cases.exit;

import static wisp.it.Kit.say;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import wisp.it.Kit;
import wisp.it.WispCase;

/** System.exit in a pool thread while others compute, park and sleep. */
@WispCase(smoke = true, exitCode = 7)
public final class ExitFromTask {
    public static void main(String[] args) throws Exception {
        Runtime.getRuntime().addShutdownHook(Kit.thread("hook", () -> {
            Thread.sleep(20);
            say("hook ran");
        }));
        ExecutorService pool = Executors.newCachedThreadPool();
        CountDownLatch busy = new CountDownLatch(2);
        pool.submit(() -> {
            busy.countDown();
            while (true) {
                Thread.yield();
            }
        });
        pool.submit(() -> {
            busy.countDown();
            new CountDownLatch(1).await();
            return null;
        });
        pool.submit(() -> {
            busy.await();
            System.exit(7);
            return null;
        });
        Thread.sleep(60_000);
        say("never");
    }
}
