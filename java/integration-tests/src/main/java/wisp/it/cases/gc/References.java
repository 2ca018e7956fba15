package wisp.it.cases.gc;

import static wisp.it.Kit.say;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Reference queues, weak references and cleaners are served by the JVM's own Java threads. */
@WispCase(gcs = {"Serial", "Parallel", "G1"})
public final class References {
    public static void main(String[] args) throws Exception {
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        List<WeakReference<Object>> references = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            references.add(new WeakReference<>(new Object(), queue));
        }
        AtomicInteger cleared = new AtomicInteger();
        Thread cleaner = Kit.start("cleaner", () -> {
            while (cleared.get() < references.size()) {
                queue.remove();
                cleared.incrementAndGet();
            }
        });
        Kit.await("all cleared", () -> {
            System.gc();
            return cleared.get() == references.size();
        });
        Kit.join(cleaner);
        say("cleared %d", cleared.get());
    }
}
