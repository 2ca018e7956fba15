package wisp.it.cases.rules;

import static wisp.it.Kit.say;

import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Tasks and plain threads share locks, monitors, queues and joins. */
@WispCase(smoke = true, wispFlags = "-Dcom.alibaba.wisp.threadAsWisp.black=name:plain-*")
public final class MixedKinds {
    private static int counter;

    public static void main(String[] args) throws Exception {
        Object monitor = new Object();
        SynchronousQueue<Integer> queue = new SynchronousQueue<>();
        CyclicBarrier barrier = new CyclicBarrier(8);
        AtomicLong sum = new AtomicLong();
        Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) {
            int number = i;
            threads[i] = Kit.start((i % 2 == 0 ? "plain-" : "task-") + i, () -> {
                for (int n = 0; n < 500; n++) {
                    synchronized (monitor) {
                        counter++;
                        monitor.notifyAll();
                        if (n % 50 == 0) {
                            monitor.wait(1);
                        }
                    }
                    if (number < 4) {
                        queue.put(n);
                    } else {
                        sum.addAndGet(queue.take());
                    }
                    if (n % 100 == 0) {
                        barrier.await();
                    }
                }
            });
        }
        Kit.join(threads);
        say("counter %d, sum %d", counter, sum.get());
    }
}
