package wisp.it.cases.thread;

import static wisp.it.Kit.say;

import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Threads that start threads that start threads, joined on the way back. */
@WispCase
public final class StartedByTasks {
    private static final AtomicInteger COUNT = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        grow(5);
        say("threads %d", COUNT.get());
    }

    private static void grow(int depth) throws InterruptedException {
        COUNT.incrementAndGet();
        if (depth > 0) {
            Kit.join(Kit.start("left", () -> grow(depth - 1)), Kit.start("middle", () -> grow(depth - 1)),
                    Kit.start("right", () -> grow(depth - 1)));
        }
    }
}
