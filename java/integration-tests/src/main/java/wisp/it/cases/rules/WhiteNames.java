package wisp.it.cases.rules;

import java.util.concurrent.Executors;
import wisp.it.Kit;
import wisp.it.WispCase;

/** With a white list only what it names becomes a task. */
@WispCase(requires = "module:jdk.management", smoke = true, wispFlags = "-Dcom.alibaba.wisp.threadAsWisp.white=name:white-*;name:both;name:pool-1-thread-?")
public final class WhiteNames {
    public static void main(String[] args) throws Exception {
        Probe.report("main, which is not named", false);
        Probe.run(Probe.named("white-1", true));
        Probe.run(Probe.named("other", false));
        Probe.run(Probe.named("both", true));
        Thread renamed = Probe.named("other", true);
        renamed.setName("white-later");
        Probe.run(renamed);
        Thread cleared = Probe.named("white-first", false);
        cleared.setName("other-later");
        Probe.run(cleared);
        Executors.newFixedThreadPool(1).submit(Kit.failing(() -> Probe.report("pool of white name", true))).get();
        Executors.newFixedThreadPool(1).submit(Kit.failing(() -> Probe.report("pool of other name", false))).get();
        System.exit(0);
    }
}
