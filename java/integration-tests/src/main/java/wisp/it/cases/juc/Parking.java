package wisp.it.cases.juc;

import static wisp.it.Kit.say;

import java.util.concurrent.locks.LockSupport;
import wisp.it.Kit;
import wisp.it.WispCase;

/** LockSupport: one permit, timed forms, blocker, interrupt. */
@WispCase(smoke = true, variants = {WispCase.INTERPRETER, WispCase.C1})
public final class Parking {
    private static volatile boolean open;
    private static volatile int turn;

    public static void main(String[] args) throws Exception {
        LockSupport.unpark(Thread.currentThread());
        LockSupport.unpark(Thread.currentThread());
        LockSupport.park();
        say("a permit given before is used");
        long start = System.nanoTime();
        while (Kit.millisSince(start) < 20) {
            LockSupport.parkNanos(20_000_000); // may return early, must return
        }
        LockSupport.parkUntil(System.currentTimeMillis() + 20);
        LockSupport.parkNanos(0);
        LockSupport.parkNanos(-5);
        LockSupport.parkUntil(1);
        say("timed parks return");

        Object blocker = new Object();
        Thread parked = Kit.start("parked", () -> {
            while (!open) {
                LockSupport.park(blocker);
            }
        });
        Kit.await("blocker", () -> LockSupport.getBlocker(parked) == blocker);
        Kit.awaitState(parked, Thread.State.WAITING);
        LockSupport.unpark(parked);
        open = true;
        LockSupport.unpark(parked);
        Kit.join(parked);
        say("blocker afterwards %s", LockSupport.getBlocker(parked));

        Thread.currentThread().interrupt();
        LockSupport.park();
        say("park returns at once when interrupted, flag %s", Thread.interrupted());

        Thread[] players = new Thread[3];
        for (int i = 0; i < players.length; i++) {
            int me = i;
            players[i] = Kit.thread("player" + i, () -> {
                for (int mine = me; mine < 9_000; mine += players.length) {
                    while (turn != mine) {
                        LockSupport.park();
                    }
                    turn = mine + 1;
                    LockSupport.unpark(players[(me + 1) % players.length]);
                }
            });
        }
        for (Thread player : players) {
            player.start();
        }
        Kit.join(players);
        say("turns %d", turn);
        LockSupport.unpark(null);
        LockSupport.unpark(players[0]);
    }
}
