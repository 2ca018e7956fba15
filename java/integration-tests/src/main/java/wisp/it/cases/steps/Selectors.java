package wisp.it.cases.steps;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.WritableByteChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;

/** One or two selectors, channels of every kind registered with them, and what happens at their other ends. */
final class Selectors extends World {
    private final Selector[] selectors = new Selector[1 + random.nextInt(2)];
    private final ServerSocketChannel listener = ServerSocketChannel.open();
    private final List<SelectableChannel> channels = new ArrayList<>();
    private final List<String> names = new ArrayList<>();

    Selectors(Random random) throws IOException {
        super(random);
        for (int i = 0; i < selectors.length; i++) {
            selectors[i] = Selector.open();
        }
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        listener.bind(any);
        add("listener", listener);
        Pipe pipe = Pipe.open();
        add("source", pipe.source());
        add("sink", pipe.sink());
        SocketChannel client = SocketChannel.open(listener.getLocalAddress());
        add("client", client);
        add("server", listener.accept());
        DatagramChannel one = DatagramChannel.open().bind(any);
        DatagramChannel other = DatagramChannel.open().bind(any);
        one.connect(other.getLocalAddress());
        other.connect(one.getLocalAddress());
        add("packets", one);
        add("packets", other);
    }

    private synchronized Object add(String name, SelectableChannel channel) throws IOException {
        channel.configureBlocking(false);
        if (channel instanceof SocketChannel) {
            ((SocketChannel) channel).setOption(StandardSocketOptions.TCP_NODELAY, true);
        }
        channels.add(channel);
        names.add(name + channels.size());
        return names.get(names.size() - 1);
    }

    @Override
    Action draw(Worker worker) {
        int at = random.nextInt(channels.size());
        int which = random.nextInt(selectors.length);
        switch (random.nextInt(14)) {
            case 0: case 1: case 2:
                return select(which, random.nextInt(4));
            case 3:
                return Action.quick("wakeup " + which, of(() -> selectors[which].wakeup()));
            case 4:
                return interruptAny(worker);
            case 5: case 6:
                return register(which, at);
            case 7: case 8:
                return change(which, at);
            case 9: case 10: case 11:
                return transfer(at);
            case 12:
                return one(3) ? Action.quick("close " + names.get(at), of(channels.get(at)::close))
                        : one(12) ? Action.waits("close " + which, of(selectors[which]::close)) : null;
            default:
                return channels.size() > 9 ? null : connection();
        }
    }

    /** One at a time: a second one would wait for the first, which is drawn now and then. */
    private Action select(int which, int how) {
        Selector selector = selectors[which];
        if (busyWith(selector) > (one(10) ? 1 : 0)) {
            return null;
        }
        boolean keeps = one(4);
        String name = which + (keeps ? " keeps" : "");
        switch (how) {
            case 0:
                return new Action("selectNow " + name, busyWith(selector) == 0 ? Action.Kind.QUICK : Action.Kind.WAITS,
                        () -> selected(which, selector.selectNow(), keeps)).about(selector);
            case 1:
                return Action.timed("select short " + name, () -> selected(which, selector.select(SHORT), keeps)).about(selector);
            case 2:
                return Action.waits("select long " + name, () -> selected(which, selector.select(LONG), keeps)).about(selector);
            default:
                return Action.waits("select " + name, () -> selected(which, selector.select(), keeps)).about(selector);
        }
    }

    private Object selected(int which, int count, boolean keeps) {
        Selector selector = selectors[which];
        TreeSet<String> all = new TreeSet<>();
        for (SelectionKey key : selector.selectedKeys()) {
            all.add(key.attachment() + (key.isValid() ? " " + key.readyOps() + "/" + key.interestOps() : " invalid"));
        }
        if (!keeps) {
            selector.selectedKeys().clear();
        }
        // Before JDK 11 who registers waits for the end of a select, and may come before this.
        return count + " " + all + (JDK < 11 ? "" : " of " + selector.keys().size());
    }

    private Action register(int which, int at) {
        SelectableChannel channel = channels.get(at);
        int interest = random.nextInt(32) & channel.validOps();
        // Before JDK 11 it waits for a select in progress.
        return Action.waits("register " + names.get(at) + " " + interest + " with " + which, () ->
                channel.register(selectors[which], interest, names.get(at)).interestOps());
    }

    private Action change(int which, int at) {
        SelectableChannel channel = channels.get(at);
        if (one(4)) {
            return Action.quick("cancel " + names.get(at) + " of " + which, () -> {
                SelectionKey key = channel.keyFor(selectors[which]);
                if (key != null) {
                    key.cancel();
                }
                return key != null;
            });
        }
        int interest = random.nextInt(32) & channel.validOps();
        return Action.waits("interest " + interest + " of " + names.get(at) + " with " + which, () -> {
            SelectionKey key = channel.keyFor(selectors[which]);
            return key == null ? "no key" : key.interestOps(interest).isValid();
        });
    }

    private Action transfer(int at) {
        SelectableChannel channel = channels.get(at);
        String name = names.get(at);
        boolean first = one(2);
        if (channel == listener) {
            return Action.quick("accept", () -> {
                SocketChannel accepted = listener.accept();
                return accepted == null ? "none" : add("server", accepted);
            });
        } else if (first && channel instanceof WritableByteChannel) {
            if (one(6) && channel instanceof SocketChannel) {
                SocketChannel socket = (SocketChannel) channel;
                return one(2) ? Action.quick("shutdownOutput " + name, of(socket::shutdownOutput))
                        : Action.quick("shutdownInput " + name, of(socket::shutdownInput));
            }
            int size = one(4) && channel instanceof Pipe.SinkChannel ? 4 << 20 : 1 + random.nextInt(4);
            return Action.quick("write " + size + " to " + name, () -> {
                int wrote = ((WritableByteChannel) channel).write(ByteBuffer.allocate(size));
                return wrote > 1000 ? "some" : wrote;
            });
        } else if (channel instanceof ReadableByteChannel) {
            int size = any(1, 3, 100, 8 << 20);
            return Action.quick("read " + size + " of " + name, () -> {
                ByteBuffer buffer = ByteBuffer.allocate(size);
                int got;
                int sum = 0;
                while ((got = ((ReadableByteChannel) channel).read(buffer)) > 0 && size > 100) {
                    sum += got;
                }
                return sum > 1000 ? "much" : got + " " + sum;
            });
        }
        return null;
    }

    private Action connection() {
        return Action.quick("connect", () -> {
            SocketChannel channel = SocketChannel.open();
            channel.configureBlocking(false);
            boolean at = channel.connect(listener.getLocalAddress());
            return at + " " + channel.finishConnect() + " " + add("client", channel);
        });
    }

    @Override
    List<Action> ends() {
        List<Action> all = new ArrayList<>();
        for (int i = 0; i < channels.size(); i++) {
            all.add(Action.quick("close " + names.get(i), of(channels.get(i)::close)));
        }
        for (Selector selector : selectors) {
            all.add(Action.waits("close selector", of(selector::close)));
        }
        return all;
    }
}
