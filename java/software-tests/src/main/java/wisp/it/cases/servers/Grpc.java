package wisp.it.cases.servers;

import static wisp.it.cases.servers.GrpcService.BLOCK;
import static wisp.it.cases.servers.GrpcService.BLOCKED;
import static wisp.it.cases.servers.GrpcService.BLOCKED_CALLS;
import static wisp.it.cases.servers.GrpcService.BLOCKS;
import static wisp.it.cases.servers.GrpcService.ECHO;
import static wisp.it.cases.servers.GrpcService.SUM;
import static wisp.it.cases.servers.GrpcService.TOLD;
import static wisp.it.cases.servers.GrpcService.WAITS;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.handler.ssl.OpenSsl;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.StreamObserver;
import java.net.InetSocketAddress;
import java.util.Iterator;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * gRPC with the Netty inside it, its native epoll and BoringSSL: unary calls, streams in both directions with flow
 * control, deadlines, cancelled calls, short channels; without and with TLS.
 */
@WispCase(carriers = {1, 2}, timeoutSeconds = 120, flags = "24-99: --enable-native-access=ALL-UNNAMED")
public final class Grpc {
    public static void main(String[] args) throws Exception {
        Kit.say("native epoll: %b, BoringSSL: %b", Epoll.isAvailable(), OpenSsl.isAvailable());
        run(null);
        try (Certificate certificate = new Certificate()) {
            run(certificate);
        }
    }

    private static void run(Certificate certificate) throws Exception {
        ExecutorService workers = Executors.newFixedThreadPool(20);
        NettyServerBuilder builder = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
                .executor(workers).addService(GrpcService.service());
        if (certificate != null) {
            builder.sslContext(GrpcSslContexts
                    .configure(SslContextBuilder.forServer(certificate.key(), certificate.certificate())).build());
        }
        Server server = builder.build().start();
        ManagedChannel channel = connect(server, certificate);
        unary(channel);
        blocks(channel);
        echo(channel);
        deadlines(channel);
        cancelled(channel);
        end(channel);
        brief(server, certificate);
        server.shutdown();
        Kit.check("the server ends", server.awaitTermination(300, TimeUnit.SECONDS));
        workers.shutdown();
        Kit.say("stopped");
    }

    private static ManagedChannel connect(Server server, Certificate certificate) throws Exception {
        NettyChannelBuilder builder = NettyChannelBuilder.forAddress("localhost", server.getPort());
        if (certificate == null) {
            return builder.usePlaintext().build();
        }
        return builder.sslContext(GrpcSslContexts.forClient().trustManager(certificate.certificate()).build()).build();
    }

    private static void await(Semaphore semaphore) throws InterruptedException {
        Kit.check("it happens", semaphore.tryAcquire(300, TimeUnit.SECONDS));
    }

    private static void end(ManagedChannel channel) throws InterruptedException {
        channel.shutdown();
        Kit.check("the channel ends", channel.awaitTermination(300, TimeUnit.SECONDS));
    }

    private static void unary(ManagedChannel channel) throws Exception {
        AtomicInteger next = new AtomicInteger();
        AtomicInteger right = new AtomicInteger();
        Kit.together(20, "unary", () -> {
            int client = next.incrementAndGet();
            for (int i = 0; i < 25; i++) {
                byte[] body = Http.bytes(client * 100L + i, i % 10 == 0 ? 100_000 : i * 10);
                String got = new String(ClientCalls.blockingUnaryCall(channel, SUM, CallOptions.DEFAULT, body));
                Kit.check(got, got.equals(Http.sum(body)));
                right.incrementAndGet();
            }
        });
        Kit.say("unary: %d right", right.get());
    }

    private static void blocks(ManagedChannel channel) throws Exception {
        int count = 60;
        AtomicInteger right = new AtomicInteger();
        Kit.together(10, "blocks", () -> {
            Iterator<byte[]> all = ClientCalls.blockingServerStreamingCall(channel, BLOCKS, CallOptions.DEFAULT,
                    String.valueOf(count).getBytes());
            int got = 0;
            for (; all.hasNext(); got++) {
                Kit.check("block", Http.sum(all.next()).equals(Http.sum(Http.bytes(got, BLOCK))));
                right.incrementAndGet();
                if (got % 20 == 0) {
                    Thread.sleep(20); // the server has to wait
                }
            }
            Kit.check("all blocks", got == count);
        });
        Kit.say("server streams: %d blocks right", right.get());
    }

    /** These threads send while there is room, those of gRPC check what comes back. */
    private static void echo(ManagedChannel channel) throws Exception {
        int count = 40;
        AtomicInteger right = new AtomicInteger();
        Kit.together(10, "echo", () -> {
            Semaphore ended = new Semaphore(0);
            Semaphore room = new Semaphore(0);
            ClientCallStreamObserver<?>[] call = {null};
            ClientResponseObserver<byte[], byte[]> responses = new ClientResponseObserver<byte[], byte[]>() {
                private int got;

                @Override
                public void beforeStart(ClientCallStreamObserver<byte[]> requests) {
                    call[0] = requests;
                    requests.setOnReadyHandler(room::release);
                }

                @Override
                public void onNext(byte[] value) {
                    Kit.check("echo", Http.sum(value).equals(Http.sum(Http.bytes(got++, BLOCK))));
                    right.incrementAndGet();
                }

                @Override
                public void onError(Throwable e) {
                    Kit.failing(() -> {
                        throw new IllegalStateException(e);
                    }).run();
                }

                @Override
                public void onCompleted() {
                    Kit.check("all came back", got == count);
                    ended.release();
                }
            };
            StreamObserver<byte[]> requests =
                    ClientCalls.asyncBidiStreamingCall(channel.newCall(ECHO, CallOptions.DEFAULT), responses);
            for (int i = 0; i < count; i++) {
                while (!call[0].isReady()) {
                    await(room);
                }
                requests.onNext(Http.bytes(i, BLOCK));
            }
            requests.onCompleted();
            await(ended);
        });
        Kit.say("echo: %d blocks right", right.get());
    }

    /** Of calls that the server blocks in: it is told as well as the client. */
    private static void deadlines(ManagedChannel channel) throws Exception {
        AtomicInteger next = new AtomicInteger();
        AtomicInteger exceeded = new AtomicInteger();
        Kit.together(BLOCKED_CALLS, "deadline", () -> {
            int number = next.getAndIncrement();
            // One that passes before the call is in the server is not what is meant: the next is longer.
            for (int millis = 200; exceeded(channel, number, millis) && !WAITS.get(number).tryAcquire(); millis *= 2) {
            }
            await(TOLD.get(number));
            exceeded.incrementAndGet();
        });
        Kit.say("deadlines: %d exceeded", exceeded.get());
    }

    private static boolean exceeded(ManagedChannel channel, int number, int millis) {
        Status.Code code = Status.Code.OK;
        try {
            ClientCalls.blockingUnaryCall(channel, BLOCKED,
                    CallOptions.DEFAULT.withDeadlineAfter(millis, TimeUnit.MILLISECONDS), new byte[] {(byte) number});
        } catch (StatusRuntimeException e) {
            code = e.getStatus().getCode();
        }
        Kit.check("deadline, not " + code, code == Status.Code.DEADLINE_EXCEEDED);
        return true;
    }

    private static void cancelled(ManagedChannel channel) throws Exception {
        for (int i = 0; i < BLOCKED_CALLS; i++) {
            WAITS.get(i).drainPermits();
            TOLD.get(i).drainPermits();
        }
        AtomicInteger next = new AtomicInteger();
        AtomicInteger cancelled = new AtomicInteger();
        Kit.together(BLOCKED_CALLS, "cancelled", () -> {
            int number = next.getAndIncrement();
            ClientCall<byte[], byte[]> call = channel.newCall(BLOCKED, CallOptions.DEFAULT);
            Semaphore closed = new Semaphore(0);
            call.start(new ClientCall.Listener<byte[]>() {
                @Override
                public void onClose(Status status, Metadata trailers) {
                    Kit.check("cancelled", status.getCode() == Status.Code.CANCELLED);
                    closed.release();
                }
            }, new Metadata());
            call.request(1);
            call.sendMessage(new byte[] {(byte) number});
            call.halfClose();
            await(WAITS.get(number));
            call.cancel("enough", null);
            await(closed);
            await(TOLD.get(number));
            cancelled.incrementAndGet();
        });
        Kit.say("cancelled: %d", cancelled.get());
    }

    private static void brief(Server server, Certificate certificate) throws Exception {
        AtomicInteger right = new AtomicInteger();
        Kit.together(8, "brief", () -> {
            for (int i = 0; i < 5; i++) {
                ManagedChannel channel = connect(server, certificate);
                byte[] body = Http.bytes(i, i * 1000);
                String got = new String(ClientCalls.blockingUnaryCall(channel, SUM, CallOptions.DEFAULT, body));
                Kit.check(got, got.equals(Http.sum(body)));
                end(channel);
                right.incrementAndGet();
            }
        });
        Kit.say("short channels: %d right", right.get());
    }
}
