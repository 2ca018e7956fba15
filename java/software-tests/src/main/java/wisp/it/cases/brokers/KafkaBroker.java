package wisp.it.cases.brokers;

import java.io.File;
import java.io.FileOutputStream;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Time;
import wisp.it.Kit;
import wisp.it.WispCase;
import wisp.it.cases.servers.Http;
import wisp.it.cases.servers.Ports;

/** A Kafka 3.9 broker and controller in one (KRaft), 4 producers, 2 consumers of one group; each record right. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 240)
public final class KafkaBroker {
    private static final int PRODUCERS = 4;
    private static final int EACH = 500;

    public static void main(String[] args) throws Exception {
        File folder = Files.createTempDirectory("wisp-kafka").toFile();
        int port = Ports.free();
        Properties settings = settings(folder, port, Ports.free());
        format(folder, settings);
        KafkaRaftServer server = new KafkaRaftServer(KafkaConfig.fromProps(settings), Time.SYSTEM);
        server.startup();
        Map<String, Object> common = new HashMap<>();
        common.put("bootstrap.servers", "127.0.0.1:" + port);
        try (Admin admin = Admin.create(common)) {
            admin.createTopics(Collections.singleton(new NewTopic("topic", 4, (short) 1))).all().get(60, TimeUnit.SECONDS);
        }
        Kit.say("topic created");
        AtomicInteger next = new AtomicInteger();
        AtomicInteger got = new AtomicInteger();
        Thread[] consumers = new Thread[2];
        for (int i = 0; i < consumers.length; i++) {
            consumers[i] = Kit.start("consumer", () -> consume(common, got));
        }
        Kit.together(PRODUCERS, "producer", () -> produce(common, next.incrementAndGet()));
        Kit.join(consumers);
        Kit.say("%d records right", got.get());
        server.shutdown();
        server.awaitShutdown();
        Kit.say("stopped");
        ZooKeeperNode.delete(folder);
    }

    private static Properties settings(File folder, int port, int controller) {
        Properties settings = new Properties();
        settings.put("process.roles", "broker,controller");
        settings.put("node.id", "1");
        settings.put("controller.quorum.voters", "1@127.0.0.1:" + controller);
        settings.put("listeners", "PLAINTEXT://127.0.0.1:" + port + ",CONTROLLER://127.0.0.1:" + controller);
        settings.put("controller.listener.names", "CONTROLLER");
        settings.put("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT");
        settings.put("log.dirs", folder + "/log");
        settings.put("offsets.topic.replication.factor", "1");
        settings.put("offsets.topic.num.partitions", "2");
        settings.put("transaction.state.log.replication.factor", "1");
        settings.put("transaction.state.log.min.isr", "1");
        settings.put("broker.session.timeout.ms", "60000"); // a machine may stand still for longer than the usual 9 s
        settings.put("group.initial.rebalance.delay.ms", "0");
        settings.put("log.cleaner.dedupe.buffer.size", "8000000");
        return settings;
    }

    /** As `kafka-storage.sh format` does. */
    private static void format(File folder, Properties settings) throws Exception {
        File file = new File(folder, "server.properties");
        try (FileOutputStream out = new FileOutputStream(file)) {
            settings.store(out, null);
        }
        java.io.PrintStream quiet = new java.io.PrintStream(new java.io.ByteArrayOutputStream());
        Object code = kafka.tools.StorageTool.execute(
                new String[] {"format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", file.getPath()}, quiet);
        Kit.check("formatted", code.equals(0));
    }

    private static void produce(Map<String, Object> common, int number) throws Exception {
        Map<String, Object> settings = new HashMap<>(common);
        settings.put("acks", "all");
        settings.put("enable.idempotence", "true");
        try (KafkaProducer<String, byte[]> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < EACH; i++) {
                String key = number + " " + i;
                producer.send(new ProducerRecord<>("topic", key, value(key)), (at, e) -> Kit.check("sent", e == null));
                if (i % 100 == 99) {
                    producer.flush();
                }
            }
        }
    }

    private static byte[] value(String key) {
        return Http.bytes(key.hashCode(), 10 + (key.hashCode() & 0xfff));
    }

    private static void consume(Map<String, Object> common, AtomicInteger got) {
        Map<String, Object> settings = new HashMap<>(common);
        settings.put("group.id", "group");
        settings.put("auto.offset.reset", "earliest");
        Map<String, Integer> last = new HashMap<>();
        long deadline = System.nanoTime() + 200_000_000_000L;
        try (KafkaConsumer<String, byte[]> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(Collections.singleton("topic"));
            while (got.get() < PRODUCERS * EACH) {
                Kit.check("all come", System.nanoTime() < deadline);
                for (ConsumerRecord<String, byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    Kit.check(record.key(), java.util.Arrays.equals(record.value(), value(record.key())));
                    String[] key = record.key().split(" ");
                    Integer before = last.put(key[0] + " in " + record.partition(), Integer.valueOf(key[1]));
                    Kit.check("in order", before == null || before < Integer.parseInt(key[1]));
                    got.incrementAndGet();
                }
            }
        }
    }
}
