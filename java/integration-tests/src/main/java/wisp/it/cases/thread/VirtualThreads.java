package wisp.it.cases.thread;

import static wisp.it.Kit.say;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.WispCase;

/** Virtual threads of the JDK run on top, on carriers that are tasks. */
@WispCase(minJdk = 21)
public final class VirtualThreads {
    public static void main(String[] args) throws Exception {
        ExecutorService each = (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        Object monitor = new Object();
        AtomicInteger count = new AtomicInteger();
        SynchronousQueue<Integer> queue = new SynchronousQueue<>();
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            int number = i;
            all.add(each.submit(() -> {
                Thread.sleep(1);
                synchronized (monitor) {
                    count.incrementAndGet();
                }
                if (number % 2 == 0) {
                    queue.put(number);
                } else {
                    queue.take();
                }
                return null;
            }));
        }
        for (Future<?> one : all) {
            one.get();
        }
        each.shutdown();
        say("count %d, terminated %s", count.get(), each.awaitTermination(300, TimeUnit.SECONDS));
    }
}
