package wisp.it.cases.rules;

import wisp.it.Kit;
import wisp.it.WispCase;

/** With a white list only what it names becomes a task. */
@WispCase(wispFlags = "-Dcom.alibaba.wisp.threadAsWisp.white=name:white-*;name:both", stats = true)
public final class WhiteNames {
    public static void main(String[] args) throws Exception {
        run(Probe.named("white-1", true));
        run(Probe.named("other", false));
        run(Probe.named("both", true));
    }

    private static void run(Thread thread) throws InterruptedException {
        thread.start();
        Kit.join(thread);
    }
}
