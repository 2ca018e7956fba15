package wisp.it;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * One child process: its command, environment and time limit. Running it always ends: what is over time
 * has its stacks collected and is killed.
 */
record Child(String name, List<String> command, Map<String, String> environment, Path jdkHome, int timeoutSeconds) {
    /** hangReport is null unless the child ran into its limit. */
    record Result(int exitCode, String out, String err, Path hangReport) {
    }

    /** With two, the processors of a small machine idle for a quarter of the time: many a case waits. */
    private static final Semaphore SLOTS = new Semaphore(3);
    private static final Executor READERS = Executors.newCachedThreadPool(body -> {
        Thread thread = new Thread(body, "child output");
        thread.setDaemon(true);
        return thread;
    });

    Result run() throws IOException, InterruptedException {
        SLOTS.acquire();
        try {
            ProcessBuilder builder = new ProcessBuilder(command);
            // What this JVM was started with must not leak into the plain run.
            builder.environment().keySet().removeIf(Child::changesJvms);
            builder.environment().putAll(environment);
            Process process = builder.start();
            process.getOutputStream().close();
            CompletableFuture<String> out = read(process.getInputStream());
            CompletableFuture<String> err = read(process.getErrorStream());
            Path hangReport = null;
            if (!Patience.waitFor(process, timeoutSeconds)) {
                hangReport = HangReport.collect(this, process);
                process.destroyForcibly().waitFor();
            }
            return new Result(process.waitFor(), text(out), text(err), hangReport);
        } finally {
            SLOTS.release();
        }
    }

    /** As one would type it in a shell. */
    String commandLine() {
        String variables = new TreeMap<>(environment).entrySet().stream()
                .map(e -> e.getKey() + "=" + quoted(e.getValue()) + " ").collect(Collectors.joining());
        return variables + command.stream().map(Child::quoted).collect(Collectors.joining(" "));
    }

    private static boolean changesJvms(String variable) {
        return variable.startsWith("WISP") || variable.equals("LD_PRELOAD") || variable.equals("JAVA_TOOL_OPTIONS")
                || variable.equals("JDK_JAVA_OPTIONS") || variable.equals("_JAVA_OPTIONS");
    }

    private static CompletableFuture<String> read(InputStream stream) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }, READERS);
    }

    /** A grandchild may keep the pipe open after the child's end: do not wait for it for ever. */
    private static String text(CompletableFuture<String> output) throws InterruptedException {
        try {
            return output.get(10, TimeUnit.SECONDS);
        } catch (java.util.concurrent.TimeoutException e) {
            return "(output still open 10 s after the process ended)";
        } catch (java.util.concurrent.ExecutionException e) {
            return "(output could not be read: " + e.getCause() + ")";
        }
    }

    private static String quoted(String word) {
        return word.matches("[\\w@%+=:,./-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
    }

    static List<String> join(List<String> first, List<String> second) {
        List<String> all = new ArrayList<>(first);
        all.addAll(second);
        return all;
    }
}
