package wisp.it.cases.net;

import java.io.Closeable;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.Channel;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.WritableByteChannel;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import wisp.it.Kit;

/** Connected pairs on loopback and streams of known bytes. */
final class Net {
    static final InetSocketAddress ANY = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    private Net() {
    }

    static final class Pair implements Closeable {
        final Socket client;
        final Socket server;

        Pair() throws IOException {
            try (ServerSocket listener = listen()) {
                client = new Socket(listener.getInetAddress(), listener.getLocalPort());
                server = listener.accept();
            }
            client.setTcpNoDelay(true);
            server.setTcpNoDelay(true);
        }

        @Override
        public void close() throws IOException {
            client.close();
            server.close();
        }
    }

    static final class ChannelPair implements Closeable {
        final SocketChannel client;
        final SocketChannel server;

        ChannelPair() throws IOException {
            try (ServerSocketChannel listener = ServerSocketChannel.open().bind(ANY)) {
                client = SocketChannel.open(listener.getLocalAddress());
                server = listener.accept();
            }
        }

        @Override
        public void close() throws IOException {
            client.close();
            server.close();
        }
    }

    /**
     * A listener that nobody connects to any more: its queue is full, and Linux drops what comes, so that a connect
     * waits.
     */
    static final class FullListener implements Closeable {
        private static final int MORE_THAN_FIT = 6;

        final InetSocketAddress address;
        private final ServerSocketChannel listener = ServerSocketChannel.open().bind(ANY, 1);
        private final SocketChannel[] fill = new SocketChannel[MORE_THAN_FIT];
        private final CountDownLatch closed = new CountDownLatch(1);

        FullListener() throws IOException {
            address = (InetSocketAddress) listener.getLocalAddress();
            for (int i = 0; i < fill.length; i++) {
                fill[i] = SocketChannel.open();
                fill[i].configureBlocking(false);
                fill[i].connect(address);
            }
            // Linux queues one more than it was told.
            while (!fill[0].finishConnect() || !fill[1].finishConnect()) {
                Thread.yield();
            }
            Kit.check("the others are not", !fill[fill.length - 1].finishConnect());
        }

        /**
         * From now on it takes what comes; the kernel asks again for what waits once in a second or so. Not all that
         * have connected come here: with syn-cookies the kernel may have forgotten one that found no room.
         */
        void acceptAll() throws IOException {
            for (SocketChannel channel : fill) {
                channel.close();
            }
            Kit.daemon("acceptor", () -> {
                try {
                    while (true) {
                        listener.accept().close();
                    }
                } catch (ClosedChannelException end) {
                    // JDK 8's close ends the wait and then sends a signal to this thread; it throws if there is none.
                    closed.await();
                }
            });
        }

        @Override
        public void close() throws IOException {
            listener.close();
            closed.countDown();
            for (SocketChannel channel : fill) {
                channel.close();
            }
        }
    }

    static ServerSocket listen() throws IOException {
        return new ServerSocket(0, 1000, InetAddress.getLoopbackAddress());
    }

    static byte[] bytes(long seed, int size) {
        byte[] bytes = new byte[size];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    /** Writes `total` bytes of a seed's stream in pieces of changing size. */
    static void send(OutputStream out, long seed, int total) throws IOException {
        byte[] all = bytes(seed, total);
        Random sizes = new Random(~seed);
        for (int at = 0; at < total; ) {
            int n = Math.min(total - at, 1 + sizes.nextInt(sizes.nextInt(8) == 0 ? 200_000 : 3000));
            out.write(all, at, n);
            at += n;
        }
    }

    /** Reads and compares what {@link #send} wrote. */
    static void receive(InputStream in, long seed, int total) throws IOException {
        byte[] all = bytes(seed, total);
        byte[] got = new byte[total];
        new DataInputStream(in).readFully(got);
        for (int i = 0; i < total; i++) {
            if (all[i] != got[i]) {
                throw new IOException("byte " + i + " of " + total + " differs");
            }
        }
    }

    /** Runs body in a thread, waits until it surely blocks, does `then`, says what the body threw. */
    static void sayBroken(String what, Kit.Body body, Kit.Body then) throws Exception {
        AtomicBoolean begins = new AtomicBoolean();
        Thread blocked = Kit.start("blocked", () -> {
            begins.set(true);
            Kit.sayThrown(what, body);
        });
        Kit.await("it begins", begins::get);
        Kit.awaitNative(blocked);
        long start = System.nanoTime();
        then.run();
        Kit.join(blocked);
        // A machine busy with other things may take seconds; time-outs that would end it as well are minutes.
        Kit.check(what + " ends at once", Kit.millisSince(start) < 30_000);
    }

    /** The same of a call on a channel that the other thread closes, or whose thread it interrupts. */
    static void sayBroken(String what, Kit.Body body, Channel channel, boolean interrupt) throws Exception {
        Thread[] blocked = new Thread[1];
        sayBroken(what + (interrupt ? ", interrupt" : ", close"), () -> {
            blocked[0] = Thread.currentThread();
            body.run();
        }, () -> {
            if (interrupt) {
                blocked[0].interrupt();
            } else {
                channel.close();
            }
        });
        Kit.check(what + " closed the channel", !channel.isOpen());
    }

    /** Writes until it is broken. */
    static void fill(OutputStream out) throws IOException {
        byte[] block = new byte[100_000];
        while (true) {
            out.write(block);
        }
    }

    static void fill(WritableByteChannel channel, int blockSize) throws IOException {
        ByteBuffer block = ByteBuffer.allocateDirect(blockSize);
        while (true) {
            block.clear();
            channel.write(block);
        }
    }

    /** Never less than this, and once in five goes little more: a machine busy with other things may add seconds. */
    static void timed(String what, int least, Kit.Body body) {
        for (int go = 1; ; go++) {
            long start = System.nanoTime();
            String thrown = Kit.thrown(body);
            long took = Kit.millisSince(start);
            Kit.check(what + " after " + took + " ms", took >= least - 1 && (took < least + 2000 || go < 5));
            if (took < least + 2000) {
                Kit.say("%s throws %s", what, thrown);
                return;
            }
        }
    }
}
