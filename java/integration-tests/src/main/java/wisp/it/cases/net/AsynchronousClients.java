package wisp.it.cases.net;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousChannelGroup;
import java.nio.channels.AsynchronousServerSocketChannel;
import java.nio.channels.AsynchronousSocketChannel;
import java.nio.channels.CompletionHandler;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Asynchronous channels in groups of their own: many clients by completion handlers alone, handlers that block. */
@WispCase
public final class AsynchronousClients {
    private static final int CLIENTS = 100, TURNS = 15;

    public static void main(String[] args) throws Exception {
        echo("fixed pool of one", AsynchronousChannelGroup.withFixedThreadPool(1, Thread::new));
        echo("fixed pool of four", AsynchronousChannelGroup.withFixedThreadPool(4, Thread::new));
        echo("cached pool", AsynchronousChannelGroup.withCachedThreadPool(Executors.newCachedThreadPool(), 2));
        echo("any pool", AsynchronousChannelGroup.withThreadPool(Executors.newFixedThreadPool(6)));
        blockingHandlers();
    }

    private static void echo(String what, AsynchronousChannelGroup group) throws Exception {
        AsynchronousServerSocketChannel listener = AsynchronousServerSocketChannel.open(group).bind(Net.ANY, 1000);
        listener.accept(null, new CompletionHandler<AsynchronousSocketChannel, Object>() {
            @Override
            public void completed(AsynchronousSocketChannel channel, Object attachment) {
                listener.accept(null, this);
                new Echo(channel).read();
            }

            @Override
            public void failed(Throwable closed, Object attachment) {
                // It is closed when all have been served.
            }
        });
        CountDownLatch done = new CountDownLatch(CLIENTS);
        AtomicInteger right = new AtomicInteger();
        for (int i = 0; i < CLIENTS; i++) {
            AsynchronousSocketChannel channel = AsynchronousSocketChannel.open(group);
            Client client = new Client(channel, i, right, done);
            channel.connect(listener.getLocalAddress(), null, client.connected);
        }
        done.await();
        listener.close();
        Kit.say("%s: %d of %d echoes of %d clients", what, right.get(), CLIENTS * TURNS, CLIENTS);
        end(group);
    }

    /** Failures of a server's or client's operations fail the case. */
    private abstract static class Step<T> implements CompletionHandler<T, Object> {
        abstract void then(T value) throws Exception;

        @Override
        public void completed(T value, Object attachment) {
            Kit.failing(() -> then(value)).run();
        }

        @Override
        public void failed(Throwable why, Object attachment) {
            Kit.failing(() -> {
                throw new IOException(why);
            }).run();
        }
    }

    private static final class Echo {
        private final AsynchronousSocketChannel channel;
        private final ByteBuffer buffer = ByteBuffer.allocateDirect(700); // smaller than the messages
        private final Step<Integer> received = new Step<Integer>() {
            @Override
            void then(Integer count) throws IOException {
                if (count < 0) {
                    channel.close();
                    return;
                }
                buffer.flip();
                channel.write(buffer, null, sent);
            }
        };
        private final Step<Integer> sent = new Step<Integer>() {
            @Override
            void then(Integer count) {
                if (buffer.hasRemaining()) {
                    channel.write(buffer, null, this);
                } else {
                    buffer.clear();
                    read();
                }
            }
        };

        Echo(AsynchronousSocketChannel channel) {
            this.channel = channel;
        }

        void read() {
            channel.read(buffer, null, received);
        }
    }

    private static final class Client {
        private final AsynchronousSocketChannel channel;
        private final AtomicInteger right;
        private final CountDownLatch done;
        private final Random random;
        private int turn;
        private ByteBuffer out;
        private ByteBuffer in;
        private final Step<Integer> sent = new Step<Integer>() {
            @Override
            void then(Integer count) {
                if (out.hasRemaining()) {
                    channel.write(out, null, this);
                } else {
                    channel.read(in, null, received);
                }
            }
        };
        private final Step<Integer> received = new Step<Integer>() {
            @Override
            void then(Integer count) throws IOException {
                Kit.check("not the end", count > 0);
                if (in.hasRemaining()) {
                    channel.read(in, null, this);
                    return;
                }
                right.addAndGet(Arrays.equals(in.array(), out.array()) ? 1 : 0);
                turn();
            }
        };
        final Step<Void> connected = new Step<Void>() {
            @Override
            void then(Void nothing) throws IOException {
                turn();
            }
        };

        Client(AsynchronousSocketChannel channel, int seed, AtomicInteger right, CountDownLatch done) {
            this.channel = channel;
            this.right = right;
            this.done = done;
            random = new Random(seed);
        }

        private void turn() throws IOException {
            if (turn++ == TURNS) {
                channel.close();
                done.countDown();
                return;
            }
            out = ByteBuffer.wrap(Net.bytes(random.nextLong(), 1 + random.nextInt(5000)));
            in = ByteBuffer.allocate(out.capacity());
            channel.write(out, null, sent);
        }
    }

    /** An echo closes its end after the client has gone. */
    private static void end(AsynchronousChannelGroup group) throws InterruptedException {
        group.shutdown();
        Kit.say("the group ends: %b", group.awaitTermination(300, TimeUnit.SECONDS));
    }

    /** Three of four threads wait in handlers for what the fourth one's does. */
    private static void blockingHandlers() throws Exception {
        AsynchronousChannelGroup group = AsynchronousChannelGroup.withFixedThreadPool(4, Thread::new);
        AsynchronousServerSocketChannel listener = AsynchronousServerSocketChannel.open(group).bind(Net.ANY);
        CountDownLatch inside = new CountDownLatch(3);
        CountDownLatch last = new CountDownLatch(1);
        CountDownLatch out = new CountDownLatch(4);
        AsynchronousSocketChannel[][] pairs = new AsynchronousSocketChannel[4][];
        for (int i = 0; i < 4; i++) {
            boolean waits = i < 3;
            pairs[i] = AsynchronousEnds.pair(group, listener);
            pairs[i][1].read(ByteBuffer.allocate(9), null, new Step<Integer>() {
                @Override
                void then(Integer count) throws Exception {
                    if (waits) {
                        inside.countDown();
                        last.await();
                    } else {
                        last.countDown();
                    }
                    out.countDown();
                }
            });
        }
        for (int i = 0; i < 4; i++) {
            if (i == 3) {
                inside.await();
            }
            pairs[i][0].write(ByteBuffer.allocate(1)).get();
        }
        out.await();
        Kit.say("handlers that block");
        group.shutdownNow();
        end(group);
    }
}
