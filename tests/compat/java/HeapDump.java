import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/** A thread asks for a heap dump, or runs out of heap, beside others that run and wait. Arguments: how, file, threads. */
public class HeapDump {
    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[2]);
        AtomicLong done = new AtomicLong();
        CountDownLatch running = new CountDownLatch(count);
        boolean[] stop = {false};
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int me = i;
            Thread t = new Thread(() -> {
                running.countDown();
                synchronized (stop) {
                    while (!stop[0]) {
                        try {
                            if (me % 2 == 0) stop.wait();
                            else stop.wait(1);
                        } catch (InterruptedException e) {
                            return;
                        }
                        done.incrementAndGet();
                    }
                }
            }, "waiter " + i);
            threads.add(t);
            t.start();
        }
        running.await();
        Thread dumper = new Thread(() -> {
            if (args[0].equals("asked")) {
                try {
                    ManagementFactory.newPlatformMXBeanProxy(ManagementFactory.getPlatformMBeanServer(),
                            "com.sun.management:type=HotSpotDiagnostic", HotSpotDiagnosticMXBean.class)
                            .dumpHeap(args[1], true);
                    System.out.println("dumped");
                } catch (Exception e) {
                    System.out.println(e);
                }
                return;
            }
            List<byte[]> all = new ArrayList<>();
            try {
                while (true) all.add(new byte[1 << 20]);
            } catch (OutOfMemoryError e) {
                all.clear();
                System.out.println(e.getMessage());
            }
        }, "dumper");
        dumper.start();
        dumper.join();
        synchronized (stop) {
            stop[0] = true;
            stop.notifyAll();
        }
        for (Thread t : threads) t.join();
        System.out.println("ended");
    }
}
