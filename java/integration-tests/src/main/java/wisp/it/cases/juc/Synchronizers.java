package wisp.it.cases.juc;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Exchanger;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Semaphore, CountDownLatch, CyclicBarrier, Exchanger. */
@WispCase(smoke = true)
public final class Synchronizers {
    public static void main(String[] args) throws Exception {
        semaphores();
        latches();
        barriers();
        exchangers();
    }

    private static void semaphores() throws InterruptedException {
        for (boolean fair : new boolean[] {false, true}) {
            Semaphore semaphore = new Semaphore(3, fair);
            AtomicInteger inside = new AtomicInteger();
            AtomicInteger passed = new AtomicInteger();
            Kit.together(12, "permit", () -> {
                for (int i = 0; i < 300; i++) {
                    semaphore.acquire();
                    check("at most three", inside.incrementAndGet() <= 3);
                    if (i % 50 == 0) {
                        Thread.sleep(1);
                    }
                    inside.decrementAndGet();
                    semaphore.release();
                    passed.incrementAndGet();
                }
            });
            say("passed %d, permits %d", passed.get(), semaphore.availablePermits());
            say("drained %d, timed %s", semaphore.drainPermits(), semaphore.tryAcquire(10, TimeUnit.MILLISECONDS));
        }
    }

    private static void latches() throws InterruptedException {
        CountDownLatch latch = new CountDownLatch(20);
        say("timed await %s", latch.await(10, TimeUnit.MILLISECONDS));
        Kit.together(20, "counter", () -> {
            latch.countDown();
            latch.await();
        });
        say("latch %d", latch.getCount());
    }

    private static void barriers() throws InterruptedException {
        AtomicInteger trips = new AtomicInteger();
        CyclicBarrier barrier = new CyclicBarrier(6, trips::incrementAndGet);
        AtomicInteger sum = new AtomicInteger();
        Kit.together(6, "party", () -> {
            for (int i = 0; i < 200; i++) {
                sum.addAndGet(barrier.await());
                check("in step", trips.get() >= i + 1 && trips.get() <= i + 2);
            }
        });
        say("trips %d, sum of arrival numbers %d", trips.get(), sum.get());

        CyclicBarrier broken = new CyclicBarrier(3);
        // Both end at once, so what they end by is said when both are over.
        AtomicReference<Object> patient = new AtomicReference<>();
        AtomicReference<Object> timed = new AtomicReference<>();
        Thread first = Kit.start("first", () -> patient.set(Kit.thrown(broken::await)));
        Kit.await("the patient party waits", () -> broken.getNumberWaiting() == 1);
        Thread second = Kit.start("second", () -> timed.set(Kit.thrown(() -> broken.await(20, TimeUnit.MILLISECONDS))));
        Kit.join(first, second);
        say("the patient party %s, the timed one %s", patient, timed);
        say("broken %s", broken.isBroken());
    }

    private static void exchangers() throws InterruptedException {
        Exchanger<Integer> exchanger = new Exchanger<>();
        AtomicLong sum = new AtomicLong();
        Kit.together(2, "exchanger", () -> {
            for (int i = 0; i < 2_000; i++) {
                sum.addAndGet(exchanger.exchange(i));
            }
        });
        say("exchanged %d", sum.get());
        Kit.sayThrown("alone", () -> exchanger.exchange(1, 10, TimeUnit.MILLISECONDS));
    }
}
