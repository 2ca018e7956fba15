package wisp.it.cases.thread;

import static wisp.it.Kit.say;

import wisp.it.Kit;
import wisp.it.WispCase;

/** holdsLock knows the owner, recursion and waits; a wait releases every level. */
@WispCase
public final class HoldsLock {
    public static void main(String[] args) throws Exception {
        Object monitor = new Object();
        Thread waiting = Kit.start("waiting", () -> {
            synchronized (monitor) {
                synchronized (monitor) {
                    monitor.wait();
                    say("again held by the waiter: %s", Thread.holdsLock(monitor));
                }
                say("one level less: %s", Thread.holdsLock(monitor));
            }
            say("released: %s", Thread.holdsLock(monitor));
        });
        Kit.awaitState(waiting, Thread.State.WAITING);
        synchronized (monitor) {
            say("main got it while the other waits: %s", Thread.holdsLock(monitor));
            monitor.notify();
        }
        Kit.join(waiting);
        Kit.sayThrown("notify without the lock", monitor::notify);
        Kit.sayThrown("wait without the lock", monitor::wait);
    }
}
