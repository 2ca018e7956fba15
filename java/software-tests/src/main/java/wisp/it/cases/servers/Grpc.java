package wisp.it.cases.servers;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
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
import io.grpc.stub.ServerCalls;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * gRPC with the Netty inside it, its native epoll and BoringSSL: unary calls, streams in both directions with flow
 * control, deadlines, cancelled calls, short channels; without and with TLS.
 */
@WispCase(carriers = {1, 2}, timeoutSeconds = 120, flags = "24-99: --enable-native-access=ALL-UNNAMED")
public final class Grpc {
    private static final int BLOCK = 20_000;
    private static final int BLOCKED_CALLS = 15;
    private static final MethodDescriptor<byte[], byte[]> SUM = method("Sum", MethodType.UNARY);
    private static final MethodDescriptor<byte[], byte[]> BLOCKED = method("Blocked", MethodType.UNARY);
    private static final MethodDescriptor<byte[], byte[]> BLOCKS = method("Blocks", MethodType.SERVER_STREAMING);
    private static final MethodDescriptor<byte[], byte[]> ECHO = method("Echo", MethodType.BIDI_STREAMING);
    /** By the number in the request: that its call waits in the server, and that it has been told of its end. */
    private static final List<Semaphore> WAITS = semaphores();
    private static final List<Semaphore> TOLD = semaphores();

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
                .executor(workers).addService(service());
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

    private static List<Semaphore> semaphores() {
        return Stream.generate(() -> new Semaphore(0)).limit(BLOCKED_CALLS).collect(Collectors.toList());
    }

    private static void await(Semaphore semaphore) throws InterruptedException {
        Kit.check("it happens", semaphore.tryAcquire(300, TimeUnit.SECONDS));
    }

    private static void end(ManagedChannel channel) throws InterruptedException {
        channel.shutdown();
        Kit.check("the channel ends", channel.awaitTermination(300, TimeUnit.SECONDS));
    }

    private static MethodDescriptor<byte[], byte[]> method(String name, MethodType type) {
        MethodDescriptor.Marshaller<byte[]> bytes = new MethodDescriptor.Marshaller<byte[]>() {
            @Override
            public InputStream stream(byte[] value) {
                return new ByteArrayInputStream(value);
            }

            @Override
            public byte[] parse(InputStream stream) {
                try {
                    byte[] value = new byte[stream.available()];
                    new DataInputStream(stream).readFully(value);
                    return value;
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        };
        return MethodDescriptor.newBuilder(bytes, bytes).setType(type).setFullMethodName("wisp.Test/" + name).build();
    }

    private static ServerServiceDefinition service() {
        return ServerServiceDefinition.builder("wisp.Test")
                .addMethod(SUM, ServerCalls.asyncUnaryCall((request, response) -> answer(response, Http.sum(request))))
                .addMethod(BLOCKED, ServerCalls.asyncUnaryCall((request, response) -> block(request[0])))
                .addMethod(BLOCKS, ServerCalls.asyncServerStreamingCall(
                        (request, response) -> pump(request, (ServerCallStreamObserver<byte[]>) response)))
                .addMethod(ECHO, ServerCalls.asyncBidiStreamingCall(response -> new Back(response))).build();
    }

    private static void answer(StreamObserver<byte[]> response, String text) {
        response.onNext(text.getBytes());
        response.onCompleted();
    }

    /** Until it is told that nobody waits for the answer any more. */
    private static void block(int number) {
        CountDownLatch over = new CountDownLatch(1);
        Context.current().addListener(context -> over.countDown(), Runnable::run);
        WAITS.get(number).release();
        Kit.failing(() -> Kit.check("told", over.await(300, TimeUnit.SECONDS))).run();
        TOLD.get(number).release();
    }

    /** As many blocks as asked for, each when the transport has room for it. */
    private static void pump(byte[] request, ServerCallStreamObserver<byte[]> response) {
        int count = Integer.parseInt(new String(request));
        response.setOnReadyHandler(new Runnable() {
            private int sent;

            @Override
            public void run() {
                while (response.isReady() && sent < count) {
                    response.onNext(Http.bytes(sent++, BLOCK));
                    if (sent == count) {
                        response.onCompleted();
                    }
                }
            }
        });
    }

    /** Sends back what comes; asks for the next one only then. */
    private static final class Back implements StreamObserver<byte[]> {
        private final ServerCallStreamObserver<byte[]> response;

        Back(StreamObserver<byte[]> response) {
            this.response = (ServerCallStreamObserver<byte[]>) response;
            this.response.disableAutoRequest();
            this.response.request(1);
        }

        @Override
        public void onNext(byte[] value) {
            response.onNext(value);
            response.request(1);
        }

        @Override
        public void onError(Throwable e) {
            // The client is gone.
        }

        @Override
        public void onCompleted() {
            response.onCompleted();
        }
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
