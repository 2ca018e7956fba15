package wisp.it.cases.juc;

import static wisp.it.Kit.say;

import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Conditions: signal, signalAll, each form of a timed await, interrupt. */
@WispCase(smoke = true)
public final class Conditions {
    private static int stage;

    public static void main(String[] args) throws Exception {
        ReentrantLock lock = new ReentrantLock();
        Condition changed = lock.newCondition();
        int players = 5;
        AtomicInteger numbers = new AtomicInteger();
        Kit.together(players, "player", () -> {
            int me = numbers.getAndIncrement();
            for (int i = 0; i < 500; i++) {
                lock.lock();
                try {
                    while (stage % players != me) {
                        changed.await();
                    }
                    stage++;
                    changed.signalAll();
                } finally {
                    lock.unlock();
                }
            }
        });
        say("stage %d", stage);

        lock.lock();
        try {
            say("await 20 ms: %s", changed.await(20, TimeUnit.MILLISECONDS));
            say("awaitNanos: %s", changed.awaitNanos(5_000_000) <= 0);
            say("awaitUntil: %s", changed.awaitUntil(new Date(System.currentTimeMillis() + 20)));
        } finally {
            lock.unlock();
        }
        Thread waiting = Kit.start("waiting", () -> {
            lock.lock();
            try {
                Kit.sayThrown("await", changed::await);
                say("held %s", lock.isHeldByCurrentThread());
            } finally {
                lock.unlock();
            }
        });
        Kit.awaitState(waiting, Thread.State.WAITING);
        waiting.interrupt();
        Kit.join(waiting);
        Thread patient = Kit.start("patient", () -> {
            lock.lock();
            try {
                changed.awaitUninterruptibly();
                say("signalled, flag %s", Thread.interrupted());
            } finally {
                lock.unlock();
            }
        });
        Kit.awaitState(patient, Thread.State.WAITING);
        patient.interrupt();
        Thread.sleep(20);
        lock.lock();
        changed.signal();
        lock.unlock();
        Kit.join(patient);
        Kit.sayThrown("signal without the lock", changed::signal);
    }
}
