package wisp.it.cases.io;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.WispCase;

/** A selector loop that serves blocking clients. */
@WispCase(smoke = true)
public final class NioEcho {
    public static void main(String[] args) throws Exception {
        int clients = 10;
        ServerSocketChannel server = ServerSocketChannel.open();
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        int port = ((InetSocketAddress) server.getLocalAddress()).getPort();
        Selector selector = Selector.open();
        server.configureBlocking(false);
        server.register(selector, SelectionKey.OP_ACCEPT);
        AtomicInteger ended = new AtomicInteger();
        Thread loop = Kit.start("loop", () -> serve(server, selector, ended, clients));
        AtomicLong sum = new AtomicLong();
        Kit.together(clients, "client", () -> {
            try (SocketChannel channel = SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))) {
                ByteBuffer buffer = ByteBuffer.allocate(8);
                for (long i = 0; i < 50; i++) {
                    buffer.clear();
                    buffer.putLong(i).flip();
                    channel.write(buffer);
                    buffer.clear();
                    while (buffer.hasRemaining()) {
                        check("open", channel.read(buffer) >= 0);
                    }
                    buffer.flip();
                    sum.addAndGet(buffer.getLong());
                }
            }
        });
        Kit.join(loop);
        say("sum %d, ended %d", sum.get(), ended.get());
        Thread woken = Kit.start("woken", () -> say("selected %d", selector.select()));
        Kit.awaitNative(woken);
        selector.wakeup();
        Kit.join(woken);
        say("timed select %d", selector.select(20));
        server.close();
        selector.close();
    }

    private static void serve(ServerSocketChannel server, Selector selector, AtomicInteger ended, int clients) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(256);
        while (ended.get() < clients) {
            selector.select();
            for (SelectionKey key : selector.selectedKeys()) {
                if (key.isAcceptable()) {
                    SocketChannel channel = server.accept();
                    channel.configureBlocking(false);
                    channel.register(selector, SelectionKey.OP_READ);
                    continue;
                }
                SocketChannel channel = (SocketChannel) key.channel();
                buffer.clear();
                if (channel.read(buffer) < 0) {
                    channel.close();
                    ended.incrementAndGet();
                    continue;
                }
                buffer.flip();
                while (buffer.hasRemaining()) {
                    channel.write(buffer);
                }
            }
            selector.selectedKeys().clear();
        }
    }
}
