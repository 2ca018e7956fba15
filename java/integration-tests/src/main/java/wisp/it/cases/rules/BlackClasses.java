package wisp.it.cases.rules;

import wisp.it.Kit;
import wisp.it.WispCase;

/** Rules by class hold for Thread subclasses and for Runnables; rules by package for both and for lambdas. */
@WispCase(wispFlags = "-Dcom.alibaba.wisp.threadAsWisp.black=class:wisp.it.cases.rules.BlackClasses$Marked;class=wisp.it.cases.rules.BlackClasses$Job;package:wisp.it.cases.rules.dark")
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

    private static final class Job implements Runnable {
        @Override
        public void run() {
            Kit.failing(() -> Probe.report("job", false)).run();
        }
    }

    public static void main(String[] args) throws Exception {
        run(new Marked("marked"));
        run(new Unmarked());
        run(new Thread(new Job(), "a job"));
        run(new Thread(Kit.failing(() -> Probe.report("lambda", true)), "a lambda"));
        run(new Thread(wisp.it.cases.rules.dark.DarkJobs.lambda(Kit.failing(() -> Probe.report("dark lambda", false))), "dark-lambda"));
        run(new Thread(wisp.it.cases.rules.dark.DarkJobs.object(Kit.failing(() -> Probe.report("dark object", false))), "dark-object"));
    }

    private static void run(Thread thread) throws InterruptedException {
        thread.start();
        Kit.join(thread);
    }
}
