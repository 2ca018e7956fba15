package wisp.it.cases.net;

import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousChannelGroup;
import java.nio.channels.AsynchronousServerSocketChannel;
import java.nio.channels.AsynchronousSocketChannel;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.CompletionHandler;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** How pending operations of asynchronous channels end: time-outs, cancelling, closing, shutdown, the group's end. */
@WispCase
public final class AsynchronousEnds {
    /** A future that a handler completes. */
    private static final class Result<T> extends CompletableFuture<T> implements CompletionHandler<T, Object> {
        @Override
        public void completed(T value, Object attachment) {
            complete(value);
        }

        @Override
        public void failed(Throwable why, Object attachment) {
            completeExceptionally(why);
        }
    }

    public static void main(String[] args) throws Exception {
        with("fixed pool of one", AsynchronousChannelGroup.withFixedThreadPool(1, Thread::new));
        with("fixed pool of four", AsynchronousChannelGroup.withFixedThreadPool(4, Thread::new));
        with("cached pool", AsynchronousChannelGroup.withCachedThreadPool(Executors.newCachedThreadPool(), 2));
    }

    private static void with(String what, AsynchronousChannelGroup group) throws Exception {
        Kit.say("%s:", what);
        AsynchronousServerSocketChannel listener = AsynchronousServerSocketChannel.open(group).bind(Net.ANY);
        timeouts(group, listener);
        closing(group, listener);
        end(group, listener);
    }

    private static void end(AsynchronousChannelGroup group, AsynchronousServerSocketChannel listener) throws Exception {
        Result<AsynchronousSocketChannel> accepted = accept(listener);
        // Not of the group: if that closed it first, the read would get -1.
        try (Socket peer = new Socket()) {
            peer.connect(listener.getLocalAddress());
            AsynchronousSocketChannel channel = accepted.get();
            Result<Integer> read = read(channel);
            Result<AsynchronousSocketChannel> accept = accept(listener);
            group.shutdown();
            Kit.say("ended by shutdown: %b", group.isTerminated());
            group.shutdownNow();
            ends("read of a group that ends", read);
            ends("accept of a group that ends", accept);
            Kit.say("ends: %b", group.awaitTermination(300, TimeUnit.SECONDS));
            Kit.say("open %b %b", channel.isOpen(), listener.isOpen());
            Kit.sayThrown("open in it", () -> AsynchronousSocketChannel.open(group));
        }
    }

    static AsynchronousSocketChannel[] pair(AsynchronousChannelGroup group, AsynchronousServerSocketChannel listener)
            throws Exception {
        Result<AsynchronousSocketChannel> accepted = accept(listener);
        AsynchronousSocketChannel client = AsynchronousSocketChannel.open(group);
        client.connect(listener.getLocalAddress()).get();
        return new AsynchronousSocketChannel[] {client, accepted.get()};
    }

    private static Result<AsynchronousSocketChannel> accept(AsynchronousServerSocketChannel listener) {
        Result<AsynchronousSocketChannel> result = new Result<>();
        listener.accept(null, result);
        return result;
    }

    private static Result<Integer> read(AsynchronousSocketChannel channel) {
        Result<Integer> result = new Result<>();
        channel.read(ByteBuffer.allocate(100), null, result);
        return result;
    }

    /** Writes until one fails, and returns when they seem to be stuck. The result is the failure. */
    private static Result<Integer> fill(AsynchronousSocketChannel channel, long timeoutMillis) throws Exception {
        Result<Integer> failure = new Result<>();
        AtomicInteger written = new AtomicInteger();
        ByteBuffer block = ByteBuffer.allocateDirect(1 << 20);
        channel.write(block, timeoutMillis, TimeUnit.MILLISECONDS, null, new CompletionHandler<Integer, Object>() {
            @Override
            public void completed(Integer count, Object attachment) {
                written.addAndGet(count);
                block.clear();
                Kit.failing(() -> channel.write(block, timeoutMillis, TimeUnit.MILLISECONDS, null, this)).run();
            }

            @Override
            public void failed(Throwable why, Object attachment) {
                failure.failed(why, attachment);
            }
        });
        int before;
        do {
            before = written.get();
            Thread.sleep(100);
        } while (before == 0 || before != written.get());
        return failure;
    }

    private static void ends(String what, Future<?> result) throws Exception {
        try {
            Kit.say("%s gets %s", what, result.get());
        } catch (ExecutionException e) {
            Kit.say("%s fails with %s", what, e.getCause().getClass().getName());
        }
    }

    private static void timeouts(AsynchronousChannelGroup group, AsynchronousServerSocketChannel listener)
            throws Exception {
        AsynchronousSocketChannel[] pair = pair(group, listener);
        long start = System.nanoTime();
        Result<Integer> read = new Result<>();
        pair[0].read(ByteBuffer.allocate(9), 200, TimeUnit.MILLISECONDS, null, read);
        ends("timed read", read);
        Kit.check("not before its time", Kit.millisSince(start) >= 199);
        Kit.sayThrown("read after it", () -> read(pair[0]));
        pair[1].read(ByteBuffer.allocate(9), 120, TimeUnit.SECONDS, null, read = new Result<>());
        pair[0].write(ByteBuffer.allocate(3)).get();
        ends("timed read in time", read);
        ends("timed write", fill(pair[0], 200));
        pair[0].close();
        pair[1].close();
    }

    private static void closing(AsynchronousChannelGroup group, AsynchronousServerSocketChannel listener)
            throws Exception {
        AsynchronousSocketChannel[] pair = pair(group, listener);
        Result<Integer> read = read(pair[0]);
        Kit.sayThrown("a second read", () -> read(pair[0]));
        Result<Integer> write = fill(pair[0], 0);
        Kit.say("pending: %b %b", !read.isDone(), !write.isDone());
        pair[0].close();
        ends("read of what is closed", read);
        try {
            write.get();
        } catch (ExecutionException e) {
            // One that was pending fails with another kind of it than one that was just about to begin.
            Kit.say("write of what is closed fails with one: %b", e.getCause() instanceof ClosedChannelException);
        }
        pair[1].close();

        AsynchronousSocketChannel[] other = pair(group, listener);
        Result<Integer> end = read(other[0]);
        other[1].close();
        ends("read, the peer closes", end);
        other[0].close();

        AsynchronousSocketChannel[] third = pair(group, listener);
        Future<Integer> cancelled = third[0].read(ByteBuffer.allocate(9));
        Result<Integer> half = read(third[1]);
        third[1].shutdownInput();
        ends("read, shutdownInput", half);
        Kit.say("cancelled: %b, open %b", cancelled.cancel(true), third[0].isOpen());
        ends("read of the closed half", read(third[1]));
        third[1].close();

        try (Net.FullListener full = new Net.FullListener()) {
            AsynchronousSocketChannel connecting = AsynchronousSocketChannel.open(group);
            Result<Void> connect = new Result<>();
            connecting.connect(full.address, null, connect);
            connecting.close();
            ends("connect of what is closed", connect);
        }
        AsynchronousServerSocketChannel closed = AsynchronousServerSocketChannel.open(group).bind(Net.ANY);
        Result<AsynchronousSocketChannel> accept = accept(closed);
        closed.close();
        ends("accept of what is closed", accept);
    }
}
