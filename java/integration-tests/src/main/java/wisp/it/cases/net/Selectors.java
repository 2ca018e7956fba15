package wisp.it.cases.net;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Iterator;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Selector.select: timed, woken, interrupted, closed; an event loop against blocking clients. */
@WispCase
public final class Selectors {
    public static void main(String[] args) throws Exception {
        waits();
        loop();
        churn();
    }

    private static void waits() throws Exception {
        Selector selector = Selector.open();
        Net.timed("select", 119, () -> Kit.check("none", selector.select(120) == 0));
        for (int i = 0; i < 200; i++) {
            Thread waker = Kit.start("waker", selector::wakeup);
            selector.select();
            Kit.join(waker);
        }
        selector.selectNow();
        Thread main = Thread.currentThread();
        Thread interrupter = Kit.start("interrupter", () -> {
            Thread.sleep(50);
            main.interrupt();
        });
        selector.select();
        Kit.say("interrupted: %b", Thread.interrupted());
        Kit.join(interrupter);
        Net.sayBroken("select, close", () -> {
            selector.select();
            if (!selector.isOpen()) {
                throw new ClosedSelectorException();
            }
        }, selector::close);
        Selector pipes = Selector.open();
        Pipe pipe = Pipe.open();
        pipe.source().configureBlocking(false);
        pipe.source().register(pipes, SelectionKey.OP_READ);
        for (int i = 0; i < 100; i++) {
            Thread writer = Kit.start("writer", () -> pipe.sink().write(ByteBuffer.wrap(new byte[1])));
            Kit.check("selected", pipes.select() == 1);
            pipes.selectedKeys().clear();
            Kit.check("read", pipe.source().read(ByteBuffer.allocate(5)) == 1);
            Kit.join(writer);
        }
        pipes.close();
        Kit.say("pipes ok");
    }

    private static void serve(Selector selector, ServerSocketChannel listener, int clients) throws Exception {
        int ended = 0;
        ByteBuffer buffer = ByteBuffer.allocateDirect(8192);
        while (ended < clients) {
            selector.select();
            for (Iterator<SelectionKey> it = selector.selectedKeys().iterator(); it.hasNext(); it.remove()) {
                SelectionKey key = it.next();
                if (key.isAcceptable()) {
                    SocketChannel channel;
                    while ((channel = listener.accept()) != null) {
                        channel.configureBlocking(false);
                        channel.register(selector, SelectionKey.OP_READ);
                    }
                    continue;
                }
                SocketChannel channel = (SocketChannel) key.channel();
                buffer.clear();
                int n = channel.read(buffer);
                if (n < 0) {
                    channel.close();
                    ended++;
                    continue;
                }
                buffer.flip();
                while (buffer.hasRemaining()) {
                    channel.write(buffer);
                }
            }
        }
    }

    private static void loop() throws Exception {
        int clients = 80;
        try (Selector selector = Selector.open(); ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 500);
            listener.configureBlocking(false);
            listener.register(selector, SelectionKey.OP_ACCEPT);
            Thread server = Kit.start("event loop", () -> serve(selector, listener, clients));
            int port = ((InetSocketAddress) listener.getLocalAddress()).getPort();
            Kit.together(clients, "client", () -> {
                try (java.net.Socket s = new java.net.Socket(InetAddress.getLoopbackAddress(), port)) {
                    for (int i = 1; i < 60; i++) {
                        s.getOutputStream().write(Net.bytes(i, i * 20));
                        Net.receive(s.getInputStream(), i, i * 20);
                    }
                }
            });
            Kit.join(server);
        }
        Kit.say("event loop served %d", clients);
    }

    private static void churn() throws Exception {
        // Descriptor numbers are reused at once: nothing of a former life may show.
        try (ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 500);
            Kit.together(4, "churn", () -> {
                for (int i = 0; i < 300; i++) {
                    try (SocketChannel client = SocketChannel.open(listener.getLocalAddress())) {
                        if (i % 3 == 0) {
                            Pipe pipe = Pipe.open();
                            pipe.sink().write(ByteBuffer.wrap(new byte[2]));
                            Kit.check("pipe", pipe.source().read(ByteBuffer.allocate(9)) == 2);
                            pipe.sink().close();
                            pipe.source().close();
                        }
                        SocketChannel server = listener.accept();
                        Thread writer = i % 5 == 0
                                ? Kit.start("w", () -> server.write(ByteBuffer.wrap(new byte[1]))) : null;
                        if (writer == null) {
                            server.write(ByteBuffer.wrap(new byte[1]));
                        } else {
                            Kit.join(writer);
                        }
                        server.shutdownOutput();
                        server.close();
                        client.read(ByteBuffer.allocate(10));
                    }
                }
            });
        }
        Kit.say("churn ok");
    }
}
