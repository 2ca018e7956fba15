package wisp.it;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Collects what a hanging child was doing before it is killed: Java stacks, native stacks, and what the
 * kernel says of each thread. Written to target/hangs, one file for each hang.
 */
final class HangReport {
    private static final Path FOLDER = Path.of("target", "hangs");
    private static final AtomicInteger NUMBER = new AtomicInteger();

    private HangReport() {
    }

    static Path collect(Child child, Process process) throws IOException, InterruptedException {
        Files.createDirectories(FOLDER);
        String name = child.name().replaceAll("[^\\w.-]+", "_");
        Path report = FOLDER.resolve(name + "-" + NUMBER.incrementAndGet() + ".txt").toAbsolutePath();
        Files.writeString(report, child.name() + "\n" + child.commandLine() + "\n");
        String pid = Long.toString(process.pid());

        // The kernel's and gdb's view first: a Java dump needs the JVM's help and may disturb the picture.
        append(report, 20, List.of("sh", "-c", "for t in /proc/" + pid + "/task/*; do "
                + "echo \"$t $(cat $t/comm) state=$(sed 's/.*) //;s/ .*//' $t/stat) wchan=$(cat $t/wchan)"
                + " syscall=$(cat $t/syscall 2>&1)\"; done"));
        append(report, 60, List.of("gdb", "-p", pid, "-batch", "-nx", "-ex", "set pagination off",
                "-ex", "thread apply all bt 40"));
        Path jcmd = child.jdkHome().resolve("bin/jcmd");
        Path jstack = child.jdkHome().resolve("bin/jstack");
        if (Files.exists(jcmd)) {
            append(report, 20, List.of(jcmd.toString(), pid, "Thread.print", "-l"));
        } else if (Files.exists(jstack)) {
            append(report, 20, List.of(jstack.toString(), "-l", pid));
        }
        return report;
    }

    private static void append(Path report, int seconds, List<String> command) throws IOException, InterruptedException {
        Files.writeString(report, "\n== " + String.join(" ", command) + "\n", java.nio.file.StandardOpenOption.APPEND);
        try {
            Process tool = new ProcessBuilder(command).redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(report.toFile())).start();
            tool.getOutputStream().close();
            if (!tool.waitFor(seconds, TimeUnit.SECONDS)) {
                tool.destroyForcibly().waitFor();
                Files.writeString(report, "(gave nothing within " + seconds + " s)\n", java.nio.file.StandardOpenOption.APPEND);
            }
        } catch (IOException e) {
            Files.writeString(report, "(not run: " + e.getMessage() + ")\n", java.nio.file.StandardOpenOption.APPEND);
        }
    }
}
