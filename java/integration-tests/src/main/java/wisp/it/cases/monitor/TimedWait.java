package wisp.it.cases.monitor;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import wisp.it.Kit;
import wisp.it.WispCase;

/** A timed wait ends by its time, by a notify or by an interrupt, and owns the lock again afterwards. */
@WispCase(smoke = true, variants = {WispCase.INTERPRETER, WispCase.C1, WispCase.NO_BIAS, WispCase.BIAS})
public final class TimedWait {
    public static void main(String[] args) throws Exception {
        Object monitor = new Object();
        Kit.together(10, "timed", () -> {
            for (int i = 0; i < 5; i++) {
                long start = System.nanoTime();
                synchronized (monitor) {
                    monitor.wait(20);
                    check("held", Thread.holdsLock(monitor));
                }
                check("waited", Kit.millisSince(start) >= 19);
            }
        });
        say("timed out");

        boolean[] notified = new boolean[1];
        Thread waiter = Kit.start("notified", () -> {
            long start = System.nanoTime();
            synchronized (monitor) {
                while (!notified[0]) {
                    monitor.wait(600_000, 1);
                }
            }
            say("notified in time: %s", Kit.millisSince(start) < 300_000);
        });
        Kit.awaitState(waiter, Thread.State.TIMED_WAITING);
        synchronized (monitor) {
            notified[0] = true;
            monitor.notify();
        }
        Kit.join(waiter);

        Thread interrupted = Kit.start("interrupted", () -> {
            synchronized (monitor) {
                try {
                    monitor.wait(60_000);
                } catch (InterruptedException e) {
                    say("interrupted, holds %s, flag %s", Thread.holdsLock(monitor), Thread.interrupted());
                }
            }
        });
        Kit.awaitState(interrupted, Thread.State.TIMED_WAITING);
        synchronized (monitor) {
            interrupted.interrupt();
            Kit.awaitState(interrupted, Thread.State.BLOCKED);
            Thread.sleep(30);
            say("cannot go on without the lock: %s", interrupted.getState());
        }
        Kit.join(interrupted);
        Kit.sayThrown("wait(-1)", () -> {
            synchronized (monitor) {
                monitor.wait(-1);
            }
        });
    }
}
