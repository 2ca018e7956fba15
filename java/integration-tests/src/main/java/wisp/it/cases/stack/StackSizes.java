package wisp.it.cases.stack;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import wisp.it.WispCase;

/** The stack size of the constructor counts: a bigger one is deeper. */
@WispCase(smoke = true)
public final class StackSizes {
    public static void main(String[] args) throws Exception {
        int small = depth(256 << 10);
        int normal = depth(0);
        int big = depth(16 << 20);
        say("small < normal %s, normal < big %s", small < normal, normal * 4 < big);
        check("deep enough", small > 500);
    }

    private static int depth(long stackSize) throws InterruptedException {
        int[] reached = new int[1];
        Thread thread = new Thread(null, () -> {
            for (int i = 0; i < 3; i++) {
                reached[0] = 0;
                try {
                    descend(reached);
                } catch (StackOverflowError e) {
                    Thread.yield();
                }
            }
        }, "size" + stackSize, stackSize);
        thread.start();
        thread.join();
        return reached[0];
    }

    private static void descend(int[] reached) {
        reached[0]++;
        descend(reached);
    }
}
