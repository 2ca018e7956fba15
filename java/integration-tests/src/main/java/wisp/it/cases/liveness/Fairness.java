package wisp.it.cases.liveness;

import static wisp.it.Kit.say;

import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Two threads that pass messages at full speed do not starve a third that only wants a turn. */
@WispCase(carriers = {1, 2})
public final class Fairness {
    private static volatile boolean stop;

    public static void main(String[] args) throws Exception {
        SynchronousQueue<Integer> queue = new SynchronousQueue<>();
        Thread sender = Kit.start("sender", () -> {
            while (!stop) {
                queue.offer(1, 10, TimeUnit.MILLISECONDS);
            }
        });
        Thread receiver = Kit.start("receiver", () -> {
            while (!stop) {
                queue.poll(10, TimeUnit.MILLISECONDS);
            }
        });
        int turns = 0;
        long start = System.nanoTime();
        while (turns < 2_000 && Kit.millisSince(start) < 240_000) {
            Thread.yield();
            turns++;
        }
        stop = true;
        Kit.join(sender, receiver);
        say("turns %d", turns);
    }
}
