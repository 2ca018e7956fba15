package wisp.it.cases.process;

import static wisp.it.Kit.say;

import wisp.it.Kit;
import wisp.it.WispCase;

/** A JVM started by a JVM is an ordinary one. */
@WispCase
public final class ChildJvm {
    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            Kit.together(3, "inner", () -> Thread.sleep(1));
            say("the inner one runs");
            System.exit(5);
        }
        Process process = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-cp",
                System.getProperty("java.class.path"), ChildJvm.class.getName(), "inner").inheritIO().start();
        say("it ended with %d", process.waitFor());
    }
}
