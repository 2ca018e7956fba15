import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CountDownLatch;

/** CPU time per thread against that of the process, beside sleepers, waiters and children of the kernel. */
public class CpuTimes {
    static volatile long sink;

    static void burn(ThreadMXBean bean, long ms) {
        long end = bean.getCurrentThreadCpuTime() + ms * 1000000;
        long h = 1;
        while (bean.getCurrentThreadCpuTime() < end) for (int i = 0; i < 10000; i++) h = h * 31 + i;
        sink = h;
    }

    static long process() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    public static void main(String[] args) throws Exception {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        bean.setThreadCpuTimeEnabled(true);
        int n = 6;
        Thread[] threads = new Thread[n];
        long[] used = new long[n], seen = new long[n];
        CountDownLatch burnt = new CountDownLatch(n);
        boolean[] go = {false};
        long before = process();
        for (int i = 0; i < n; i++) {
            int me = i;
            threads[i] = new Thread(() -> {
                try {
                    if (me < 4) burn(bean, 100 + me * 50);
                    else if (me == 4) Thread.sleep(600);
                    else new ProcessBuilder("/bin/sleep", "0.6").start().waitFor();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
                used[me] = bean.getCurrentThreadCpuTime();
                burnt.countDown();
                synchronized (go) {
                    while (!go[0]) try {
                        go.wait();
                    } catch (InterruptedException e) {
                        return;
                    }
                }
            });
            threads[i].start();
        }
        burnt.await();
        Thread.sleep(50);
        long all = process() - before;
        long sum = 0;
        for (int i = 0; i < n; i++) {
            seen[i] = bean.getThreadCpuTime(threads[i].getId());
            sum += seen[i];
        }
        System.err.println("process " + all / 1000000 + " ms, threads " + sum / 1000000 + " ms");
        for (int i = 0; i < n; i++)
            System.err.println("  thread " + i + ": own " + used[i] / 1000000 + " ms, from outside " + seen[i] / 1000000);
        // The process has compiler threads besides; getProcessCpuTime of JDK 8 counts in 10 ms.
        System.out.println("sum within the process " + (sum <= all + 60000000L));
        System.out.println("sum explains the threads' part " + (sum >= 650000000L));
        boolean sane = true;
        for (int i = 0; i < 4; i++) sane &= seen[i] >= used[i] && seen[i] < used[i] + 60000000L;
        System.out.println("outside view like own " + sane);
        System.out.println("sleeper used nothing " + (seen[4] < 60000000L));
        System.out.println("waiter for a child used little " + (seen[5] < 250000000L));
        synchronized (go) {
            go[0] = true;
            go.notifyAll();
        }
        for (Thread t : threads) t.join();
        System.out.println("dead " + bean.getThreadCpuTime(threads[0].getId()));
        long user = bean.getCurrentThreadUserTime(), cpu = bean.getCurrentThreadCpuTime();
        System.out.println("user within cpu " + (user <= cpu + 20000000L && user >= 0));
    }
}
