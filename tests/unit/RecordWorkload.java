import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.channels.Selector;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * Recordings that begin and end while threads wait in every way that writes wisp.Park on the thread itself. Each of
 * those events must be of the thread that its field names, with the method that waited on top of its stack; what others
 * noted of a thread must be written by it or by the observer; and what
 * the waits do (time-outs, interrupts, bytes) must be what it always is. Prints "recorded" when each kind was seen.
 * The argument is a folder.
 */
public final class RecordWorkload {
    private static final List<String> LATER = List.of("wisp.NativePark", "wisp.Steal", "wisp.Preempt", "wisp.HandOff");
    private static final int LEAST_ROUNDS = 8, MOST_ROUNDS = 100;
    private static final AtomicReference<Throwable> WRONG = new AtomicReference<>();
    private static volatile boolean stop;
    private static volatile int interruptsSent, interruptsTaken;

    private interface Work {
        void run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        LinkedBlockingQueue<Integer> there = new LinkedBlockingQueue<>(), back = new LinkedBlockingQueue<>();
        there.add(1);
        start("ping", () -> pass(there, back));
        start("pong", () -> pass(back, there));
        Object monitor = new Object();
        start("waiting", () -> {
            synchronized (monitor) {
                monitor.wait(3);
            }
        });
        start("holding", () -> {
            synchronized (monitor) {
                Thread.sleep(2);
            }
            Thread.sleep(2);
        });
        Thread sleeping = start("sleeping", RecordWorkload::sleep);
        ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
        Socket accepted = server.accept();
        client.setSoTimeout(4);
        start("reading", () -> read(client));
        start("writing", () -> {
            Thread.sleep(6);
            accepted.getOutputStream().write(7);
        });
        Selector selector = Selector.open();
        start("selecting", () -> selector.select(5));

        for (int i = 0; i < 10; i++) {
            startVirtual(() -> waitAndEnter(monitor));
        }

        Map<String, Integer> seen = new HashMap<>();
        for (int round = 0; round < MOST_ROUNDS && WRONG.get() == null; round++) {
            record(Path.of(args[0], "round.jfr"), sleeping, seen);
            if (round >= LEAST_ROUNDS
                    && seen.keySet().containsAll(List.of("park", "wait", "sleep", "monitor", "own wisp.NativePark"))
                    && (seen.containsKey("read") || seen.containsKey("poll"))) {
                break;
            }
        }
        stop = true;
        if (WRONG.get() != null) {
            WRONG.get().printStackTrace();
            System.exit(1);
        }
        System.out.println("recorded " + seen);
        long reasons = seen.keySet().stream().filter(key -> !key.contains("wisp.")).count();
        System.exit(reasons >= 5 ? 0 : 2);
    }

    private static void record(Path file, Thread sleeping, Map<String, Integer> seen) throws Exception {
        try (Recording recording = new Recording()) {
            recording.enable("wisp.Park").withThreshold(Duration.ZERO).withStackTrace();
            for (String event : LATER) {
                recording.enable(event).withThreshold(Duration.ZERO);
            }
            recording.start();
            for (int i = 0; i < 20; i++) {
                Thread.sleep(10);
                if (interruptsSent == interruptsTaken) {
                    interruptsSent++;
                    sleeping.interrupt();
                }
            }
            recording.stop();
            recording.dump(file);
        }
        for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
            if (event.getEventType().getName().equals("wisp.Park")) {
                String reason = event.getString("reason");
                seen.merge(reason, 1, Integer::sum);
                check(event, reason);
            } else if (LATER.contains(event.getEventType().getName())) {
                checkLater(event, seen);
            } else {
                wrong("not asked for: " + event);  // a program's own recording has what it turns on, no more
            }
        }
        Files.delete(file);
    }

    private static void check(RecordedEvent event, String reason) {
        RecordedThread writer = event.getThread(), meant = event.getThread("thread");
        if (writer == null || meant == null || writer.getJavaThreadId() != meant.getJavaThreadId()) {
            wrong("another thread: " + event);
        }
        List<RecordedFrame> frames = event.getStackTrace().getFrames();
        String top = frames.get(0).getMethod().getName();
        boolean right = reason.equals("monitor") || reason.equals("read") ? !top.isEmpty()
                : reason.equals("poll") ? top.equals("poll") || top.equals("wait") : top.startsWith(reason);
        if (!right) {
            wrong("another method: " + event);
        }
    }

    /** The observer comes when the thread has not come for some tenths of a second. */
    private static void checkLater(RecordedEvent event, Map<String, Integer> seen) {
        RecordedThread writer = event.getThread(), meant = event.getThread("thread");
        boolean own = writer != null && meant != null && writer.getJavaThreadId() == meant.getJavaThreadId();
        boolean observer = writer != null && "Wisp Observer".equals(writer.getJavaName());
        if (!own && !observer) {
            wrong("neither the thread nor the observer: " + event);
        }
        seen.merge((own ? "own " : "observed ") + event.getEventType().getName(), 1, Integer::sum);
    }

    private static void pass(LinkedBlockingQueue<Integer> from, LinkedBlockingQueue<Integer> to) throws Exception {
        Integer ball = from.poll(100, TimeUnit.SECONDS);
        if (ball == null) {
            wrong("a ball was lost");
        }
        to.add(ball + 1);
    }

    /** Interrupted, it says so, and the flag is clear; else it has slept. */
    private static void sleep() {
        long begin = System.nanoTime();
        try {
            Thread.sleep(8);
            if (System.nanoTime() - begin < 8_000_000) {
                wrong("slept too short");
            }
        } catch (InterruptedException e) {
            if (Thread.currentThread().isInterrupted() || interruptsTaken == interruptsSent) {
                wrong("interrupted, but not as it should be");
            }
            interruptsTaken = interruptsSent;
        }
    }

    private static void read(Socket socket) throws IOException {
        try {
            int value = socket.getInputStream().read();
            if (value != 7) {
                wrong("read " + value);
            }
        } catch (SocketTimeoutException e) {
            // as it should be, sometimes
        }
    }

    /** From JDK 24 on a virtual thread leaves its carrier in both. */
    private static void waitAndEnter(Object contended) throws InterruptedException {
        Object own = new Object();
        synchronized (own) {
            own.wait(2);
        }
        synchronized (contended) {
            if (!Thread.holdsLock(contended)) {
                wrong("entered, but does not hold it");
            }
        }
    }

    private static void wrong(String what) {
        WRONG.compareAndSet(null, new AssertionError(what));
    }

    /** Where the JDK has them (21). */
    private static void startVirtual(Work work) throws Exception {
        try {
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, repeated(work));
        } catch (NoSuchMethodException e) {
            // an older JDK
        }
    }

    private static Runnable repeated(Work work) {
        return () -> {
            try {
                while (!stop) {
                    work.run();
                }
            } catch (Throwable e) {
                if (!stop) {
                    WRONG.compareAndSet(null, e);
                }
            }
        };
    }

    private static Thread start(String name, Work work) {
        Thread thread = new Thread(repeated(work), name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }
}
