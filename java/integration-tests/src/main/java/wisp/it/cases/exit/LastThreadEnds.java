package wisp.it.cases.exit;

import static wisp.it.Kit.say;

import wisp.it.Kit;
import wisp.it.WispCase;

/** The JVM lives until the last ordinary thread ends, long after main. */
@WispCase(smoke = true)
public final class LastThreadEnds {
    public static void main(String[] args) {
        Thread main = Thread.currentThread();
        Kit.start("first", () -> {
            Kit.join(main);
            Kit.start("second", () -> {
                Thread.sleep(100);
                say("the last one ends");
            });
        });
        say("main returns");
    }
}
