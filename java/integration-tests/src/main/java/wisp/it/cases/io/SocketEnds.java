package wisp.it.cases.io;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.io.EOFException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Time-outs, closing under a blocked read or accept, refused connections. */
@WispCase(smoke = true)
public final class SocketEnds {
    public static void main(String[] args) throws Exception {
        ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        server.setSoTimeout(50);
        Kit.sayThrown("timed accept", server::accept);
        server.setSoTimeout(0);
        Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
        Socket peer = server.accept();
        client.setSoTimeout(50);
        long start = System.nanoTime();
        Kit.sayThrown("timed read", () -> client.getInputStream().read());
        check("waited", Kit.millisSince(start) >= 49);
        client.setSoTimeout(0);
        Thread reading = Kit.start("reading", () -> Kit.sayThrown("read of a closed socket", () -> {
            int got = client.getInputStream().read();
            if (got < 0) {
                throw new EOFException();
            }
        }));
        Kit.awaitNative(reading);
        client.close();
        Kit.join(reading);
        say("the peer reads %d", peer.getInputStream().read());
        peer.close();
        Thread accepting = Kit.start("accepting", () -> Kit.sayThrown("accept of a closed socket", server::accept));
        Kit.awaitNative(accepting);
        server.close();
        Kit.join(accepting);
        try (Socket bound = new Socket()) { // bound, and nobody listens: a port given back may be somebody's at once
            bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            Kit.sayThrown("connect to nobody", () -> new Socket(InetAddress.getLoopbackAddress(), bound.getLocalPort()).close());
        }
    }
}
