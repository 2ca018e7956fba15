package wisp.it.cases.steps;

import wisp.it.WispCase;

/** Seeds of {@link RandomSteps}: connections, channels, selectors, processes and files. */
@WispCase(timeoutSeconds = 120)
public final class StepsOfChannels {
    public static void main(String[] args) throws Exception {
        RandomSteps.print(1, 2, "sockets", "datagrams", "channels", "selectors", "async", "processes", "paths");
        System.exit(0);
    }
}
