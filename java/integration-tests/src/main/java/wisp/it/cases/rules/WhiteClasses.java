package wisp.it.cases.rules;

import wisp.it.Kit;
import wisp.it.WispCase;
import wisp.it.cases.rules.dark.DarkJobs;

/** A white list by class and package: subclasses of Thread, Runnables and lambdas it names; nothing else. */
@WispCase(requires = "module:jdk.management", wispFlags = "-Dcom.alibaba.wisp.threadAsWisp.white=class:wisp.it.cases.rules.WhiteClasses$Marked;class:wisp.it.cases.rules.WhiteClasses$Job;"
        + "class:wisp.it.cases.rules.WhiteClasses$$Lambda;package:wisp.it.cases.rules.dark")
public final class WhiteClasses {
    private static class Marked extends Thread {
        Marked(String name) {
            super(name);
        }

        @Override
        public void run() {
            Kit.failing(() -> Probe.report(getName(), true)).run();
        }
    }

    /** A rule names one class, not those below it. */
    private static final class BelowMarked extends Thread {
        @Override
        public void run() {
            Kit.failing(() -> Probe.report("below marked", false)).run();
        }
    }

    private static final class Job implements Runnable {
        @Override
        public void run() {
            Kit.failing(() -> Probe.report("job", true)).run();
        }
    }

    public static void main(String[] args) throws Exception {
        Probe.run(new Marked("marked"));
        Probe.run(new BelowMarked());
        Probe.run(new Thread(new Job(), "a job"));
        Probe.run(new Thread(() -> Kit.failing(() -> Probe.report("own lambda", true)).run(), "own lambda"));
        Probe.run(Probe.named("lambda of Kit", false));
        Probe.run(new Thread(DarkJobs.lambda(Kit.failing(() -> Probe.report("dark lambda", true))), "dark lambda"));
        Probe.run(new Thread(DarkJobs.object(Kit.failing(() -> Probe.report("dark object", true))), "dark object"));
    }
}
