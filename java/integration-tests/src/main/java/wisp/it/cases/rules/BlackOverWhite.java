package wisp.it.cases.rules;

import java.util.concurrent.Executors;
import wisp.it.Kit;
import wisp.it.WispCase;

/** With both lists the black one wins; main is named by its name, its class or its package. */
@WispCase(requires = "module:jdk.management", wispFlags = {"-Dcom.alibaba.wisp.threadAsWisp.white=name:w*;package:java.util.concurrent;package:java.lang",
        "-Dcom.alibaba.wisp.threadAsWisp.black=name:wb*;class:java.util.concurrent.ForkJoinWorkerThread;name:pool-2-*"})
public final class BlackOverWhite {
    private static final class Own extends Thread {
        Own(String name) {
            super(name);
        }

        @Override
        public void run() {
            Kit.failing(() -> Probe.report(getName(), getName().startsWith("w"))).run();
        }
    }

    public static void main(String[] args) throws Exception {
        Probe.report("main", true); // a java.lang.Thread
        Probe.run(new Own("white"));
        Probe.run(new Own("other"));
        Probe.run(Probe.named("of java.lang", true));
        Probe.run(Probe.named("wb", false));
        // A pool's threads are of java.lang, their Runnable is ThreadPoolExecutor$Worker.
        Executors.newFixedThreadPool(1).submit(Kit.failing(() -> Probe.report("first pool", true))).get();
        Executors.newFixedThreadPool(1).submit(Kit.failing(() -> Probe.report("second pool", false))).get();
        Executors.newWorkStealingPool(1).submit(Kit.failing(() -> Probe.report("fork and join", false))).get();
        System.exit(0);
    }
}
