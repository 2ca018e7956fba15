package wisp.it.cases.tools;

import static wisp.it.Kit.say;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import wisp.it.Kit;

/** Threads that wait and one that is blocked, as a tool of the JDK that attaches to the process lists them. */
final class DumpedThreads {
    private DumpedThreads() {
    }

    /** Lets the tool look at this process twice; its arguments follow the process's number. */
    static void listedBy(String tool, String... arguments) throws Exception {
        CountDownLatch open = new CountDownLatch(1);
        Thread[] threads = new Thread[5];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Kit.start("dumped-" + i, open::await);
            Kit.awaitState(threads[i], Thread.State.WAITING);
        }
        Object monitor = new Object();
        Thread blocked;
        synchronized (monitor) {
            blocked = Kit.start("dumped-blocked", () -> {
                synchronized (monitor) {
                    say("entered");
                }
            });
            Kit.awaitState(blocked, Thread.State.BLOCKED);
            for (int i = 0; i < 2; i++) {
                dump(tool, arguments);
            }
        }
        open.countDown();
        Kit.join(threads);
        Kit.join(blocked);
        say("done");
    }

    private static void dump(String tool, String... arguments) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(System.getProperty("java.home").replaceFirst("/jre$", "") + "/bin/" + tool);
        command.add("-J-Dsun.tools.attach.attachTimeout=120000");
        command.add(new File("/proc/self").getCanonicalFile().getName());
        Collections.addAll(command, arguments);
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        List<String> lines = new ArrayList<>();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                lines.add(line);
            }
        }
        int code = process.waitFor();
        TreeSet<String> names = new TreeSet<>();
        for (int i = 0; i + 1 < lines.size(); i++) {
            if (lines.get(i).startsWith("\"dumped-") || lines.get(i).startsWith("\"main\"")) {
                names.add(lines.get(i).split("\"")[1] + lines.get(i + 1).replaceFirst("java.lang.Thread.State:", ""));
            }
        }
        say("exit code %d: %s", code, names);
        if (code != 0) {
            lines.forEach(System.err::println);
        }
    }
}
