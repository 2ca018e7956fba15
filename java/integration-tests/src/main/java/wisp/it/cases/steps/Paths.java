package wisp.it.cases.steps;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousFileChannel;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.Pipe;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;

/** A folder that is watched, a FIFO, a file that is sent to a pipe, locked and read asynchronously. */
final class Paths extends World {
    private static final int LONGER = 1 << 20;

    private final Path folder = Files.createTempDirectory("wisp");
    private final WatchService watch = folder.getFileSystem().newWatchService();
    private final File fifo = folder.resolve("fifo").toFile();
    private final FileChannel file;
    private final AsynchronousFileChannel async;
    private final Pipe pipe = Pipe.open();
    private final List<FileLock> locks = Collections.synchronizedList(new ArrayList<>());
    private volatile FileInputStream reader;
    private volatile FileOutputStream writer;
    private int made;

    Paths(Random random) throws Exception {
        super(random);
        if (new ProcessBuilder("mkfifo", fifo.getPath()).start().waitFor() != 0) {
            throw new IOException("no mkfifo");
        }
        Path path = Files.write(folder.resolve("file"), new byte[LONGER]);
        file = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
        async = AsynchronousFileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
        folder.register(watch, StandardWatchEventKinds.ENTRY_CREATE, StandardWatchEventKinds.ENTRY_DELETE);
    }

    @Override
    Action draw(Worker worker) {
        boolean brief = one(2);
        switch (random.nextInt(12)) {
            case 0:
                return one(2) ? Action.waits("take", () -> told(watch.take()))
                        : new Action("poll " + millis(brief), kind(brief), () -> told(watch.poll(millis(brief), unit())));
            case 1:
                int number = made++;
                return Action.ends("make " + number, of(() -> {
                    Files.createFile(folder.resolve("new" + number));
                    Thread.sleep(3 * SHORT);
                }));
            case 2: case 3: case 4:
                return fifo(brief);
            case 5:
                return interruptAny(worker);
            case 6: case 7:
                return send();
            case 8:
                return lock(brief);
            case 9:
                return Action.waits("read asynchronously", () -> async.read(ByteBuffer.allocate(10), 5).get());
            case 10:
                return one(4) ? Action.quick("close file", of(file::close)) : null;
            default:
                return one(6) ? Action.quick("close watch", of(watch::close)) : Action.quick("poll", () -> told(watch.poll()));
        }
    }

    private static Object told(WatchKey key) {
        if (key == null) {
            return "none";
        }
        TreeSet<String> all = new TreeSet<>();
        for (WatchEvent<?> event : key.pollEvents()) {
            all.add(event.kind() + " " + event.context());
        }
        return all + " " + key.reset();
    }

    private Action fifo(boolean reads) {
        FileInputStream in = reader;
        FileOutputStream out = writer;
        if (reads) {
            if (in == null) {
                return busyWith("reads") != 0 ? null : Action.waits("open to read", of(() -> {
                    reader = new FileInputStream(fifo);
                })).about("reads");
            }
            return one(5) && busyWith("reads") == 0 ? Action.quick("close reader", of(() -> {
                in.close();
                reader = null;
            })) : busyWith("reads") != 0 ? null : one(4) ? Action.quick("available", in::available)
                    : Action.waits("read", in::read).about("reads");
        }
        if (out == null) {
            return busyWith("writes") != 0 ? null : Action.waits("open to write", of(() -> {
                writer = new FileOutputStream(fifo);
            })).about("writes");
        }
        return one(5) && busyWith("writes") == 0 ? Action.quick("close writer", of(() -> {
            out.close();
            writer = null;
        })) : busyWith("writes") != 0 ? null : Action.waits("write", of(() -> out.write(made))).about("writes");
    }

    private Action send() {
        if (one(2)) {
            return busyWith("sends") != 0 ? null
                    : Action.slow("transferTo", () -> file.transferTo(0, LONGER, pipe.sink()) > 0).about("sends");
        }
        int size = any(10, LONGER / 2);
        return busyWith("receives") != 0 ? null : Action.slow("transferFrom " + size, () -> {
            long got = file.transferFrom(pipe.source(), 3, size);
            return got > 0 ? "some" : got;
        }).about("receives");
    }

    private Action lock(boolean tries) {
        return one(3) && !locks.isEmpty() ? Action.quick("unlock", of(() -> locks.remove(0).release()))
                : Action.quick(tries ? "tryLock" : "lock", () -> {
                    FileLock lock = tries ? file.tryLock() : file.lock();
                    locks.add(lock);
                    return lock.isValid();
                });
    }

    @Override
    List<Action> ends() {
        List<Action> all = new ArrayList<>();
        all.add(Action.quick("close sink", of(() -> pipe.sink().close())));
        all.add(Action.quick("close source", of(() -> pipe.source().close())));
        all.add(Action.quick("close file", of(file::close)));
        all.add(Action.quick("close async", of(async::close)));
        all.add(Action.quick("close watch", of(watch::close)));
        // Whoever waits for the other end gets one.
        all.add(Action.ends("end fifo", of(() -> {
            try (RandomAccessFile both = new RandomAccessFile(fifo, "rw")) {
                Thread.sleep(3 * SHORT);
                if (busyWith("reads") != 0) {
                    both.write(1);
                    Thread.sleep(3 * SHORT);
                }
            }
            if (reader != null) {
                reader.close();
            }
            if (writer != null) {
                writer.close();
            }
        })));
        all.add(Action.quick("remove", of(() -> {
            for (File each : folder.toFile().listFiles()) {
                each.delete();
            }
            Files.delete(folder);
        })));
        return all;
    }
}
