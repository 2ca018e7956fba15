package wisp.it.cases.steps;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingDeque;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TransferQueue;

/** One blocking queue, of any kind. */
final class Queues extends World {
    private final BlockingQueue<Item> queue;
    private int next;

    private static final class Item implements Delayed {
        private final int number;
        private final long due;

        Item(int number, long delayMillis) {
            this.number = number;
            this.due = System.nanoTime() + delayMillis * 1_000_000;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(due - System.nanoTime(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(due, ((Item) other).due);
        }

        @Override
        public String toString() {
            return "item " + number;
        }
    }

    Queues(Random random) {
        super(random);
        queue = queue(random.nextInt(9));
        event(queue.getClass().getSimpleName());
    }

    private static BlockingQueue<Item> queue(int kind) {
        switch (kind) {
            case 0:
                return new ArrayBlockingQueue<>(2);
            case 1:
                return new ArrayBlockingQueue<>(1, true);
            case 2:
                return new LinkedBlockingQueue<>(2);
            case 3:
                return new LinkedBlockingDeque<>(2);
            case 4:
                return new PriorityBlockingQueue<>();
            case 5:
                return new SynchronousQueue<>();
            case 6:
                return new SynchronousQueue<>(true);
            case 7:
                return new DelayQueue<>();
            default:
                return new LinkedTransferQueue<>();
        }
    }

    private Item item() {
        return new Item(next++, 0);
    }

    @Override
    Action draw(Worker worker) {
        boolean brief = one(2);
        switch (random.nextInt(12)) {
            case 0: case 1:
                Item put = item();
                return Action.waits("put " + put, of(() -> queue.put(put)));
            case 2: case 3:
                return Action.waits("take", queue::take);
            case 4:
                Item offered = item();
                return new Action("offer " + offered + " " + millis(brief), kind(brief),
                        () -> queue.offer(offered, millis(brief), unit()));
            case 5:
                return new Action("poll " + millis(brief), kind(brief), () -> queue.poll(millis(brief), unit()));
            case 6:
                Item given = item();
                return Action.quick("offer " + given, () -> queue.offer(given));
            case 7:
                return Action.quick("poll", queue::poll);
            case 8:
                return look();
            case 9:
                return interruptAny(worker);
            case 10:
                return special(brief);
            default:
                return Action.quick("drain", this::drain);
        }
    }

    private Object drain() {
        Collection<Item> all = new ArrayList<>();
        queue.drainTo(all);
        return all;
    }

    private Action look() {
        return Action.quick("look", () -> queue + " " + queue.size() + " " + queue.remainingCapacity());
    }

    private Action special(boolean brief) {
        if (queue instanceof TransferQueue) {
            TransferQueue<Item> transfers = (TransferQueue<Item>) queue;
            Item item = item();
            switch (random.nextInt(3)) {
                case 0:
                    return Action.waits("transfer " + item, of(() -> transfers.transfer(item)));
                case 1:
                    return Action.quick("tryTransfer " + item, () -> transfers.tryTransfer(item));
                default:
                    return new Action("tryTransfer " + item + " " + millis(brief), kind(brief),
                            () -> transfers.tryTransfer(item, millis(brief), unit()));
            }
        } else if (queue instanceof DelayQueue) {
            int number = next++;
            return Action.ends("put and wait until due", of(() -> {
                queue.put(new Item(number, SHORT));
                Thread.sleep(3 * SHORT);
            }));
        } else if (queue instanceof BlockingDeque) {
            BlockingDeque<Item> deque = (BlockingDeque<Item>) queue;
            Item item = item();
            return one(2) ? Action.waits("putFirst", of(() -> deque.putFirst(item))) : Action.waits("takeLast", deque::takeLast);
        }
        return null;
    }

    @Override
    List<Action> ends() {
        List<Action> actions = new ArrayList<>();
        actions.add(look());
        actions.add(Action.quick("drain", this::drain));
        return actions;
    }
}
