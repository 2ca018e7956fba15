package wisp.it.cases.steps;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import wisp.it.Kit;

/**
 * Drives some workers through random steps: one of the idle workers is told an action, and only when all are idle or
 * wait, what came of it is told and the next step drawn. So a seed gives the same log on plain threads and under Wisp.
 * That all wait the kernel knows: no kernel thread of this process but the driver's is awake, time after time.
 */
final class Steps {
    interface Body {
        void run() throws Throwable;
    }

    interface Maker {
        World make(Random random) throws Exception;
    }

    /** Of waits that end in their step, in milliseconds. */
    static final int SHORT = 10;
    /** Looks in a row, a millisecond apart, that find all asleep. */
    private static final int LOOKS = Integer.getInteger("wisp.it.looks", 3);
    private static final int STEPS = Integer.getInteger("wisp.it.steps", 40);
    private static final long PATIENCE_NANOS = 20_000_000_000L;

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final StringBuilder log = new StringBuilder();
    private final World world;
    private final Worker[] workers;
    private final Random random;

    private Steps(World world, Random random) {
        this.world = world;
        this.random = random;
        workers = new Worker[3 + random.nextInt(3)];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Worker("w" + i);
        }
        world.workers = workers;
    }

    /** The log of one seed. */
    static String log(Maker maker, long seed) throws Exception {
        Random random = new Random(seed * 0x9E3779B97F4A7C15L);
        Steps steps = new Steps(maker.make(random), random);
        steps.run(STEPS);
        steps.end();
        return steps.log.toString();
    }

    /** Some steps, and then the process ends while workers wait. */
    static void exit(Maker maker, long seed) throws Exception {
        Random random = new Random(seed * 0x9E3779B97F4A7C15L);
        Steps steps = new Steps(maker.make(random), random);
        steps.run(random.nextInt(STEPS));
        System.out.print(steps.log);
        steps.log.setLength(0);
        Runtime.getRuntime().addShutdownHook(new Thread(steps::atExit));
        Worker worker = steps.idleOne();
        int how = random.nextInt(4);
        if (worker != null && how < 2) {
            worker.tell(Action.waits("exit", () -> {
                System.exit(3);
                return "";
            }));
            worker.join();
        } else if (worker != null && how == 2) {
            worker.tell(Action.waits("halt", () -> {
                Runtime.getRuntime().halt(4);
                return "";
            }));
            worker.join();
        }
        System.exit(5);
    }

    /** A hook sees who waits, and may wake them. */
    private void atExit() {
        for (Worker worker : workers) {
            Action action = worker.given();
            if (action != null && !action.name.equals("exit")) {
                line("at exit " + worker.getName() + " in " + action.name + ": " + whereabouts(worker));
                worker.interrupt();
                settle(worker, 0);
                tell(worker);
            }
        }
        System.out.print(log);
        System.out.flush();
    }

    private void run(int steps) throws Exception {
        for (int step = 0; step < steps; step++) {
            Worker worker = idleOne();
            Action action = worker == null ? null : draw(worker);
            if (action == null) {
                break;
            }
            line(step + " " + worker.getName() + " " + action.name);
            perform(worker, action);
        }
    }

    private Worker idleOne() {
        int idle = idle();
        if (idle == 0) {
            return null;
        }
        int chosen = random.nextInt(idle);
        for (Worker worker : workers) {
            if (worker.isIdle() && chosen-- == 0) {
                return worker;
            }
        }
        throw new IllegalStateException("busy by itself");
    }

    private int idle() {
        int idle = 0;
        for (Worker worker : workers) {
            idle += worker.isIdle() ? 1 : 0;
        }
        return idle;
    }

    /** The last idle one must not wait. */
    private Action draw(Worker worker) throws Exception {
        boolean mustNotWait = idle() == 1;
        for (int tries = 0; tries < 200; tries++) {
            Action action = world.draw(worker);
            if (action != null && (!mustNotWait || !action.mayWait())) {
                return action;
            }
        }
        return null;
    }

    private void perform(Worker worker, Action action) {
        if (action.name.equals("leave")) {
            worker.tellToLeave();
        } else {
            worker.tell(action);
        }
        settle(worker, action.kind.looks);
        tell(worker);
        for (Worker other : workers) {
            if (other != worker) {
                tell(other);
            }
        }
        for (String event : world.takeEvents()) {
            line("    " + event);
        }
    }

    private void tell(Worker worker) {
        String result = worker.takeResult();
        Action action = worker.given();
        if (result != null) {
            line("    " + worker.getName() + ": " + result);
        } else if (action != null && (!worker.shown || random.nextInt(8) == 0 && world.staysInPlace())) {
            worker.shown = true;
            line("    " + worker.getName() + " in " + action.name + ": " + whereabouts(worker));
        }
    }

    /** Everything the world and the workers hold is let go; who is left then stays where it is, and is told so. */
    private void end() {
        Worker cleaner = new Worker("cleaner");
        for (Action action : world.ends()) {
            if (cleaner.isIdle()) {
                line("end " + action.name);
                perform(cleaner, action);
            }
        }
        for (int round = 0; round < 4; round++) {
            for (Worker worker : workers) {
                Action release = worker.isIdle() ? world.release(worker) : null;
                if (release != null) {
                    line("end " + worker.getName() + " " + release.name);
                    perform(worker, release);
                }
            }
            for (Worker worker : workers) {
                if (!worker.isIdle() && cleaner.isIdle()) {
                    line("end interrupt " + worker.getName());
                    perform(cleaner, Action.quick("interrupt", () -> {
                        worker.interrupt();
                        return "";
                    }));
                }
            }
        }
        // All are told of before one leaves: that may let another one in.
        for (Worker worker : workers) {
            if (!worker.isIdle()) {
                line("end " + worker.getName() + " is left in " + worker.given().name);
            }
        }
        for (Worker worker : workers) {
            if (worker.isIdle()) {
                worker.tellToLeave();
            }
        }
        if (cleaner.isIdle()) {
            cleaner.tellToLeave();
        }
    }

    /** Until nothing moves. An action with a short time-out has time to come to it: so many looks, for a machine may stand still. */
    private void settle(Worker told, int looks) {
        long start = System.nanoTime();
        int look = 0;
        for (int quiet = 0; quiet < LOOKS && System.nanoTime() - start < PATIENCE_NANOS; look++) {
            LockSupport.parkNanos(1_000_000);
            boolean early = !told.isIdle() && look < looks;
            quiet = !early && othersSleep() && world.isQuiet() ? quiet + 1 : 0;
        }
        long millis = Kit.millisSince(start);
        if (!told.begun) {
            // All are asleep, and one was woken: such a wake-up is late, or lost.
            while (!told.begun && System.nanoTime() - start < PATIENCE_NANOS) {
                LockSupport.parkNanos(1_000_000);
            }
            line("    " + told.getName() + " was not awake after " + millis + " ms and " + look + " looks; begun: " + told.begun + " after "
                    + Kit.millisSince(start) + " ms");
        }
    }

    private static boolean othersSleep() {
        int awake = 0;
        byte[] stat = new byte[128];
        for (File task : Kit.kernelThreads()) {
            try (FileInputStream in = new FileInputStream(new File(task, "stat"))) {
                int state = in.read(stat);
                while (--state > 0 && stat[state] != ')') {
                    // The name before it may hold anything.
                }
                awake += stat[state + 2] == 'S' ? 0 : 1;
            } catch (IOException ended) {
                awake++;
            }
        }
        return awake <= 1;
    }

    /** State, where it stands in the JDK, and for what lock of whom it waits. */
    static String whereabouts(Thread thread) {
        StringBuilder text = new StringBuilder();
        ThreadInfo info = THREADS.getThreadInfo(new long[] {idOf(thread)}, true, false)[0];
        if (info == null) {
            return "ended";
        }
        text.append(info.getThreadState());
        for (StackTraceElement frame : info.getStackTrace()) {
            if (frame.getClassName().startsWith("wisp.")) {
                break;
            }
            String name = frame.getClassName();
            text.append(' ').append(name.substring(name.lastIndexOf('.') + 1)).append('.').append(frame.getMethodName());
        }
        if (info.getLockInfo() != null) {
            text.append(", for ").append(info.getLockInfo().getClassName());
        }
        if (info.getLockOwnerName() != null) {
            text.append(" of ").append(info.getLockOwnerName());
        }
        text.append(info.isInNative() ? ", native" : "").append(info.isSuspended() ? ", suspended" : "");
        int monitors = info.getLockedMonitors().length;
        return text + (monitors == 0 ? "" : ", " + monitors + " monitors");
    }

    @SuppressWarnings("deprecation") // threadId() is of 19
    static long idOf(Thread thread) {
        return thread.getId();
    }

    static String described(Throwable thrown) {
        Throwable cause = thrown.getCause();
        return thrown.getClass().getSimpleName() + (thrown.getMessage() == null ? "" : " " + thrown.getMessage())
                + (cause == null || cause == thrown ? "" : " by " + described(cause));
    }

    /** Ports and identities are another's each time. */
    private void line(String text) {
        log.append(text.replaceAll("\\$\\$Lambda[^@\\s\\]]*", "\\$\\$Lambda").replaceAll(":\\d{3,5}\\b", ":#").replaceAll("@[0-9a-f]{3,}", "@#")).append('\n');
    }
}
