package wisp.it.cases.servers;

import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.SslProvider;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Netty 4.1 with TLS: BoringSSL in native code on native epoll, then the JDK's own on NIO. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 120, flags = "24-99: --enable-native-access=ALL-UNNAMED")
public final class NettyTls {
    public static void main(String[] args) throws Exception {
        OpenSsl.ensureAvailability();
        Kit.say(OpenSsl.versionString());
        try (Certificate certificate = new Certificate()) {
            new Netty(new EpollEventLoopGroup(1), new EpollEventLoopGroup(3), EpollServerSocketChannel.class,
                    EpollSocketChannel.class, new Netty.Tls(certificate, SslProvider.OPENSSL)).run();
            new Netty(new NioEventLoopGroup(1), new NioEventLoopGroup(3), NioServerSocketChannel.class,
                    NioSocketChannel.class, new Netty.Tls(certificate, SslProvider.JDK)).run();
        }
    }
}
