package wisp.it.cases.tools;

import static wisp.it.Kit.say;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CountDownLatch;
import wisp.it.Kit;
import wisp.it.WispCase;

/** CPU time of a thread: what it used itself, whoever ran it. */
@WispCase
public final class ThreadCpuTime {
    private static volatile long sink;

    public static void main(String[] args) throws Exception {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        CountDownLatch open = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(1);
        Thread busy = Kit.start("busy", () -> {
            long own = bean.getCurrentThreadCpuTime();
            while (bean.getCurrentThreadCpuTime() - own < 200_000_000L) {
                for (int i = 0; i < 100_000; i++) {
                    sink += i;
                }
            }
            done.countDown();
            open.await();
        });
        Thread idle = Kit.start("idle", open::await);
        done.await();
        long busyMillis = bean.getThreadCpuTime(id(busy)) / 1_000_000;
        long idleMillis = bean.getThreadCpuTime(id(idle)) / 1_000_000;
        say("busy %s, idle %s", busyMillis >= 200 && busyMillis < 20_000, idleMillis >= 0 && idleMillis < 100);
        open.countDown();
        Kit.join(busy, idle);
        say("ended: %d", bean.getThreadCpuTime(id(busy)));
        System.err.println("busy " + busyMillis + " ms, idle " + idleMillis + " ms");
    }

    @SuppressWarnings("deprecation")
    private static long id(Thread thread) {
        return thread.getId();
    }
}
