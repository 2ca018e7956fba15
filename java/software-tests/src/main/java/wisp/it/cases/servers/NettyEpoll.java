package wisp.it.cases.servers;

import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import wisp.it.WispCase;

/** Netty 4.1 on its own native library, which calls epoll_wait, eventfd and timerfd itself. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 90)
public final class NettyEpoll {
    public static void main(String[] args) throws Exception {
        Epoll.ensureAvailability();
        new Netty(new EpollEventLoopGroup(1), new EpollEventLoopGroup(3), EpollServerSocketChannel.class,
                EpollSocketChannel.class).run();
    }
}
