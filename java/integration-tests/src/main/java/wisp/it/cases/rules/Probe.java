package wisp.it.cases.rules;

import static wisp.it.Kit.say;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import wisp.it.Kit;

/** Tells from inside a thread whether it is a task or a kernel thread of its own, and whether that is as asked. */
final class Probe {
    private static final Path SELF = Paths.get("/proc/thread-self");

    private Probe() {
    }

    /** A kernel thread bears the thread's name; a task runs on one that does not. Not for main, which is never named. */
    static void report(String what, boolean task) throws IOException {
        Thread.yield();
        String comm = new String(Files.readAllBytes(SELF.resolve("comm")), "UTF-8").trim();
        String name = Thread.currentThread().getName();
        verdict(what, !comm.equals(name.substring(0, Math.min(15, name.length()))), task);
    }

    /** Two tasks on one carrier meet on the same kernel thread; a kernel thread of its own meets nobody. */
    static void reportMain(boolean task) throws InterruptedException, IOException {
        Set<Path> mine = new HashSet<>();
        Set<Path> others = new HashSet<>();
        Thread other = Kit.start("other", () -> collect(others));
        collect(mine);
        Kit.join(other);
        verdict("main", !Collections.disjoint(mine, others), task);
    }

    private static void collect(Set<Path> kernelThreads) throws IOException, InterruptedException {
        for (int i = 0; i < 200; i++) {
            kernelThreads.add(Files.readSymbolicLink(SELF));
            Thread.sleep(1);
        }
    }

    private static void verdict(String what, boolean isTask, boolean asked) {
        boolean expected = Kit.underWisp() && asked;
        say("%s: %s", what, isTask == expected ? "as asked" : "wrong: " + (isTask ? "a task" : "a kernel thread"));
    }

    static Thread named(String name, boolean task) {
        return Kit.thread(name, () -> report(name, task));
    }
}
