package wisp.it.cases.liveness;

import static wisp.it.Kit.say;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicIntegerArray;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * Threads that put and take without end, where the first of a round leaves nothing to the others. None of them ever
 * runs for long; still each must come to something, as on plain threads, which the kernel interrupts anywhere.
 */
@WispCase(timeoutSeconds = 120)
public final class InStep {
    private static final int EACH = 4;
    private static final int WANTED = 100;

    private interface Store {
        void put() throws InterruptedException;

        void take() throws InterruptedException;
    }

    private static Store store(BlockingQueue<Integer> queue) {
        return new Store() {
            @Override public void put() throws InterruptedException {
                queue.put(1);
            }

            @Override public void take() throws InterruptedException {
                queue.take();
            }
        };
    }

    private static final class Monitor implements Store {
        private int held;

        @Override public synchronized void put() throws InterruptedException {
            while (held == EACH) {
                wait();
            }
            held++;
            notifyAll();
        }

        @Override public synchronized void take() throws InterruptedException {
            while (held == 0) {
                wait();
            }
            held--;
            notifyAll();
        }
    }

    public static void main(String[] args) throws Exception {
        allGetOn("array of 16", store(new ArrayBlockingQueue<>(16)));
        allGetOn("array of 4", store(new ArrayBlockingQueue<>(4)));
        allGetOn("links, 16", store(new LinkedBlockingQueue<>(16)));
        allGetOn("monitor", new Monitor());
    }

    private static void allGetOn(String what, Store store) throws Exception {
        AtomicIntegerArray done = new AtomicIntegerArray(2 * EACH);
        Thread[] threads = new Thread[2 * EACH];
        for (int i = 0; i < threads.length; i++) {
            int me = i;
            threads[i] = Kit.start(what + "-" + i, () -> {
                try {
                    while (!Thread.currentThread().isInterrupted()) {
                        if (me < EACH) {
                            store.put();
                        } else {
                            store.take();
                        }
                        done.incrementAndGet(me);
                    }
                } catch (InterruptedException ended) {
                    // As wanted.
                }
            });
        }
        Kit.await(what + ": each of the threads gets on", () -> {
            for (int i = 0; i < threads.length; i++) {
                if (done.get(i) < WANTED) {
                    return false;
                }
            }
            return true;
        });
        for (Thread thread : threads) {
            thread.interrupt();
        }
        Kit.join(threads);
        say("%s: all got on", what);
    }
}
