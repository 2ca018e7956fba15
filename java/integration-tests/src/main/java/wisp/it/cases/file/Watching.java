package wisp.it.cases.file;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.nio.file.ClosedWatchServiceException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.Collections;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import wisp.it.Kit;
import wisp.it.WispCase;

/** A WatchService (inotify) reports what other tasks create, and ends its waiters when it is closed. */
@WispCase
public final class Watching {
    public static void main(String[] args) throws Exception {
        Path folder = Files.createTempDirectory("watched");
        Set<String> seen = Collections.synchronizedSet(new ConcurrentSkipListSet<>());
        WatchService watch = folder.getFileSystem().newWatchService();
        folder.register(watch, StandardWatchEventKinds.ENTRY_CREATE);
        Thread watcher = Kit.start("watcher", () -> {
            try {
                for (;;) {
                    WatchKey key = watch.take();
                    for (WatchEvent<?> event : key.pollEvents()) {
                        seen.add(event.context().toString());
                    }
                    key.reset();
                }
            } catch (ClosedWatchServiceException expected) {
                say("take ends when the service is closed");
            }
        });
        Kit.together(4, "maker", () -> {
            for (int i = 0; i < 10; i++) {
                Files.createFile(folder.resolve(Thread.currentThread().getName() + "." + i));
            }
        });
        Kit.await("all seen", () -> seen.size() == 40);
        say("seen %d", seen.size());
        watch.close();
        Kit.join(watcher);
        try (java.util.stream.Stream<Path> files = Files.list(folder)) {
            for (Object file : files.toArray()) {
                Files.delete((Path) file);
            }
        }
        Files.delete(folder);
        check("gone", !Files.exists(folder));
    }
}
