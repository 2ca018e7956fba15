package wisp.it.cases.thread;

import static wisp.it.Kit.say;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;
import wisp.it.Kit;
import wisp.it.WispCase;

/** An interrupt ends every interruptible wait, and only those; the flag is as the specification says. */
@WispCase(smoke = true)
public final class Interrupts {
    public static void main(String[] args) throws Exception {
        Object monitor = new Object();
        Thread endless = Kit.daemon("endless", () -> new CountDownLatch(1).await());
        interrupted("sleep", Thread.State.TIMED_WAITING, () -> Thread.sleep(60_000));
        interrupted("join", Thread.State.WAITING, endless::join);
        interrupted("latch", Thread.State.WAITING, () -> new CountDownLatch(1).await());
        interrupted("queue", Thread.State.WAITING, () -> new LinkedBlockingQueue<>().take());
        interrupted("park", Thread.State.WAITING, () -> {
            // It may return early: up to JDK 11 a new thread can inherit the permit of a dead one.
            while (!Thread.currentThread().isInterrupted()) {
                LockSupport.park();
            }
        });
        interrupted("wait", Thread.State.WAITING, () -> {
            synchronized (monitor) {
                monitor.wait();
            }
        });
        interrupted("timed wait", Thread.State.TIMED_WAITING, () -> {
            synchronized (monitor) {
                monitor.wait(60_000);
            }
        });
        Thread blocked;
        synchronized (monitor) {
            blocked = start("blocked", Thread.State.BLOCKED, () -> {
                synchronized (monitor) {
                    say("entered, flag %s", Thread.currentThread().isInterrupted());
                }
            });
            blocked.interrupt();
            Thread.sleep(30);
            say("a blocked enter does not end: %s", blocked.getState());
        }
        Kit.join(blocked);
        Thread unstarted = new Thread(() -> { });
        unstarted.interrupt();
        say("unstarted %s", unstarted.isAlive());
        Thread.currentThread().interrupt();
        say("%s %s %s", Thread.currentThread().isInterrupted(), Thread.interrupted(), Thread.interrupted());
    }

    private static Thread start(String name, Thread.State state, Kit.Body body) throws InterruptedException {
        Thread thread = Kit.start(name, body);
        Kit.awaitState(thread, state);
        return thread;
    }

    private static void interrupted(String what, Thread.State state, Kit.Body wait) throws InterruptedException {
        Thread thread = start(what, state, () -> {
            Kit.sayThrown(what, wait);
            say("%s: flag %s", what, Thread.interrupted());
        });
        thread.interrupt();
        Kit.join(thread);
    }
}
