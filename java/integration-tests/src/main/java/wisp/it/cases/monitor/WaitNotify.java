package wisp.it.cases.monitor;

import static wisp.it.Kit.say;

import wisp.it.Kit;
import wisp.it.WispCase;

/** notify wakes one, notifyAll wakes all, nobody wakes without either; turns pass 20,000 times. */
@WispCase(smoke = true, variants = {WispCase.INTERPRETER, WispCase.C1, WispCase.NO_BIAS, WispCase.BIAS})
public final class WaitNotify {
    private static final Object MONITOR = new Object();
    private static int turn;
    private static int waiting;
    private static int released;
    private static int permits;

    public static void main(String[] args) throws Exception {
        int turns = 20_000;
        Thread even = Kit.start("even", () -> play(0, turns));
        Thread odd = Kit.start("odd", () -> play(1, turns));
        Kit.join(even, odd);
        say("turns %d", turn);

        Thread[] waiters = new Thread[20];
        for (int i = 0; i < waiters.length; i++) {
            waiters[i] = Kit.start("waiter" + i, WaitNotify::waitForPermit);
        }
        Kit.await("all wait", () -> count() == waiters.length);
        for (int i = 1; i <= 5; i++) {
            int expected = i;
            synchronized (MONITOR) {
                permits++;
                MONITOR.notify();
            }
            Kit.await("one more released", () -> {
                synchronized (MONITOR) {
                    return released == expected;
                }
            });
        }
        Thread.sleep(20);
        synchronized (MONITOR) {
            say("released by notify %d", released);
            permits += waiters.length;
            MONITOR.notifyAll();
        }
        Kit.join(waiters);
        say("released in the end %d", released);
    }

    private static void play(int me, int turns) throws InterruptedException {
        synchronized (MONITOR) {
            for (int i = 0; i < turns / 2; i++) {
                while (turn % 2 != me) {
                    MONITOR.wait();
                }
                turn++;
                MONITOR.notify();
            }
        }
    }

    private static int count() {
        synchronized (MONITOR) {
            return waiting;
        }
    }

    private static void waitForPermit() throws InterruptedException {
        synchronized (MONITOR) {
            waiting++;
            while (permits == 0) {
                MONITOR.wait();
            }
            permits--;
            released++;
        }
    }
}
