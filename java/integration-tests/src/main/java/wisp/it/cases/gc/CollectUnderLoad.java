package wisp.it.cases.gc;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Full collections while threads allocate, wait, hold locks and keep objects on their stacks only. */
@WispCase(smoke = true, gcs = {"Serial", "Parallel", "G1", "Z", "Shenandoah"}, flags = "-Xmx256m", timeoutSeconds = 120)
public final class CollectUnderLoad {
    private static volatile boolean stop;

    public static void main(String[] args) throws Exception {
        CountDownLatch open = new CountDownLatch(1);
        AtomicLong parkedSum = new AtomicLong();
        Thread[] parked = new Thread[50];
        for (int i = 0; i < parked.length; i++) {
            int seed = i;
            parked[i] = Kit.start("parked" + i, () -> {
                long[][] onStack = new long[20][];
                for (int j = 0; j < onStack.length; j++) {
                    onStack[j] = new long[] {seed, j};
                }
                open.await();
                for (long[] pair : onStack) {
                    parkedSum.addAndGet(pair[0] * pair[1]);
                }
            });
        }
        Object lock = new Object();
        Thread[] busy = new Thread[4];
        for (int i = 0; i < busy.length; i++) {
            busy[i] = Kit.start("busy" + i, () -> {
                List<String> kept = new ArrayList<>();
                for (int n = 0; !stop; n++) {
                    kept.add("item " + n);
                    if (kept.size() == 1_000) {
                        for (int j = 0; j < kept.size(); j++) {
                            check("intact", kept.get(j).equals("item " + (n - 999 + j)));
                        }
                        kept.clear();
                        synchronized (lock) {
                            Thread.yield();
                        }
                    }
                }
            });
        }
        for (int i = 0; i < 10; i++) {
            System.gc();
            Thread.sleep(20);
        }
        stop = true;
        Kit.join(busy);
        open.countDown();
        Kit.join(parked);
        say("sum %d", parkedSum.get());
    }
}
