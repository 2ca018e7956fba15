package wisp.it.cases.servers;

import io.vertx.core.AbstractVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.ThreadingModel;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.Message;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.PoolOptions;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * Vert.x 4.5, on NIO and on Netty's native epoll: an HTTP server on three event loops with back pressure, its own
 * client, blocking code on workers, worker verticles behind the event bus.
 */
@WispCase(carriers = {1, 2}, timeoutSeconds = 90, flags = "24-99: --enable-native-access=ALL-UNNAMED")
public final class VertxApp {
    public static void main(String[] args) throws Exception {
        for (boolean own : new boolean[] {false, true}) {
            Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(3).setWorkerPoolSize(20)
                    .setPreferNativeTransport(own));
            Kit.say("native: %b", vertx.isNativeTransportEnabled());
            get(vertx.deployVerticle(Web::new, new DeploymentOptions().setInstances(3)));
            get(vertx.deployVerticle(Summer::new,
                    new DeploymentOptions().setInstances(4).setThreadingModel(ThreadingModel.WORKER)));
            Servlets.drive(Web.port, 30, 25);
            bus(vertx);
            client(vertx);
            get(vertx.close());
            Kit.say("stopped");
        }
    }

    private static <T> T get(Future<T> future) throws Exception {
        return future.toCompletionStage().toCompletableFuture().get(300, TimeUnit.SECONDS);
    }

    /** The paths of Servlets. */
    private static final class Web extends AbstractVerticle {
        static volatile int port;

        @Override
        public void start(Promise<Void> started) {
            HttpServer server = vertx.createHttpServer().requestHandler(this::answer);
            // -1: a free one for all instances.
            server.listen(-1, "127.0.0.1").onSuccess(done -> port = done.actualPort()).<Void>mapEmpty()
                    .onComplete(started);
        }

        private void answer(HttpServerRequest request) {
            switch (request.path()) {
                case "/hello":
                    request.response().end("hello " + request.getParam("n"));
                    break;
                case "/slow":
                    vertx.executeBlocking(() -> {
                        Thread.sleep(15);
                        return "slow " + request.getParam("n");
                    }, false).onSuccess(text -> request.response().end(text));
                    break;
                case "/sum":
                    request.body().onSuccess(body -> request.response().end(Http.sum(body.getBytes())));
                    break;
                default:
                    int size = Integer.parseInt(request.getParam("size"));
                    send(request.response().setChunked(true), Buffer.buffer(Http.bytes(size, size)), 0);
            }
        }

        /** Goes on when there is room again. */
        private static void send(HttpServerResponse response, Buffer all, int from) {
            for (int at = from; at < all.length(); ) {
                int end = Math.min(at + 10_000, all.length());
                response.write(all.slice(at, end));
                at = end;
                if (response.writeQueueFull()) {
                    int next = at;
                    response.drainHandler(room -> send(response, all, next));
                    return;
                }
            }
            response.drainHandler(null);
            response.end();
        }
    }

    /** Blocks a little, then says the sum. */
    private static final class Summer extends AbstractVerticle {
        @Override
        public void start() {
            vertx.eventBus().consumer("sum", (Message<byte[]> message) -> {
                Kit.failing(() -> Thread.sleep(1)).run();
                message.reply(Http.sum(message.body()));
            });
        }
    }

    private static void bus(Vertx vertx) throws Exception {
        AtomicInteger next = new AtomicInteger();
        AtomicInteger right = new AtomicInteger();
        Kit.together(20, "bus", () -> {
            int client = next.incrementAndGet();
            for (int i = 0; i < 30; i++) {
                byte[] body = Http.bytes(client * 100L + i, i * 100);
                Object got = get(vertx.eventBus().request("sum", body)).body();
                Kit.check(got + "", got.equals(Http.sum(body)));
                right.incrementAndGet();
            }
        });
        Kit.say("event bus: %d right", right.get());
    }

    /** Threads that wait, and eight connections between them. */
    private static void client(Vertx vertx) throws Exception {
        HttpClient client = vertx.createHttpClient(new HttpClientOptions().setDefaultHost("127.0.0.1")
                .setDefaultPort(Web.port), new PoolOptions().setHttp1MaxSize(8));
        AtomicInteger next = new AtomicInteger();
        AtomicInteger right = new AtomicInteger();
        Kit.together(20, "client", () -> {
            int mine = next.incrementAndGet();
            for (int i = 0; i < 20; i++) {
                byte[] body = Http.bytes(mine * 100L + i, i * 5000);
                // The body must be asked for by the event loop that brings the answer: this thread may be late for it.
                Buffer got = get(client.request(HttpMethod.POST, "/sum")
                        .compose(request -> request.send(Buffer.buffer(body)).compose(answer -> answer.body())));
                Kit.check(got + "", got.toString().equals(Http.sum(body)));
                right.incrementAndGet();
            }
        });
        get(client.close());
        Kit.say("client: %d right", right.get());
    }
}
