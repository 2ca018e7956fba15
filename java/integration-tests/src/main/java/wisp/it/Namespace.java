package wisp.it;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.regex.Pattern;

/**
 * Runs a case's class once more, in a namespace of its own, where this may be had; else the case skips itself. The JVM
 * inside says "inside" first, so that what unshare complains of is told from what the case has to say.
 */
public final class Namespace {
    private static final String INSIDE = "inside";

    private Namespace() {
    }

    /** True in the JVM inside. */
    public static boolean isInside(String[] arguments) {
        boolean inside = arguments.length != 0 && arguments[0].equals(INSIDE);
        if (inside) {
            Kit.say(INSIDE);
        }
        return inside;
    }

    /** Unshare's options, and what a shell does before the JVM starts. Its output is this one's. */
    public static void run(Class<?> program, String what, String options, String before) throws Exception {
        ProcessBuilder builder = Kit.again(program, INSIDE).redirectErrorStream(true);
        builder.command().addAll(0, Arrays.asList("unshare", options, "sh", "-c", before + " && exec \"$@\"", "sh"));
        Process process = builder.start();
        StringBuilder output = new StringBuilder("\n");
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            for (String line; (line = reader.readLine()) != null;) {
                output.append(line).append('\n');
            }
        }
        int code = process.waitFor();
        if (code != 0 && output.indexOf("\n" + INSIDE + "\n") < 0) {
            Kit.skip("no " + what + " of our own: " + output.toString().trim());
        }
        // It is what is tested; that this JVM runs under Wisp means nothing.
        boolean tasks = Pattern.compile("^wisp: tasks=[1-9]", Pattern.MULTILINE).matcher(output).find();
        Kit.check("under Wisp as this one is: " + output, tasks == Kit.underWisp());
        Kit.say("%s", output.substring(1).trim());
        Kit.check("exit code " + code + " inside", code == 0);
    }
}
