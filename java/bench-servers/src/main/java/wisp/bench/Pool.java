package wisp.bench;

import java.io.IOException;
import java.util.concurrent.ConcurrentLinkedDeque;

/** Connections that nobody uses at the moment; one is made whenever there is none. The last one used goes out first. */
final class Pool<T> {
    /** Makes a connection. */
    interface Maker<T> {
        T make() throws IOException;
    }

    private final ConcurrentLinkedDeque<T> idle = new ConcurrentLinkedDeque<>();
    private final Maker<T> maker;

    Pool(Maker<T> maker) {
        this.maker = maker;
    }

    T take() throws IOException {
        T connection = idle.pollFirst();
        return connection != null ? connection : maker.make();
    }

    void give(T connection) {
        idle.addFirst(connection);
    }
}
