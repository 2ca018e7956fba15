package wisp.it.cases.monitor;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import wisp.it.Kit;
import wisp.it.WispCase;

/** Interrupts and notifies at once: a notify is never swallowed by a waiter that ends by an interrupt. */
@WispCase(variants = {WispCase.INTERPRETER, WispCase.C1, WispCase.NO_BIAS, WispCase.BIAS})
public final class InterruptInWait {
    public static void main(String[] args) throws Exception {
        int woken = 0;
        for (int round = 0; round < 300; round++) {
            Object monitor = new Object();
            int[] ended = new int[2]; // by notify, by interrupt
            Kit.Body wait = () -> {
                synchronized (monitor) {
                    try {
                        monitor.wait();
                        ended[0]++;
                    } catch (InterruptedException e) {
                        ended[1]++;
                    }
                }
            };
            Thread first = Kit.start("first", wait);
            Thread second = Kit.start("second", wait);
            Kit.awaitState(first, Thread.State.WAITING);
            Kit.awaitState(second, Thread.State.WAITING);
            synchronized (monitor) {
                monitor.notify();
                first.interrupt();
            }
            // Whoever got the notify, at least one wakes by it unless both wake; then none is left waiting.
            Kit.await("the interrupted one ends", () -> !first.isAlive());
            synchronized (monitor) {
                monitor.notifyAll();
            }
            Kit.join(first, second);
            check("both ended", ended[0] + ended[1] == 2 && ended[0] >= 1);
            woken += ended[0] + ended[1];
        }
        say("woken %d", woken);
    }
}
