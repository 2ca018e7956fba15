package wisp.it.cases.servers;

import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import wisp.it.WispCase;

/** Netty 4.1 on the JDK's selectors. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 90)
public final class NettyNio {
    public static void main(String[] args) throws Exception {
        new Netty(new NioEventLoopGroup(1), new NioEventLoopGroup(3), NioServerSocketChannel.class,
                NioSocketChannel.class).run();
    }
}
