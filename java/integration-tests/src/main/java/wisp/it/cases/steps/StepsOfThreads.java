package wisp.it.cases.steps;

import wisp.it.WispCase;

/** Seeds of {@link RandomSteps}: monitors, locks, queues and threads. */
@WispCase(timeoutSeconds = 120)
public final class StepsOfThreads {
    public static void main(String[] args) throws Exception {
        RandomSteps.print(1, 2, "monitors", "locks", "queues", "synchronizers", "lives", "pools");
        System.exit(0);
    }
}
