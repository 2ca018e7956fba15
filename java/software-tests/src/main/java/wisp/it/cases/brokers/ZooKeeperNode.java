package wisp.it.cases.brokers;

import java.io.File;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;
import wisp.it.Kit;
import wisp.it.WispCase;

/** A ZooKeeper server of one node and 8 clients: counter by compare and set, queue, watches, ephemerals. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 120)
public final class ZooKeeperNode {
    private static final int CLIENTS = 8;
    private static final int EACH = 25;

    public static void main(String[] args) throws Exception {
        File folder = Files.createTempDirectory("wisp-zookeeper").toFile();
        ZooKeeperServer server = new ZooKeeperServer(folder, folder, 2000);
        ServerCnxnFactory factory = new NIOServerCnxnFactory();
        factory.configure(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 100);
        factory.startup(server);
        String address = "127.0.0.1:" + factory.getLocalPort();
        try (ZooKeeper first = connect(address)) {
            first.create("/counter", "0".getBytes(), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            first.create("/queue", new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            first.create("/alive", new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            AtomicInteger next = new AtomicInteger();
            Kit.together(CLIENTS, "client", () -> client(address, next.incrementAndGet()));
            Kit.say("counter %s", new String(first.getData("/counter", false, null)));
            Kit.say("queue of %d", first.getChildren("/queue", false).size());
            Kit.await("ephemerals go", () -> count(first, "/alive") == 0);
            watches(first, address);
        }
        factory.shutdown();
        Kit.say("stopped");
        delete(folder);
    }

    private static ZooKeeper connect(String address) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper zooKeeper = new ZooKeeper(address, 40_000, event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        Kit.check("connected", connected.await(300, TimeUnit.SECONDS));
        return zooKeeper;
    }

    private static void client(String address, int number) throws Exception {
        try (ZooKeeper zooKeeper = connect(address)) {
            zooKeeper.create("/alive/" + number, new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
            for (int i = 0; i < EACH; i++) {
                increment(zooKeeper);
                zooKeeper.create("/queue/n-", (number + " " + i).getBytes(), Ids.OPEN_ACL_UNSAFE,
                        CreateMode.PERSISTENT_SEQUENTIAL);
            }
        }
    }

    private static void increment(ZooKeeper zooKeeper) throws Exception {
        while (true) {
            Stat stat = new Stat();
            int value = Integer.parseInt(new String(zooKeeper.getData("/counter", false, stat)));
            try {
                zooKeeper.setData("/counter", String.valueOf(value + 1).getBytes(), stat.getVersion());
                return;
            } catch (KeeperException.BadVersionException e) {
                Thread.yield(); // another client was quicker
            }
        }
    }

    private static void watches(ZooKeeper watcher, String address) throws Exception {
        CountDownLatch seen = new CountDownLatch(20);
        List<String> paths = new ArrayList<>();
        try (ZooKeeper other = connect(address)) {
            for (int i = 0; i < 20; i++) {
                paths.add("/watched-" + i);
                watcher.exists(paths.get(i), event -> seen.countDown());
            }
            for (String path : paths) {
                other.create(path, new byte[1000], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            }
        }
        Kit.say("all watches fired: %s", seen.await(300, TimeUnit.SECONDS));
    }

    private static int count(ZooKeeper zooKeeper, String path) {
        try {
            return zooKeeper.getChildren(path, false).size();
        } catch (KeeperException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void delete(File file) {
        File[] inside = file.listFiles();
        if (inside != null) {
            for (File one : inside) {
                delete(one);
            }
        }
        file.delete();
    }
}
