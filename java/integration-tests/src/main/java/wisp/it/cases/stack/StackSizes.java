package wisp.it.cases.stack;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import wisp.it.WispCase;

/** The stack size of the constructor counts: a bigger one is deeper. */
@WispCase(smoke = true)
public final class StackSizes {
    public static void main(String[] args) throws Exception {
        int small = Depths.of(256 << 10);
        int normal = Depths.of(0);
        int big = Depths.of(16 << 20);
        say("small < normal %s, normal < big %s", small < normal, normal * 4 < big);
        check("deep enough", small > 500);
    }
}
