package wisp.it;

import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.FutureTask;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One comparison: a case on a JDK with certain flags, under Wisp with so many carriers, against plain. */
record Trial(Class<?> program, WispCase about, Jdk jdk, List<String> flags, String variant, int carriers) {
    private static final Pattern STATS = Pattern.compile("^wisp: tasks=(\\d+) switches=(\\d+)\\b.*$", Pattern.MULTILINE);
    /** The plain run of a case is the same for all numbers of carriers. */
    private static final Map<String, FutureTask<Child.Result>> PLAIN_RUNS = new ConcurrentHashMap<>();

    String name() {
        return program.getSimpleName() + (variant.isEmpty() ? "" : " " + variant) + " [" + carriers
                + (carriers == 1 ? " carrier, " : " carriers, ") + jdk + "]";
    }

    void run() throws Exception {
        Child plainChild = plain();
        Child.Result plain = plainResult(plainChild);
        // Under Wisp it has no choice any more: there the same exit code is a failure.
        assumeTrue(plain.exitCode() != Kit.SKIPPED || about.exitCode() == Kit.SKIPPED, () -> skipReason(plain));
        verdict(plainChild, plain, plain, "on plain threads, so the case itself is wrong");
        Child wispChild = underWisp();
        Child.Result wisp = wispChild.run();
        verdict(wispChild, wisp, plain, "under Wisp");
        if (!Settings.WITHOUT_WISP) {
            requireWispWasActive(wispChild, wisp);
        }
    }

    private Child.Result plainResult(Child child) throws Exception {
        FutureTask<Child.Result> mine = new FutureTask<>(child::run);
        FutureTask<Child.Result> first = PLAIN_RUNS.putIfAbsent(child.commandLine(), mine);
        if (first == null) {
            mine.run();
            first = mine;
        }
        return first.get();
    }

    static String skipReason(Child.Result plain) {
        return plain.err().lines().filter(line -> line.startsWith("SKIPPED: ")).findFirst()
                .map(line -> line.substring(9)).orElse("it ended with exit code " + plain.exitCode());
    }

    private void verdict(Child child, Child.Result result, Child.Result plain, String where) {
        if (result.hangReport() != null) {
            fail(message("did not end within " + about.timeoutSeconds() + " s " + where
                    + "; its stacks are in " + result.hangReport(), child, result));
        }
        if (result.exitCode() != about.exitCode()) {
            fail(message("exit code " + result.exitCode() + ", expected " + about.exitCode() + ", " + where, child, result));
        }
        String difference = Comparison.difference(Comparison.normalised(plain.out(), about.keep()),
                Comparison.normalised(result.out(), about.keep()));
        if (difference.isEmpty() && about.stderr()) {
            difference = Comparison.difference(Comparison.normalised(plain.err(), ""),
                    Comparison.normalised(result.err(), ""));
        }
        if (!difference.isEmpty()) {
            fail(message("other output " + where + " (- plain, + Wisp):\n" + difference, child, result));
        }
    }

    private void requireWispWasActive(Child child, Child.Result result) {
        if (!result.err().contains(about.wispStderr())) {
            fail(message("standard error lacks \"" + about.wispStderr() + "\"", child, result));
        }
        if (about.stats()) {
            Matcher stats = STATS.matcher(result.err());
            if (!stats.find()) {
                fail(message("no 'wisp: tasks=…' line: it did not run under Wisp", child, result));
            } else if (Long.parseLong(stats.group(1)) == 0 || Long.parseLong(stats.group(2)) == 0) {
                fail(message("nothing ran as a task: " + stats.group(), child, result));
            }
        }
    }

    private String message(String what, Child child, Child.Result result) {
        return name() + ": " + what + "\nto repeat: " + child.commandLine()
                + "\nstdout (end): " + end(result.out()) + "\nstderr (end): " + end(result.err());
    }

    private static String end(String text) {
        String stripped = text.strip();
        return stripped.length() <= 1500 ? stripped : "…" + stripped.substring(stripped.length() - 1500);
    }

    private Child plain() {
        return child("plain", List.of(), Map.of());
    }

    private Child underWisp() {
        if (Settings.WITHOUT_WISP) {
            return child("as if Wisp", List.of(), Map.of());
        }
        List<String> more = new ArrayList<>(List.of("-Dcom.alibaba.wisp.carrierEngines=" + carriers, "-Dwisp.it.wisp=true"));
        more.addAll(List.of(about.wispFlags()));
        return child("wisp", more, Map.of("LD_PRELOAD", Settings.library().toString(), "WISP", "1", "WISP_STATS", "1"));
    }

    private Child child(String kind, List<String> more, Map<String, String> environment) {
        List<String> command = new ArrayList<>(List.of(jdk.java().toString(), "-Xmx512m"));
        command.addAll(flags);
        command.addAll(more);
        command.addAll(List.of("-cp", Settings.classPath(), program.getName()));
        return new Child(name() + " " + kind, command, environment, jdk.home(), about.timeoutSeconds());
    }
}
