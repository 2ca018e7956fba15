package wisp.it.cases.juc;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import wisp.it.Kit;
import wisp.it.WispCase;

/** ReentrantLock, fair and not: exclusion, tryLock, interruptible lock, ownership. */
@WispCase(smoke = true)
public final class ReentrantLocks {
    private static int counter;

    public static void main(String[] args) throws Exception {
        for (boolean fair : new boolean[] {false, true}) {
            ReentrantLock lock = new ReentrantLock(fair);
            counter = 0;
            Kit.together(8, "locker", () -> {
                for (int i = 0; i < 2_000; i++) {
                    lock.lock();
                    try {
                        counter++;
                        if (i % 100 == 0) {
                            Thread.yield();
                        }
                    } finally {
                        lock.unlock();
                    }
                }
            });
            say("fair %s counter %d", lock.isFair(), counter);

            lock.lock();
            lock.lock();
            say("held %d times", lock.getHoldCount());
            Thread trying = Kit.start("trying", () -> {
                say("tryLock %s", lock.tryLock());
                long start = System.nanoTime();
                say("timed tryLock %s", lock.tryLock(30, TimeUnit.MILLISECONDS));
                check("waited", Kit.millisSince(start) >= 29);
                Kit.sayThrown("unlock by another", lock::unlock);
            });
            Kit.join(trying);
            Thread interruptible = Kit.start("interruptible", () -> Kit.sayThrown("lockInterruptibly", lock::lockInterruptibly));
            Kit.awaitState(interruptible, Thread.State.WAITING);
            interruptible.interrupt();
            Kit.join(interruptible);
            Thread patient = Kit.start("patient", () -> {
                lock.lock();
                say("got it, flag %s", Thread.interrupted());
                lock.unlock();
            });
            Kit.awaitState(patient, Thread.State.WAITING);
            patient.interrupt();
            lock.unlock();
            say("queued %s", lock.hasQueuedThreads());
            lock.unlock();
            Kit.join(patient);
        }
    }
}
