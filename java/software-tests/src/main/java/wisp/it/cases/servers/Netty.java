package wisp.it.cases.servers;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.SocketFactory;
import wisp.it.Kit;

/** HTTP hello, and echo with Netty on both ends, on whatever transport. */
final class Netty {
    private final EventLoopGroup boss;
    private final EventLoopGroup workers;
    private final Class<? extends ServerChannel> listener;
    private final Class<? extends Channel> connection;
    private final Tls tls;

    /** For both ends, and what the blocking clients take. */
    static final class Tls {
        final SslContext server;
        final SslContext client;
        final SocketFactory sockets;

        Tls(Certificate certificate, SslProvider provider) throws Exception {
            server = SslContextBuilder.forServer(certificate.key(), certificate.certificate()).sslProvider(provider).build();
            client = SslContextBuilder.forClient().trustManager(certificate.certificate()).sslProvider(provider).build();
            sockets = certificate.context().getSocketFactory();
        }
    }

    Netty(EventLoopGroup boss, EventLoopGroup workers, Class<? extends ServerChannel> listener,
            Class<? extends Channel> connection) {
        this(boss, workers, listener, connection, null);
    }

    Netty(EventLoopGroup boss, EventLoopGroup workers, Class<? extends ServerChannel> listener,
            Class<? extends Channel> connection, Tls tls) {
        this.tls = tls;
        this.boss = boss;
        this.workers = workers;
        this.listener = listener;
        this.connection = connection;
    }

    void run() throws Exception {
        http();
        echo();
        churn();
        boss.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        workers.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        Kit.say("stopped");
    }

    private Channel serve(ChannelHandler... handlers) throws Exception {
        return new ServerBootstrap().group(boss, workers).channel(listener).option(ChannelOption.SO_BACKLOG, 1000)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) throws Exception {
                        if (tls != null) {
                            channel.pipeline().addLast(tls.server.newHandler(channel.alloc()));
                        }
                        for (ChannelHandler handler : handlers) {
                            boolean shared = handler.getClass().isAnnotationPresent(ChannelHandler.Sharable.class);
                            channel.pipeline().addLast(shared ? handler
                                    : handler instanceof HttpServerCodec ? new HttpServerCodec()
                                            : new HttpObjectAggregator(1 << 20));
                        }
                    }
                }).bind("127.0.0.1", 0).sync().channel();
    }

    private SocketFactory sockets() {
        return tls == null ? SocketFactory.getDefault() : tls.sockets;
    }

    private static int port(Channel channel) {
        return ((java.net.InetSocketAddress) channel.localAddress()).getPort();
    }

    /** Answers with path and body's check sum. */
    @ChannelHandler.Sharable
    private static final class Hello extends SimpleChannelInboundHandler<FullHttpRequest> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            byte[] body = new byte[request.content().readableBytes()];
            request.content().readBytes(body);
            ByteBuf text = Unpooled.copiedBuffer(request.uri() + " " + Http.sum(body), StandardCharsets.UTF_8);
            DefaultFullHttpResponse response =
                    new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, text);
            response.headers().set(HttpHeaderNames.CONTENT_LENGTH, text.readableBytes());
            context.writeAndFlush(response);
        }
    }

    private void http() throws Exception {
        Channel server = serve(new HttpServerCodec(), new HttpObjectAggregator(1 << 20), new Hello());
        AtomicInteger next = new AtomicInteger();
        AtomicInteger right = new AtomicInteger();
        Kit.together(40, "client", () -> {
            int client = next.incrementAndGet();
            try (Http http = new Http(port(server), sockets())) {
                for (int i = 0; i < 100; i++) {
                    byte[] body = Http.bytes(client * 1000L + i, i % 10 == 0 ? 60_000 : i);
                    String got = new String(http.post("/" + client + "/" + i, body));
                    Kit.check(got, got.equals("/" + client + "/" + i + " " + Http.sum(body)));
                    right.incrementAndGet();
                }
            }
        });
        server.close().sync();
        Kit.say("http: %d answers right", right.get());
    }

    @ChannelHandler.Sharable
    private static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            context.writeAndFlush(message);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close(); // the client reset it
        }
    }

    /** Sends `rounds` blocks, each when the one before has come back whole. */
    private static final class Asker extends ChannelInboundHandlerAdapter {
        private final long seed;
        private final int rounds;
        private final CountDownLatch ended;
        private int round;
        private byte[] block;
        private int at;

        Asker(long seed, int rounds, CountDownLatch ended) {
            this.seed = seed;
            this.rounds = rounds;
            this.ended = ended;
        }

        private void ask(ChannelHandlerContext context) {
            block = Http.bytes(seed * 1000 + round, round % 20 == 19 ? 300_000 : 1 + (round * 37) % 2000);
            at = 0;
            context.writeAndFlush(Unpooled.wrappedBuffer(block.clone()));
        }

        @Override
        public void channelActive(ChannelHandlerContext context) {
            ask(context);
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            ByteBuf got = (ByteBuf) message;
            int length = got.readableBytes();
            Kit.check("bytes from " + at + " of block " + round, got.equals(Unpooled.wrappedBuffer(block, at, length)));
            at += length;
            got.release();
            if (at == block.length) {
                if (++round < rounds) {
                    ask(context);
                } else {
                    context.close().addListener((ChannelFutureListener) f -> ended.countDown());
                }
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            Kit.failing(() -> {
                throw new IllegalStateException(cause);
            }).run();
        }
    }

    private void echo() throws Exception {
        Channel server = serve(new Echo());
        int clients = tls == null ? 100 : 30;
        CountDownLatch ended = new CountDownLatch(clients);
        AtomicInteger next = new AtomicInteger();
        Bootstrap bootstrap = new Bootstrap().group(workers).channel(connection)
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        if (tls != null) {
                            channel.pipeline().addLast(tls.client.newHandler(channel.alloc()));
                        }
                        channel.pipeline().addLast(new Asker(next.incrementAndGet(), 60, ended));
                    }
                });
        List<Channel> channels = new ArrayList<>();
        for (int i = 0; i < clients; i++) {
            channels.add(bootstrap.connect("127.0.0.1", port(server)).sync().channel());
        }
        Kit.check("all echoed", ended.await(300, TimeUnit.SECONDS));
        for (Channel channel : channels) {
            channel.closeFuture().sync();
        }
        server.close().sync();
        Kit.say("echo: %d connections", clients);
    }

    /** Thousands of short connections, so that descriptor numbers are used again and again; fewer with handshakes. */
    private void churn() throws Exception {
        int each = tls == null ? 100 : 20;
        Channel server = serve(new Echo());
        AtomicInteger right = new AtomicInteger();
        Kit.together(20, "client", () -> {
            for (int i = 0; i < each; i++) {
                try (java.net.Socket socket = sockets().createSocket("127.0.0.1", port(server))) {
                    socket.getOutputStream().write(i);
                    Kit.check("its own byte", socket.getInputStream().read() == i);
                    socket.setSoLinger(i % 3 == 0, 0);
                    right.incrementAndGet();
                }
            }
        });
        server.close().sync();
        Kit.say("churn: %d answers right", right.get());
    }
}
