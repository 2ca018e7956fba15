package wisp.it.cases.databases;

import io.lettuce.core.LettuceFutures;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;
import redis.clients.jedis.JedisPubSub;
import wisp.it.Kit;
import wisp.it.WispCase;
import wisp.it.cases.servers.Http;

/** Debian's Redis: Jedis, which blocks, from a pool and in blocking commands; Lettuce, threads that share one connection. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 90, requires = "/usr/bin/redis-server",
        flags = "24-99: --enable-native-access=ALL-UNNAMED")
public final class RedisClients {
    private static final JedisClientConfig PATIENT = DefaultJedisClientConfig.builder()
            .connectionTimeoutMillis(300_000).socketTimeoutMillis(300_000).blockingSocketTimeoutMillis(300_000).build();

    public static void main(String[] args) throws Exception {
        try (Daemon redis = new Daemon("Redis", "redis-node")) {
            HostAndPort address = new HostAndPort("127.0.0.1", redis.port);
            pool(address);
            queue(address);
            subscribed(address);
            closed(address);
            lettuce(redis.port);
        }
    }

    /** More threads than connections. */
    private static void pool(HostAndPort address) throws Exception {
        JedisPoolConfig eight = new JedisPoolConfig();
        eight.setMaxTotal(8);
        AtomicInteger next = new AtomicInteger();
        AtomicInteger right = new AtomicInteger();
        try (JedisPool pool = new JedisPool(eight, address, PATIENT)) {
            Kit.together(30, "client", () -> {
                int client = next.incrementAndGet();
                for (int i = 0; i < 30; i++) {
                    byte[] key = (client + "." + i).getBytes();
                    byte[] value = Http.bytes(client * 100L + i, i % 10 == 0 ? 200_000 : i * 50);
                    try (Jedis jedis = pool.getResource()) {
                        jedis.set(key, value);
                        jedis.incr("count");
                    }
                    try (Jedis jedis = pool.getResource()) {
                        Kit.check("value", Http.sum(jedis.get(key)).equals(Http.sum(value)));
                        right.incrementAndGet();
                    }
                }
            });
            try (Jedis jedis = pool.getResource()) {
                Kit.say("Jedis: %d values right, counted %s", right.get(), jedis.get("count"));
            }
        }
    }

    /** Takers blocked in BLPOP, givers. */
    private static void queue(HostAndPort address) throws Exception {
        int each = 60;
        AtomicLong sum = new AtomicLong();
        Thread[] takers = new Thread[10];
        for (int i = 0; i < takers.length; i++) {
            takers[i] = Kit.start("taker-" + i, () -> {
                try (Jedis jedis = new Jedis(address, PATIENT)) {
                    for (int n = 0; n < each; n++) {
                        sum.addAndGet(Long.parseLong(jedis.blpop(0, "queue").get(1)));
                    }
                }
            });
        }
        Kit.together(10, "giver", () -> {
            try (Jedis jedis = new Jedis(address, PATIENT)) {
                for (int n = 0; n < each; n++) {
                    jedis.rpush("queue", String.valueOf(n));
                }
            }
        });
        Kit.join(takers);
        Kit.say("queue: sum %d", sum.get());
    }

    private static void subscribed(HostAndPort address) throws Exception {
        int messages = 200;
        AtomicInteger ready = new AtomicInteger();
        AtomicInteger got = new AtomicInteger();
        Thread[] listeners = new Thread[10];
        for (int i = 0; i < listeners.length; i++) {
            listeners[i] = Kit.start("listener-" + i, () -> {
                try (Jedis jedis = new Jedis(address, PATIENT)) {
                    jedis.subscribe(new JedisPubSub() {
                        private int count;

                        @Override
                        public void onSubscribe(String channel, int channels) {
                            ready.incrementAndGet();
                        }

                        @Override
                        public void onMessage(String channel, String message) {
                            Kit.check("in order", message.equals(String.valueOf(count++)));
                            got.incrementAndGet();
                            if (count == messages) {
                                unsubscribe();
                            }
                        }
                    }, "news");
                }
            });
        }
        Kit.await("all listen", () -> ready.get() == listeners.length);
        try (Jedis jedis = new Jedis(address, PATIENT)) {
            for (int n = 0; n < messages; n++) {
                jedis.publish("news", String.valueOf(n));
            }
        }
        Kit.join(listeners);
        Kit.say("subscribed: %d messages", got.get());
    }

    /** Blocked in the server's answer while another thread closes the connection. */
    private static void closed(HostAndPort address) throws Exception {
        AtomicInteger ended = new AtomicInteger();
        List<Jedis> all = new ArrayList<>();
        List<Thread> blocked = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            Jedis jedis = new Jedis(address, PATIENT);
            jedis.ping();
            all.add(jedis);
            blocked.add(Kit.start("blocked-" + i, () -> {
                String thrown = Kit.thrown(() -> jedis.blpop(0, "nothing"));
                Kit.check(thrown, thrown.endsWith("JedisConnectionException"));
                ended.incrementAndGet();
            }));
        }
        for (Thread thread : blocked) {
            Kit.awaitNative(thread);
        }
        for (Jedis jedis : all) {
            jedis.disconnect();
        }
        Kit.join(blocked.toArray(new Thread[0]));
        Kit.say("closed: %d ended", ended.get());
    }

    private static void lettuce(int port) throws Exception {
        RedisClient client = RedisClient.create(RedisURI.builder().withHost("127.0.0.1").withPort(port)
                .withTimeout(Duration.ofSeconds(300)).build());
        AtomicInteger next = new AtomicInteger();
        AtomicInteger right = new AtomicInteger();
        try (StatefulRedisConnection<byte[], byte[]> connection = client.connect(ByteArrayCodec.INSTANCE)) {
            Kit.together(20, "lettuce", () -> {
                int mine = next.incrementAndGet();
                List<RedisFuture<?>> futures = new ArrayList<>();
                for (int i = 0; i < 30; i++) {
                    byte[] key = ("lettuce " + mine + "." + i).getBytes();
                    byte[] value = Http.bytes(mine * 100L + i, i * 200);
                    futures.add(connection.async().set(key, value));
                    connection.sync().append(key, value);
                    Kit.check("both halves", connection.sync().get(key).length == 2 * value.length);
                    Kit.check("second", Http.sum(connection.sync().getrange(key, value.length, -1)).equals(Http.sum(value)));
                    right.incrementAndGet();
                }
                Kit.check("all set", LettuceFutures.awaitAll(300, TimeUnit.SECONDS, futures.toArray(new RedisFuture<?>[0])));
            });
        }
        Kit.say("Lettuce: %d values right", right.get());
        int messages = 300;
        CountDownLatch heard = new CountDownLatch(messages);
        try (StatefulRedisPubSubConnection<String, String> listener = client.connectPubSub();
                StatefulRedisConnection<String, String> speaker = client.connect()) {
            listener.addListener(new RedisPubSubAdapter<String, String>() {
                @Override
                public void message(String channel, String message) {
                    Kit.check("in order", message.equals(String.valueOf(messages - heard.getCount())));
                    heard.countDown();
                }
            });
            listener.sync().subscribe("more");
            for (int n = 0; n < messages; n++) {
                speaker.async().publish("more", String.valueOf(n));
            }
            Kit.check("all heard", heard.await(300, TimeUnit.SECONDS));
        }
        Kit.say("Lettuce: %d messages", messages);
        client.shutdown();
    }
}
