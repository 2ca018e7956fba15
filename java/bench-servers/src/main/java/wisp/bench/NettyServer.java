package wisp.bench;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/**
 * Netty's HTTP on its NIO transport or on its native epoll one: {@code /hello}, {@code /json}, anything else is a
 * status 404. Prints {@code port=N}; ends when its standard input ends.
 */
public final class NettyServer {
    private static final byte[] HELLO = "Hello, World!".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] JSON = "{\"message\":\"Hello, World!\"}".getBytes(StandardCharsets.US_ASCII);

    private NettyServer() {
    }

    public static void main(String[] args) throws Exception {
        Options options = new Options(NettyServer.class).define("transport", "nio").define("loops", 0).parse(args);
        int loops = options.number("loops", 0, 1000); // 0: Netty's default, two for each processor
        boolean epoll = options.text("transport", "nio", "epoll").equals("epoll");
        EventLoopGroup boss = epoll ? new EpollEventLoopGroup(1) : new NioEventLoopGroup(1);
        EventLoopGroup workers = epoll ? new EpollEventLoopGroup(loops) : new NioEventLoopGroup(loops);
        Class<? extends ServerChannel> listener = epoll ? EpollServerSocketChannel.class : NioServerSocketChannel.class;
        Channel server = new ServerBootstrap().group(boss, workers).channel(listener)
                .option(ChannelOption.SO_BACKLOG, 4096).childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new HttpServerCodec(), new Answers());
                    }
                }).bind("127.0.0.1", 0).sync().channel();
        Report.value("port", ((InetSocketAddress) server.localAddress()).getPort());
        while (System.in.read() >= 0) {
            // until whoever started this is gone
        }
        System.exit(0);
    }

    private static final class Answers extends SimpleChannelInboundHandler<Object> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, Object message) {
            if (message instanceof HttpRequest) {
                context.write(answer(((HttpRequest) message).uri()));
            }
            if (message instanceof LastHttpContent) {
                context.flush();
            }
        }

        private static DefaultFullHttpResponse answer(String path) {
            switch (path) {
                case "/hello":
                    return answer(HttpResponseStatus.OK, "text/plain", Unpooled.wrappedBuffer(HELLO));
                case "/json":
                    return answer(HttpResponseStatus.OK, "application/json", Unpooled.wrappedBuffer(JSON));
                default:
                    return answer(HttpResponseStatus.NOT_FOUND, "text/plain", Unpooled.EMPTY_BUFFER);
            }
        }

        private static DefaultFullHttpResponse answer(HttpResponseStatus status, String type, ByteBuf text) {
            DefaultFullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, text);
            response.headers().set(HttpHeaderNames.CONTENT_TYPE, type)
                    .set(HttpHeaderNames.CONTENT_LENGTH, text.readableBytes());
            return response;
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            context.close(); // the client reset it
        }
    }
}
