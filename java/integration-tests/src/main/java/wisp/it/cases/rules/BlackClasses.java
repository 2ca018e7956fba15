package wisp.it.cases.rules;

import java.util.concurrent.Executors;
import wisp.it.Kit;
import wisp.it.WispCase;
import wisp.it.cases.rules.dark.DarkJobs;

/** Rules by class hold for Thread subclasses and for Runnables; rules by package for both and for lambdas. */
@WispCase(requires = "module:jdk.management", smoke = true, wispFlags = "-Dcom.alibaba.wisp.threadAsWisp.black=class:wisp.it.cases.rules.BlackClasses$Marked;"
        + "class=wisp.it.cases.rules.BlackClasses$Job;package:wisp.it.cases.rules.dark;class:java.util.concurrent.ThreadPoolExecutor$Worker;"
        + "class:java.util.concurrent.ForkJoinWorkerThread;class:wisp.it.cases.rules.BlackClasses$$Lambda")
public final class BlackClasses {
    private static class Marked extends Thread {
        Marked(String name) {
            super(name);
        }

        @Override
        public void run() {
            Kit.failing(() -> Probe.report(getName(), false)).run();
        }
    }

    private static final class Unmarked extends Thread {
        @Override
        public void run() {
            Kit.failing(() -> Probe.report("unmarked", true)).run();
        }
    }

    /** A field of the name that Thread's own has. */
    private static final class Shadowing extends Thread {
        private final Runnable target = null;

        Shadowing(Runnable run) {
            super(run, "shadowing");
        }
    }

    private static final class Job implements Runnable {
        @Override
        public void run() {
            Kit.failing(() -> Probe.report("job", false)).run();
        }
    }

    private static void referred() {
        Kit.failing(() -> Probe.report("method reference", false)).run();
    }

    public static void main(String[] args) throws Exception {
        Probe.run(new Marked("marked"));
        Probe.run(new Unmarked());
        Probe.run(new Thread(new Job(), "a job"));
        Probe.run(new Shadowing(new Job()));
        Probe.run(new Thread(Kit.failing(() -> Probe.report("lambda", true)), "a lambda of Kit"));
        Probe.run(new Thread(() -> Kit.failing(() -> Probe.report("own lambda", false)).run(), "own lambda"));
        Probe.run(new Thread(BlackClasses::referred, "a method reference"));
        Probe.run(new Thread(DarkJobs.lambda(Kit.failing(() -> Probe.report("dark lambda", false))), "dark-lambda"));
        Probe.run(new Thread(DarkJobs.object(Kit.failing(() -> Probe.report("dark object", false))), "dark-object"));
        // What is named is the pool's Runnable, not the one handed in.
        Executors.newFixedThreadPool(1).submit(new Job()).get();
        Executors.newWorkStealingPool(1).submit(Kit.failing(() -> Probe.report("fork and join", false))).get();
        System.exit(0);
    }
}
