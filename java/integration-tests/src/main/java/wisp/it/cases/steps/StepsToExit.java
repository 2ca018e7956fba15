package wisp.it.cases.steps;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Processes that end, in one way or another, in the middle of random steps. */
@WispCase(timeoutSeconds = 120)
public final class StepsToExit {
    public static void main(String[] args) throws Exception {
        long seed = 1;
        for (String world : new String[] {"monitors", "queues", "sockets", "channels", "selectors", "lives"}) {
            Process process = Kit.again(RandomSteps.class, "exit", "" + seed++, world).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            try (BufferedReader reader = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
                for (String line; (line = reader.readLine()) != null;) {
                    Kit.say("%s", line);
                }
            }
            Kit.say("%s: exit code %d", world, process.waitFor());
        }
    }
}
