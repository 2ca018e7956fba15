package wisp.it.cases.liveness;

import static wisp.it.Kit.say;

import wisp.it.Kit;
import wisp.it.WispCase;

/** One task spins on a field, without any call, until another sets it. */
@WispCase(smoke = true, variants = {WispCase.INTERPRETER, WispCase.C1})
public final class SpinOnVolatile {
    private static volatile int stage;

    public static void main(String[] args) throws Exception {
        Thread[] spinners = new Thread[3];
        for (int i = 0; i < spinners.length; i++) {
            int mine = i;
            spinners[i] = Kit.start("spinner" + i, () -> {
                while (stage != mine) {
                    // nothing: neither a call nor a safepoint poll that would do us good
                }
                stage = mine + 1;
            });
        }
        while (stage != spinners.length) {
            // main spins as well
        }
        Kit.join(spinners);
        say("stage %d", stage);
    }
}
