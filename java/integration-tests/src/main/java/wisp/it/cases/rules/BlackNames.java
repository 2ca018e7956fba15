package wisp.it.cases.rules;

import java.util.concurrent.Executors;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Names on the black list, with both wild cards and both separators, stay plain threads; others do not. */
@WispCase(smoke = true, wispFlags = "-Dcom.alibaba.wisp.threadAsWisp.black=name:black-*;name=on?;name:exact;name:pool-1-thread-*")
public final class BlackNames {
    public static void main(String[] args) throws Exception {
        run(Probe.named("black-1", false));
        run(Probe.named("black-", false));
        run(Probe.named("blacker", true));
        run(Probe.named("xblack-1", true));
        run(Probe.named("one", false));
        run(Probe.named("once", true));
        run(Probe.named("exact", false));
        run(Probe.named("exactly", true));
        Thread renamed = Probe.named("innocent", false);
        renamed.setName("black-later");
        run(renamed);
        Thread cleared = Probe.named("black-first", true);
        cleared.setName("white-later");
        run(cleared);
        Executors.newFixedThreadPool(1).submit(Kit.failing(() -> Probe.report("pool of black name", false))).get();
        Executors.newFixedThreadPool(1).submit(Kit.failing(() -> Probe.report("pool of other name", true))).get();
        System.exit(0);
    }

    private static void run(Thread thread) throws InterruptedException {
        thread.start();
        Kit.join(thread);
    }
}
