package wisp.it.cases.process;

import static wisp.it.Kit.say;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * A child process has the priority of its parent process, also when the thread that starts it has computed for long beside
 * many others, for which the runtime may have lowered the weight of its kernel thread.
 */
@WispCase(smoke = true)
public final class ComputingParents {
    private static final int OTHERS = 60;
    private static final int PARENTS = 2;
    private static final int CHILDREN = 3;
    private static final long COMPUTING_NANOS = 200_000_000;

    private static volatile boolean stop;
    private static volatile double sink;

    public static void main(String[] args) throws Exception {
        Thread[] others = new Thread[OTHERS];
        for (int i = 0; i < OTHERS; i++) {
            others[i] = Kit.start("other-" + i, () -> {
                while (!stop) {
                    Thread.yield();
                }
            });
        }
        Kit.together(PARENTS, "parent", () -> {
            for (int i = 0; i < CHILDREN; i++) {
                compute();
                Process nice = new ProcessBuilder("nice").start();
                try (BufferedReader reader = new BufferedReader(new InputStreamReader(nice.getInputStream()))) {
                    say("nice value of a child: %s", reader.readLine());
                }
                Kit.check("exit code", nice.waitFor() == 0);
            }
        });
        stop = true;
        for (Thread other : others) {
            Kit.join(other);
        }
    }

    private static void compute() {
        long end = System.nanoTime() + COMPUTING_NANOS;
        double x = 1;
        while (System.nanoTime() - end < 0) {
            for (int i = 0; i < 10_000; i++) {
                x += Math.sqrt(x);
            }
        }
        sink = x;
    }
}
