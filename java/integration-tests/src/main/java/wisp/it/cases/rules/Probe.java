package wisp.it.cases.rules;

import static wisp.it.Kit.say;

import java.io.IOException;
import wisp.it.Kit;

/** Tells from inside a thread whether it is a kernel thread of its own, which then bears the thread's name. */
final class Probe {
    private Probe() {
    }

    /** Prints "as asked" when the calling thread is a task under Wisp exactly if the rules say so. */
    static void report(String what, boolean task) throws IOException {
        Thread.yield();
        byte[] comm = java.nio.file.Files.readAllBytes(java.nio.file.Paths.get("/proc/thread-self/comm"));
        String name = Thread.currentThread().getName();
        String kernelName = name.substring(0, Math.min(15, name.length()));
        boolean ownKernelThread = new String(comm, "UTF-8").trim().equals(kernelName);
        boolean expected = !(Kit.underWisp() && task);
        say("%s: %s", what, ownKernelThread == expected ? "as asked" : "wrong: " + (expected ? "a task" : "a kernel thread"));
    }

    static void inThread(String what, boolean task, Thread thread) throws InterruptedException {
        thread.start();
        Kit.join(thread);
    }

    static Thread named(String name, boolean task) {
        return Kit.thread(name, () -> report(name, task));
    }
}
