package wisp.it.cases.file;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.io.File;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.FileLockInterruptionException;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Tasks that wait for another process's file lock: others go on; interrupt and close end the wait. */
@WispCase
public final class Locks {
    private static final AtomicInteger GOT = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        Path path = Data.file("lock", 100);
        if (args.length != 0) {
            hold(new File(args[0]).toPath());
            return;
        }
        Process holder = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-Xshare:auto", "-cp",
                System.getProperty("java.class.path"), Locks.class.getName(), path.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        InputStream held = holder.getInputStream();
        check("held", held.read() == 'h');

        // One region each: regions of one JVM must not overlap.
        Thread[] waiting = new Thread[6];
        for (int i = 0; i < waiting.length; i++) {
            int region = i;
            waiting[i] = Kit.start("waiting" + i, () -> {
                try (FileChannel c = FileChannel.open(path, StandardOpenOption.WRITE);
                        FileLock lock = c.lock(region, 1, false)) {
                    check("valid", lock.isValid());
                    GOT.incrementAndGet();
                }
            });
        }
        FileChannel closing = FileChannel.open(path, StandardOpenOption.WRITE);
        Thread closed = ending("closed", closing, 50, AsynchronousCloseException.class);
        Thread interrupted = ending("interrupted", FileChannel.open(path, StandardOpenOption.WRITE), 51,
                FileLockInterruptionException.class);
        for (Thread one : waiting) {
            Kit.awaitNative(one);
        }
        Kit.awaitNative(closed);
        Kit.awaitNative(interrupted);
        check("nobody has it", GOT.get() == 0);
        interrupted.interrupt();
        Kit.join(interrupted);
        say("interrupt ends the wait");
        closing.close();
        try (FileChannel c = FileChannel.open(path, StandardOpenOption.WRITE)) {
            say("tryLock: %s", c.tryLock(60, 1, false));
        }
        OutputStream release = holder.getOutputStream();
        release.write('r');
        release.close();
        Kit.join(waiting);
        Kit.join(closed);
        say("got %d, holder ended with %d", GOT.get(), holder.waitFor());
        try (FileChannel c = FileChannel.open(path, StandardOpenOption.WRITE); FileLock lock = c.lock()) {
            Kit.sayThrown("a second lock", () -> {
                try (FileChannel other = FileChannel.open(path, StandardOpenOption.WRITE)) {
                    other.lock();
                }
            });
            check("valid", lock.isValid());
        } catch (OverlappingFileLockException e) {
            check("no other lock is left", false);
        }
    }

    private static Thread ending(String name, FileChannel channel, long region, Class<?> expected) {
        return Kit.start(name, () -> {
            try {
                channel.lock(region, 1, false);
                check(name + " must not get it", false);
            } catch (java.io.IOException e) {
                check(name + ": " + e, expected.isInstance(e));
            } finally {
                channel.close();
            }
        });
    }

    private static void hold(Path path) throws Exception {
        try (FileChannel c = FileChannel.open(path, StandardOpenOption.WRITE); FileLock lock = c.lock()) {
            System.out.write('h');
            System.out.flush();
            check("released", System.in.read() == 'r' && lock.isValid());
        }
    }
}
