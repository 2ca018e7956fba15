package wisp.it.cases.servers;

import io.grpc.Context;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import wisp.it.Kit;

/** The service that Grpc calls: sums, blocks when there is room, an echo, calls that last until nobody waits. */
final class GrpcService {
    static final int BLOCK = 20_000;
    static final int BLOCKED_CALLS = 15;
    static final MethodDescriptor<byte[], byte[]> SUM = method("Sum", MethodType.UNARY);
    static final MethodDescriptor<byte[], byte[]> BLOCKED = method("Blocked", MethodType.UNARY);
    static final MethodDescriptor<byte[], byte[]> BLOCKS = method("Blocks", MethodType.SERVER_STREAMING);
    static final MethodDescriptor<byte[], byte[]> ECHO = method("Echo", MethodType.BIDI_STREAMING);
    /** By the number in the request: that its call waits in the server, and that it has been told of its end. */
    static final List<Semaphore> WAITS = semaphores();
    static final List<Semaphore> TOLD = semaphores();

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

    static ServerServiceDefinition service() {
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

    private static List<Semaphore> semaphores() {
        return Stream.generate(() -> new Semaphore(0)).limit(BLOCKED_CALLS).collect(Collectors.toList());
    }

    private GrpcService() {
    }
}
