package wisp.it.cases.net;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Selectors with 3,000 keys: what is ready is reported once, and nothing else is. */
@WispCase
public final class ManyKeys {
    private static final int SELECTORS = 4;
    private static final int ROUNDS = 6;

    public static void main(String[] args) throws Exception {
        List<Pipe> pipes = new ArrayList<>();
        int count = Math.min(3000, (descriptors() - 300) / 2);
        for (int i = 0; i < count; i++) {
            pipes.add(Pipe.open());
            pipes.get(i).source().configureBlocking(false);
        }
        if (count < 3000) {
            System.err.println("only " + count + " keys: more descriptors are not allowed here");
        }
        try (Selector selector = Selector.open()) {
            register(selector, pipes, 0, 1);
            oneByOne(selector, pipes);
            atOnce(selector, pipes);
            someWanted(selector, pipes);
            someClosed(selector, pipes);
        }
        sideBySide(pipes);
        for (Pipe pipe : pipes) {
            pipe.sink().close();
            pipe.source().close();
        }
    }

    /** What the JVM may open: it has raised its soft limit by itself. */
    private static int descriptors() throws IOException {
        for (String line : Files.readAllLines(new File("/proc/self/limits").toPath())) {
            if (line.startsWith("Max open files")) {
                String soft = line.split(" {2,}")[1];
                return soft.equals("unlimited") ? Integer.MAX_VALUE : (int) Math.min(Integer.MAX_VALUE, Long.parseLong(soft));
            }
        }
        throw new IOException("no 'Max open files' in /proc/self/limits");
    }

    private static void register(Selector selector, List<Pipe> pipes, int first, int step) throws IOException {
        for (int i = first; i < pipes.size(); i += step) {
            pipes.get(i).source().register(selector, SelectionKey.OP_READ, i);
        }
    }

    private static void write(Pipe pipe) throws IOException {
        Kit.check("written", pipe.sink().write(ByteBuffer.wrap(new byte[1])) == 1);
    }

    /** Selects until so many keys were reported; each had one byte to read, or the case fails. */
    private static void take(Selector selector, int wanted, AtomicIntegerArray seen) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(8);
        for (int got = 0; got < wanted; ) {
            Kit.check("as many as it says", selector.select() == selector.selectedKeys().size());
            for (Iterator<SelectionKey> it = selector.selectedKeys().iterator(); it.hasNext(); it.remove()) {
                SelectionKey key = it.next();
                buffer.clear();
                int n = ((Pipe.SourceChannel) key.channel()).read(buffer);
                Kit.check("key " + key.attachment() + " reported with " + n + " bytes", key.isReadable() && n == 1);
                seen.incrementAndGet((Integer) key.attachment());
                got++;
            }
        }
    }

    private static void sayOnce(String what, Selector selector, AtomicIntegerArray seen, int step) throws IOException {
        int wrong = 0;
        for (int i = 0; i < seen.length(); i++) {
            wrong += seen.get(i) == (i % step == 0 ? 1 : 0) ? 0 : 1;
        }
        Kit.say("%s: %d keys not reported as often as they were ready, then %d more", what, wrong, selector.selectNow());
    }

    private static void oneByOne(Selector selector, List<Pipe> pipes) throws Exception {
        Kit.say("none ready: %d", selector.selectNow());
        AtomicIntegerArray seen = new AtomicIntegerArray(pipes.size());
        List<Pipe> order = new ArrayList<>(pipes);
        Collections.shuffle(order, new Random(7));
        Thread writer = Kit.start("writer", () -> {
            for (int i = 0; i < order.size(); i++) {
                write(order.get(i));
                if (i % 100 == 0) {
                    Thread.sleep(1); // so that the selector sleeps in between
                }
            }
        });
        take(selector, pipes.size(), seen);
        Kit.join(writer);
        sayOnce("one by one", selector, seen, 1);
    }

    private static void atOnce(Selector selector, List<Pipe> pipes) throws Exception {
        AtomicIntegerArray seen = new AtomicIntegerArray(pipes.size());
        for (Pipe pipe : pipes) {
            write(pipe);
        }
        take(selector, pipes.size(), seen);
        sayOnce("all at once", selector, seen, 1);
    }

    /** Two thirds of the keys are ready and not wanted. */
    private static void someWanted(Selector selector, List<Pipe> pipes) throws Exception {
        AtomicIntegerArray seen = new AtomicIntegerArray(pipes.size());
        for (SelectionKey key : selector.keys()) {
            key.interestOps((Integer) key.attachment() % 3 == 0 ? SelectionKey.OP_READ : 0);
        }
        for (Pipe pipe : pipes) {
            write(pipe);
        }
        take(selector, (pipes.size() + 2) / 3, seen);
        sayOnce("a third wanted", selector, seen, 3);
        for (SelectionKey key : selector.keys()) {
            key.interestOps(SelectionKey.OP_READ);
        }
        take(selector, pipes.size() - (pipes.size() + 2) / 3, seen);
        sayOnce("the others", selector, seen, 1);
    }

    /** While select waits, every second channel is closed and so many new ones take their numbers. */
    private static void someClosed(Selector selector, List<Pipe> pipes) throws Exception {
        AtomicIntegerArray seen = new AtomicIntegerArray(pipes.size());
        Thread changer = Kit.start("changer", () -> {
            for (int i = 1; i < pipes.size(); i += 2) {
                pipes.get(i).source().close();
                pipes.get(i).sink().close();
            }
            selector.wakeup();
            for (int i = 1; i < pipes.size(); i += 2) {
                pipes.set(i, Pipe.open());
                pipes.get(i).source().configureBlocking(false);
                write(pipes.get(i)); // of no key: nobody is to hear of it
            }
            for (int i = 0; i < pipes.size(); i += 2) {
                write(pipes.get(i));
            }
        });
        take(selector, (pipes.size() + 1) / 2, seen);
        Kit.join(changer);
        sayOnce("half closed", selector, seen, 2);
        Kit.say("keys left: %b", selector.keys().size() == (pipes.size() + 1) / 2);
        for (int i = 1; i < pipes.size(); i += 2) {
            Kit.check("new one", pipes.get(i).source().read(ByteBuffer.allocate(2)) == 1);
        }
    }

    /** The keys shared out among some selectors, each served by a thread of its own. */
    private static void sideBySide(List<Pipe> pipes) throws Exception {
        AtomicInteger number = new AtomicInteger();
        AtomicIntegerArray seen = new AtomicIntegerArray(pipes.size());
        Kit.together(SELECTORS, "server", () -> {
            int mine = number.getAndIncrement();
            try (Selector selector = Selector.open()) {
                register(selector, pipes, mine, SELECTORS);
                int keys = selector.keys().size();
                for (int round = 0; round < ROUNDS; round++) {
                    Thread writer = Kit.start("writer", () -> {
                        for (int i = mine; i < pipes.size(); i += SELECTORS) {
                            write(pipes.get(i));
                        }
                    });
                    take(selector, keys, seen);
                    Kit.join(writer);
                }
            }
        });
        int wrong = 0;
        for (int i = 0; i < seen.length(); i++) {
            wrong += seen.get(i) == ROUNDS ? 0 : 1;
        }
        Kit.say("%d selectors: %d keys not reported as often as they were ready", SELECTORS, wrong);
    }
}
