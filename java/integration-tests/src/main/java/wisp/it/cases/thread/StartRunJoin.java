package wisp.it.cases.thread;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** A thread's life: started once, alive meanwhile, joined with and without a limit. */
@WispCase(smoke = true, variants = {WispCase.INTERPRETER, WispCase.C1})
public final class StartRunJoin {
    public static void main(String[] args) throws Exception {
        AtomicInteger ran = new AtomicInteger();
        Thread[] threads = new Thread[100];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Kit.thread("t" + i, ran::incrementAndGet);
            check("not alive before", !threads[i].isAlive());
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
            check("not alive after", !thread.isAlive());
        }
        say("ran %d", ran.get());
        Kit.sayThrown("starting again", () -> threads[0].start());

        new Thread(ran::incrementAndGet).run();
        say("run() in the caller: %d", ran.get());

        CountDownLatch open = new CountDownLatch(1);
        Thread waiting = Kit.start("waiting", open::await);
        long start = System.nanoTime();
        waiting.join(50);
        check("join(50) took its time", Kit.millisSince(start) >= 49);
        say("alive after join(50): %s", waiting.isAlive());
        open.countDown();
        waiting.join(30_000, 500);
        say("alive after join: %s", waiting.isAlive());
    }
}
