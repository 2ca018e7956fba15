package wisp.it.cases.rules;

import java.util.concurrent.Executors;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Names on the black list, with both wild cards and both separators, stay plain threads; others do not. */
@WispCase(requires = "module:jdk.management", smoke = true, wispFlags = "-Dcom.alibaba.wisp.threadAsWisp.black=name:black-*;name=on?;name:exact;name:pool-1-thread-*")
public final class BlackNames {
    public static void main(String[] args) throws Exception {
        Probe.run(Probe.named("black-1", false));
        Probe.run(Probe.named("black-", false));
        Probe.run(Probe.named("blacker", true));
        Probe.run(Probe.named("xblack-1", true));
        Probe.run(Probe.named("one", false));
        Probe.run(Probe.named("once", true));
        Probe.run(Probe.named("exact", false));
        Probe.run(Probe.named("exactly", true));
        Thread renamed = Probe.named("innocent", false);
        renamed.setName("black-later");
        Probe.run(renamed);
        Thread cleared = Probe.named("black-first", true);
        cleared.setName("white-later");
        Probe.run(cleared);
        // The name at the start decides; a new one does not move a thread that runs.
        Probe.run(Kit.thread("black-at-start", () -> {
            Thread.currentThread().setName("white-while-running");
            Probe.report("renamed while it runs", false);
        }));
        Executors.newFixedThreadPool(1).submit(Kit.failing(() -> Probe.report("pool of black name", false))).get();
        Executors.newFixedThreadPool(1).submit(Kit.failing(() -> Probe.report("pool of other name", true))).get();
        System.exit(0);
    }
}
