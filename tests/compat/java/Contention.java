import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Thread contention monitoring and deadlock detection (monitors, ownable synchronizers, mixed). */
public class Contention {
    static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void until(Thread t, Thread.State s) {
        while (t.getState() != s) sleep(1);
    }

    public static void main(String[] args) throws Exception {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        bean.setThreadContentionMonitoringEnabled(true);
        Object lock = new Object();
        Thread t = new Thread(() -> {
            for (int i = 0; i < 3; i++) {
                synchronized (lock) {
                    i += 0;
                }
                sleep(5);
            }
            synchronized (lock) {
                try {
                    lock.wait();
                } catch (InterruptedException e) {
                    return;
                }
            }
            LockSupport.park();
        }, "contender");
        synchronized (lock) {
            t.start();
            until(t, Thread.State.BLOCKED);
            sleep(60);
            ThreadInfo info = bean.getThreadInfo(t.getId());
            System.out.println(info.getThreadState() + " on " + info.getLockName().startsWith("java.lang.Object")
                    + " owner " + info.getLockOwnerName());
        }
        until(t, Thread.State.WAITING);
        sleep(40);
        ThreadInfo info = bean.getThreadInfo(t.getId());
        System.out.println("blocked " + info.getBlockedCount() + " time " + (info.getBlockedTime() >= 50));
        System.out.println("waited " + info.getWaitedCount());
        synchronized (lock) {
            lock.notifyAll();
        }
        while (!Arrays.toString(t.getStackTrace()).contains("LockSupport")) sleep(1);
        until(t, Thread.State.WAITING);
        System.out.println("wait time " + (bean.getThreadInfo(t.getId()).getWaitedTime() >= 30));
        LockSupport.unpark(t);
        t.join();

        System.out.println("no deadlock " + Arrays.toString(bean.findDeadlockedThreads()));
        Object a = new Object(), b = new Object();
        ReentrantLock c = new ReentrantLock(), d = new ReentrantLock();
        Thread[] dead = new Thread[4];
        dead[0] = new Thread(() -> { synchronized (a) { sleep(80); synchronized (b) { sleep(0); } } }, "d0");
        dead[1] = new Thread(() -> { synchronized (b) { sleep(80); synchronized (a) { sleep(0); } } }, "d1");
        dead[2] = new Thread(() -> { c.lock(); sleep(80); d.lock(); }, "d2");
        dead[3] = new Thread(() -> { d.lock(); sleep(80); c.lock(); }, "d3");
        for (Thread x : dead) {
            x.setDaemon(true);
            x.start();
        }
        until(dead[0], Thread.State.BLOCKED);
        until(dead[1], Thread.State.BLOCKED);
        until(dead[2], Thread.State.WAITING);
        until(dead[3], Thread.State.WAITING);
        long[] ids = {};
        for (int i = 0; i < 500 && ids.length != 4; i++) {
            sleep(10);
            long[] found = bean.findDeadlockedThreads();
            if (found != null) ids = found;
        }
        String[] names = new String[ids.length];
        for (int i = 0; i < ids.length; i++) names[i] = bean.getThreadInfo(ids[i]).getThreadName();
        Arrays.sort(names);
        System.out.println("deadlocked " + Arrays.toString(names));
        System.out.println("by monitors " + bean.findMonitorDeadlockedThreads().length);
    }
}
