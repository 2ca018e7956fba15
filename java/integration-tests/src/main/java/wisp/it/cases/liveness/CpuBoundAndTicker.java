package wisp.it.cases.liveness;

import static wisp.it.Kit.say;

import java.util.concurrent.atomic.AtomicLongArray;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Loops that never block and a ticker beside them: it ticks, and each loop gets its share. */
@WispCase(smoke = true, carriers = {1, 2})
public final class CpuBoundAndTicker {
    private static volatile boolean stop;

    public static void main(String[] args) throws Exception {
        AtomicLongArray loops = new AtomicLongArray(4);
        Thread[] busy = new Thread[loops.length()];
        for (int i = 0; i < busy.length; i++) {
            int me = i;
            busy[i] = Kit.start("busy" + i, () -> {
                long x = 1;
                while (!stop) {
                    for (int n = 0; n < 10_000; n++) {
                        x = x * 31 + n;
                    }
                    loops.addAndGet(me, x == 0 ? 2 : 1);
                }
            });
        }
        int[] ticks = new int[1];
        // 200 when undisturbed; coarse, and again, because the machine may be busy with other things.
        for (int round = 0; round < 5 && ticks[0] < 40; round++) {
            ticks[0] = 0;
            Thread ticker = Kit.start("ticker", () -> {
                long start = System.nanoTime();
                while (Kit.millisSince(start) < 2_000) {
                    Thread.sleep(10);
                    ticks[0]++;
                }
            });
            Kit.join(ticker);
        }
        for (int i = 0; i < loops.length(); i++) {
            int number = i;
            Kit.await("loop " + i + " runs", () -> loops.get(number) > 0);
        }
        stop = true;
        Kit.join(busy);
        say("ticks enough: %s", ticks[0] >= 40);
        System.err.println("ticks " + ticks[0] + " loops " + loops);
    }
}
