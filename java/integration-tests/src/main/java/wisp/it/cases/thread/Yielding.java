package wisp.it.cases.thread;

import static wisp.it.Kit.say;

import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Yield lets the others run: threads that wait for their turn by yielding all get it. */
@WispCase(smoke = true, variants = {WispCase.INTERPRETER, WispCase.C1})
public final class Yielding {
    private static final AtomicInteger TURN = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        int players = 10;
        int rounds = 500;
        AtomicInteger numbers = new AtomicInteger();
        Kit.together(players, "player", () -> {
            int me = numbers.getAndIncrement();
            for (int round = 0; round < rounds; round++) {
                while (TURN.get() % players != me) {
                    Thread.yield();
                }
                TURN.incrementAndGet();
            }
        });
        say("turns %d", TURN.get());
    }
}
