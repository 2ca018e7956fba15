package wisp.it.cases.rules;

import static wisp.it.Kit.say;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.management.ObjectName;
import wisp.it.Kit;

/** Tells from inside a thread whether it is a task or a kernel thread of its own, and whether that is as asked. */
final class Probe {
    private static final Path SELF = Paths.get("/proc/thread-self");
    /** Hexadecimal up to JDK 18, decimal from 19 on. */
    private static final Pattern NID = Pattern.compile(" nid=(0x[0-9a-f]+|\\d+) ");

    private Probe() {
    }

    /**
     * The thread number that HotSpot got when it asked for its own, as a thread dump shows it, against the
     * kernel's: they are the same for a kernel thread, and a task has a number that the kernel does not know.
     * Names of threads say nothing: JDK 8 does not hand them on to the kernel.
     */
    static void report(String what, boolean task) throws Exception {
        Thread.yield();
        long own = ownNumber();
        Path kernelThread = Files.readSymbolicLink(SELF).getFileName();
        verdict(what, own != Long.parseLong(kernelThread.toString()), task);
    }

    private static long ownNumber() throws Exception {
        Object[] noArguments = {null};
        String dump = (String) ManagementFactory.getPlatformMBeanServer().invoke(
                new ObjectName("com.sun.management:type=DiagnosticCommand"), "threadPrint", noArguments,
                new String[] {String[].class.getName()});
        String start = '"' + Thread.currentThread().getName() + "\" ";
        for (String line : dump.split("\n")) {
            Matcher nid = NID.matcher(line);
            if (line.startsWith(start) && nid.find()) {
                return Long.decode(nid.group(1));
            }
        }
        throw new AssertionError("no " + start + " in " + dump);
    }

    /** Two tasks on one carrier meet on the same kernel thread; a kernel thread of its own meets nobody. */
    static void reportMain(boolean task) throws Exception {
        report("main's number", task);
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

    static void run(Thread thread) throws InterruptedException {
        thread.start();
        Kit.join(thread);
    }
}
