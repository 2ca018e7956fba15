package wisp.it.cases.steps;

import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/** Unix domain channels, which JDK 8 cannot name. */
final class LocalSockets {
    private LocalSockets() {
    }

    /** Null before JDK 16. */
    static SocketChannel[] pair() throws Exception {
        ProtocolFamily family = null;
        for (StandardProtocolFamily each : StandardProtocolFamily.values()) {
            if (each.name().equals("UNIX")) {
                family = each;
            }
        }
        if (family == null) {
            return null;
        }
        Path path = Files.createTempFile("wisp", ".socket");
        Files.delete(path);
        SocketAddress address = (SocketAddress) Class.forName("java.net.UnixDomainSocketAddress")
                .getMethod("of", Path.class).invoke(null, path);
        try (ServerSocketChannel listener = (ServerSocketChannel) ServerSocketChannel.class
                .getMethod("open", ProtocolFamily.class).invoke(null, family)) {
            listener.bind(address);
            SocketChannel client = SocketChannel.open(address);
            return new SocketChannel[] {client, listener.accept()};
        } finally {
            Files.deleteIfExists(path);
        }
    }
}
