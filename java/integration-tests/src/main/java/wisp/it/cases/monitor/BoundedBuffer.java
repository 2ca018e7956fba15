package wisp.it.cases.monitor;

import static wisp.it.Kit.say;

import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Producers and consumers on a small buffer with wait and notifyAll: nothing is lost or doubled. */
@WispCase(smoke = true)
public final class BoundedBuffer {
    private final ArrayDeque<Integer> items = new ArrayDeque<>();

    private synchronized void put(int item) throws InterruptedException {
        while (items.size() == 3) {
            wait();
        }
        items.add(item);
        notifyAll();
    }

    private synchronized int take() throws InterruptedException {
        while (items.isEmpty()) {
            wait();
        }
        int item = items.remove();
        notifyAll();
        return item;
    }

    public static void main(String[] args) throws Exception {
        BoundedBuffer buffer = new BoundedBuffer();
        AtomicLong sum = new AtomicLong();
        Thread consumers = Kit.start("consumers", () -> Kit.together(4, "consumer", () -> {
            for (int i = 0; i < 3_000; i++) {
                sum.addAndGet(buffer.take());
            }
        }));
        Kit.together(6, "producer", () -> {
            for (int i = 0; i < 2_000; i++) {
                buffer.put(i);
            }
        });
        Kit.join(consumers);
        say("sum %d, left %d", sum.get(), buffer.items.size());
    }
}
