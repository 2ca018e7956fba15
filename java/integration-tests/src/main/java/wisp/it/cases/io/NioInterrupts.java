package wisp.it.cases.io;

import static wisp.it.Kit.say;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.function.Consumer;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Interrupting or closing under a blocked channel ends the call with the right exception. */
@WispCase
public final class NioInterrupts {
    public static void main(String[] args) throws Exception {
        ServerSocketChannel server = ServerSocketChannel.open();
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        SocketChannel client = SocketChannel.open(server.getLocalAddress());
        SocketChannel peer = server.accept();
        SocketChannel silent = SocketChannel.open(server.getLocalAddress());
        SocketChannel other = server.accept();
        ended("interrupted read", () -> client.read(ByteBuffer.allocate(8)), Thread::interrupt);
        say("closed by it: %s", !client.isOpen());
        say("the peer reads %d", peer.read(ByteBuffer.allocate(8)));
        ended("read closed by another", () -> other.read(ByteBuffer.allocate(8)), t -> close(other));
        say("its peer reads %d", silent.read(ByteBuffer.allocate(8)));
        ended("accept closed by another", server::accept, t -> close(server));
        Pipe pipe = Pipe.open();
        ended("interrupted pipe", () -> pipe.source().read(ByteBuffer.allocate(8)), Thread::interrupt);
        Selector selector = Selector.open();
        Thread selecting = Kit.start("selecting", () -> {
            selector.select();
            say("select returned, flag %s, open %s", Thread.interrupted(), selector.isOpen());
        });
        Kit.awaitNative(selecting);
        selecting.interrupt();
        Kit.join(selecting);
        selector.close();
    }

    private static void close(java.io.Closeable closeable) {
        try {
            closeable.close();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void ended(String what, Kit.Body call, Consumer<Thread> end) throws InterruptedException {
        Thread thread = Kit.start(what, () -> {
            try {
                call.run();
                say("%s: returned", what);
            } catch (IOException e) {
                say("%s: %s, flag %s", what, e.getClass().getSimpleName(), Thread.interrupted());
            }
        });
        Kit.awaitNative(thread);
        end.accept(thread);
        Kit.join(thread);
    }
}
