package wisp.it.cases.servers;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollDatagramChannel;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.incubator.codec.quic.InsecureQuicTokenHandler;
import io.netty.incubator.codec.quic.Quic;
import io.netty.incubator.codec.quic.QuicChannel;
import io.netty.incubator.codec.quic.QuicClientCodecBuilder;
import io.netty.incubator.codec.quic.QuicServerCodecBuilder;
import io.netty.incubator.codec.quic.QuicSslContextBuilder;
import io.netty.incubator.codec.quic.QuicStreamChannel;
import io.netty.incubator.codec.quic.QuicStreamType;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** QUIC by Netty's codec, whose native part is Rust's quiche: echo on several streams of each connection, over UDP. */
@WispCase(carriers = {1, 2}, minJdk = 11, timeoutSeconds = 90, flags = "24-99: --enable-native-access=ALL-UNNAMED")
public final class NettyQuic {
    private static final int CONNECTIONS = 8;
    private static final int STREAMS = 4;

    public static void main(String[] args) throws Exception {
        Quic.ensureAvailability();
        try (Certificate certificate = new Certificate()) {
            run(new NioEventLoopGroup(3), NioDatagramChannel.class, certificate);
            run(new EpollEventLoopGroup(3), EpollDatagramChannel.class, certificate);
        }
    }

    private static void run(EventLoopGroup group, Class<? extends DatagramChannel> datagrams, Certificate certificate)
            throws Exception {
        Channel server = bind(group, datagrams, new QuicServerCodecBuilder()
                .sslContext(QuicSslContextBuilder.forServer(certificate.key(), null, certificate.certificate())
                        .applicationProtocols("echo").build())
                .maxIdleTimeout(300, TimeUnit.SECONDS).initialMaxData(1_000_000)
                .initialMaxStreamDataBidirectionalRemote(100_000).initialMaxStreamDataBidirectionalLocal(100_000)
                .initialMaxStreamsBidirectional(100).tokenHandler(InsecureQuicTokenHandler.INSTANCE)
                .handler(new Nothing()).streamHandler(new Netty.Echo()).build());
        CountDownLatch ended = new CountDownLatch(CONNECTIONS * STREAMS);
        AtomicInteger next = new AtomicInteger();
        Kit.together(CONNECTIONS, "client", () -> {
            Channel socket = bind(group, datagrams, new QuicClientCodecBuilder()
                    .sslContext(QuicSslContextBuilder.forClient().trustManager(certificate.certificate())
                            .applicationProtocols("echo").build())
                    .maxIdleTimeout(300, TimeUnit.SECONDS).initialMaxData(1_000_000)
                    .initialMaxStreamDataBidirectionalLocal(100_000).build());
            QuicChannel connection = QuicChannel.newBootstrap(socket).streamHandler(new Nothing())
                    .remoteAddress(server.localAddress()).connect().get(300, TimeUnit.SECONDS);
            QuicStreamChannel[] streams = new QuicStreamChannel[STREAMS];
            for (int i = 0; i < STREAMS; i++) {
                streams[i] = connection.createStream(QuicStreamType.BIDIRECTIONAL,
                        new Netty.Asker(next.incrementAndGet(), 25, ended)).get(300, TimeUnit.SECONDS);
            }
            for (QuicStreamChannel stream : streams) {
                stream.closeFuture().sync();
            }
            connection.close().sync();
            socket.close().sync();
        });
        Kit.check("all echoed", ended.await(300, TimeUnit.SECONDS));
        server.close().sync();
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        Kit.say("%d streams echoed", CONNECTIONS * STREAMS);
    }

    private static Channel bind(EventLoopGroup group, Class<? extends DatagramChannel> datagrams, ChannelHandler codec)
            throws InterruptedException {
        return new Bootstrap().group(group).channel(datagrams).handler(codec).bind("127.0.0.1", 0).sync().channel();
    }

    /** Of the connection itself nothing is expected. */
    @ChannelHandler.Sharable
    private static final class Nothing extends ChannelInboundHandlerAdapter {
    }
}
