package wisp.it.cases.monitor;

import static wisp.it.Kit.say;

import java.util.Arrays;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Many inflated monitors at once, each with waiters, while the collector runs. */
@WispCase
public final class ManyMonitors {
    public static void main(String[] args) throws Exception {
        Object[] monitors = new Object[500];
        int[] open = new int[monitors.length];
        Arrays.setAll(monitors, i -> new Object());
        Thread[] waiters = new Thread[monitors.length];
        for (int i = 0; i < waiters.length; i++) {
            int number = i;
            waiters[i] = Kit.start("waiter" + i, () -> {
                synchronized (monitors[number]) {
                    while (open[number] == 0) {
                        monitors[number].wait();
                    }
                }
            });
        }
        for (Thread waiter : waiters) {
            Kit.awaitState(waiter, Thread.State.WAITING);
        }
        System.gc();
        for (int i = 0; i < monitors.length; i++) {
            synchronized (monitors[i]) {
                open[i] = 1;
                monitors[i].notify();
            }
        }
        Kit.join(waiters);
        say("woken %d", waiters.length);
    }
}
