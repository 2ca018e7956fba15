package wisp.it.cases.tools;

import static wisp.it.Kit.say;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.TreeSet;
import java.util.concurrent.CyclicBarrier;
import wisp.it.Kit;
import wisp.it.WispCase;

/** ThreadMXBean finds a deadlock and leaves the other threads alone; contention is counted. */
@WispCase(smoke = true)
public final class DeadlockDetection {
    public static void main(String[] args) throws Exception {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        say("before: %s", bean.findDeadlockedThreads() == null);
        Object left = new Object();
        Object right = new Object();
        CyclicBarrier both = new CyclicBarrier(2);
        Kit.daemon("first", () -> lock(left, right, both));
        Kit.daemon("second", () -> lock(right, left, both));
        Kit.await("found", () -> bean.findDeadlockedThreads() != null);
        TreeSet<String> names = new TreeSet<>();
        for (ThreadInfo info : bean.getThreadInfo(bean.findDeadlockedThreads())) {
            names.add(info.getThreadName() + " " + info.getThreadState() + " for " + info.getLockOwnerName());
        }
        say("%s", names);
    }

    private static void lock(Object first, Object second, CyclicBarrier both) throws Exception {
        synchronized (first) {
            both.await();
            synchronized (second) {
                say("never");
            }
        }
    }
}
