package wisp.it.cases.steps;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousChannelGroup;
import java.nio.channels.AsynchronousServerSocketChannel;
import java.nio.channels.AsynchronousSocketChannel;
import java.nio.channels.CompletionHandler;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Asynchronous connections, by futures and by handlers. */
final class AsyncChannels extends World {
    private final AsynchronousChannelGroup group;
    private final AsynchronousServerSocketChannel listener;
    private final List<AsynchronousSocketChannel> channels = Collections.synchronizedList(new ArrayList<>());
    private final List<Future<?>> futures = new ArrayList<>();
    private int calls;

    private final class Told implements CompletionHandler<Integer, ByteBuffer> {
        private final String name;

        Told(String name) {
            this.name = name;
        }

        @Override
        public void completed(Integer count, ByteBuffer bytes) {
            event(name + " " + (count > 1000 ? "much" : count) + (bytes.capacity() > 0 && count > 0 ? " " + bytes.get(0) : ""));
        }

        @Override
        public void failed(Throwable e, ByteBuffer bytes) {
            event(name + " " + Steps.described(e));
        }
    }

    AsyncChannels(Random random) throws Exception {
        super(random);
        group = one(2) ? AsynchronousChannelGroup.withFixedThreadPool(2, Executors.defaultThreadFactory())
                : AsynchronousChannelGroup.withCachedThreadPool(Executors.newCachedThreadPool(), 1);
        listener = AsynchronousServerSocketChannel.open(group).bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Future<AsynchronousSocketChannel> accepted = listener.accept();
        AsynchronousSocketChannel client = AsynchronousSocketChannel.open(group);
        client.connect(listener.getLocalAddress()).get();
        add(place(), client);
        add(place(), accepted.get());
    }

    /** For a channel to come: which comes first, of an accept and its connect, is not known. */
    private int place() {
        channels.add(null);
        return channels.size() - 1;
    }

    private Object add(int place, AsynchronousSocketChannel channel) throws IOException {
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        channels.set(place, channel);
        return place;
    }

    @Override
    Action draw(Worker worker) {
        int at = random.nextInt(channels.size());
        AsynchronousSocketChannel channel = channels.get(at);
        if (channel == null) {
            return null;
        }
        String name = calls + " of " + at;
        boolean brief = one(2);
        switch (random.nextInt(12)) {
            case 0: case 1:
                calls++;
                return new Action("read " + name + " " + millis(brief), brief ? Action.Kind.ENDS : Action.Kind.QUICK, of(() -> {
                    ByteBuffer bytes = ByteBuffer.allocate(3);
                    channel.read(bytes, millis(brief), TimeUnit.MILLISECONDS, bytes, new Told("read " + name));
                    if (brief) {
                        Thread.sleep(3 * SHORT);
                    }
                }));
            case 2:
                calls++;
                return Action.quick("future read " + name, of(() -> futures.add(channel.read(ByteBuffer.allocate(2)))));
            case 3: case 4:
                calls++;
                byte value = (byte) random.nextInt(100);
                return Action.quick("write " + name, of(() -> channel.write(ByteBuffer.wrap(new byte[] {value, 1}), ByteBuffer.allocate(0),
                        new Told("write " + name))));
            case 5:
                return futures.isEmpty() ? null : get(random.nextInt(futures.size()), brief);
            case 6:
                return one(3) ? Action.quick("close " + at, of(channel::close)) : one(2)
                        ? Action.quick("shutdownOutput " + at, of(channel::shutdownOutput))
                        : Action.quick("shutdownInput " + at, of(channel::shutdownInput));
            case 7:
                return interrupt(worker);
            case 8: case 9:
                return channels.size() > 9 ? null : accept(place());
            case 10:
                return channels.size() > 9 ? null : connect(place());
            default:
                return one(20) ? Action.quick("close listener", of(listener::close)) : null;
        }
    }

    private Action accept(int place) {
        return Action.waits("accept", () -> add(place, listener.accept().get()));
    }

    private Action connect(int place) {
        return Action.waits("connect", () -> {
            AsynchronousSocketChannel client = AsynchronousSocketChannel.open(group);
            client.connect(listener.getLocalAddress()).get();
            return add(place, client);
        });
    }

    private Action get(int which, boolean brief) {
        return new Action("get " + which + " " + millis(brief), kind(brief), () -> futures.get(which).get(millis(brief), unit()));
    }

    @Override
    List<Action> ends() {
        List<Action> all = new ArrayList<>();
        // By the group, which of two ends is closed first is not known.
        for (AsynchronousSocketChannel channel : channels) {
            if (channel != null) {
                all.add(Action.quick("close", of(channel::close)));
            }
        }
        all.add(Action.quick("group shutdownNow", of(group::shutdownNow)));
        all.add(Action.waits("group ends", () -> group.awaitTermination(10, TimeUnit.SECONDS)));
        return all;
    }
}
