package wisp.it.cases.juc;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.concurrent.Phaser;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Phaser: parties come and go, phases advance in step, tiers. */
@WispCase
public final class Phasers {
    public static void main(String[] args) throws Exception {
        AtomicInteger advances = new AtomicInteger();
        Phaser phaser = new Phaser(1) {
            @Override
            protected boolean onAdvance(int phase, int parties) {
                advances.incrementAndGet();
                return phase >= 49 || parties == 0;
            }
        };
        Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) {
            phaser.register();
            threads[i] = Kit.start("party" + i, () -> {
                while (!phaser.isTerminated()) {
                    phaser.arriveAndAwaitAdvance();
                }
            });
        }
        phaser.arriveAndDeregister();
        Kit.join(threads);
        say("advances %d, terminated %s", advances.get(), phaser.isTerminated());

        Phaser root = new Phaser();
        Phaser left = new Phaser(root, 3);
        Phaser right = new Phaser(root, 3);
        AtomicInteger numbers = new AtomicInteger();
        Kit.together(6, "tier", () -> {
            Phaser mine = numbers.getAndIncrement() % 2 == 0 ? left : right;
            for (int i = 0; i < 20; i++) {
                check("in step", mine.arriveAndAwaitAdvance() == i + 1);
            }
        });
        say("phase %d", root.getPhase());
        Kit.sayThrown("timed", () -> root.awaitAdvanceInterruptibly(root.getPhase(), 10, TimeUnit.MILLISECONDS));
    }
}
