package dev.threadkeep.internal;

import dev.threadkeep.ThreadkeepException;
import dev.threadkeep.v1.ConsumeRequest;
import dev.threadkeep.v1.ConsumeResponse;
import dev.threadkeep.v1.ConsumerServiceGrpc;
import dev.threadkeep.v1.Delivery;
import dev.threadkeep.v1.JoinConsumer;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** The deliveries of a consumer, as one member after another. One thread runs it; the others send it signals. */
public final class Deliveries implements Runnable {
  /** Receives deliveries. */
  @FunctionalInterface
  public interface Sink {
    /** Called with a delivery, the stream that its outcome goes to, and what to run once it is settled. */
    void deliver(Delivery delivery, Member member, Runnable settled);
  }

  private static final Duration SILENCE = Duration.ofSeconds(30);

  /** Time that a leaving member waits until the server confirms its acknowledgments. */
  private static final Duration FAREWELL = Duration.ofSeconds(10);

  private static final int AHEAD = 8;

  private final Connection connection;
  private final JoinConsumer join;
  private final Sink sink;
  private final Consumer<Optional<ThreadkeepException>> done;
  private final boolean refills;
  private final Backoff backoff = new Backoff(OptionalInt.empty(), new SplittableRandom());
  private final BlockingQueue<Runnable> news = new LinkedBlockingQueue<>();
  private final Consumer<ThreadkeepException> ending = how -> news.add(() -> fail(how));

  /** Work by partition. A partition that is here has a delivery in {@code ready} or at work; the others wait for it. */
  private final Map<Integer, Queue<Delivery>> lanes = new HashMap<>();

  private final Queue<Delivery> ready = new ArrayDeque<>();

  /** Number of deliveries that may be delivered now. */
  private long room;

  private int working;
  private int frames;
  private boolean stopping;
  private boolean leaving;
  private boolean over;
  private ThreadkeepException error;
  private Member member;
  private ClientCall<ConsumeRequest, ConsumeResponse> call;
  private long deadline;

  /**
   * Calls {@code sink} with deliveries, on its own thread, as long as there is {@code room}; if it {@code refills}, a delivery
   * that is settled makes room for another.
   */
  public Deliveries(
      Connection connection, JoinConsumer join, long room, boolean refills, Sink sink,
      Consumer<Optional<ThreadkeepException>> done) {
    this.connection = connection;
    this.join = join;
    this.room = room;
    this.refills = refills;
    this.sink = sink;
    this.done = done;
  }

  /** Runs it on a thread of its own. */
  public void start() {
    var thread = new Thread(this, "threadkeep-consumer-" + join.getName());
    thread.setDaemon(true);
    thread.start();
  }

  /** Starts no more deliveries, waits for those at work, and leaves. */
  public void stop() {
    news.add(
        () -> {
          stopping = true;
          if (member != null) {
            member.stop();
          }
        });
  }

  /** Leaves without waiting for the deliveries at work; those that are not settled are delivered again. */
  public void leave() {
    news.add(
        () -> {
          stopping = true;
          working = 0;
        });
  }

  /** Makes room for more deliveries. */
  public void request(long more) {
    news.add(() -> room = room + more < 0 ? Long.MAX_VALUE : room + more);
  }

  /** Fails with this error, once no delivery is at work. */
  public void abort(ThreadkeepException how) {
    news.add(() -> fail(how));
  }

  @Override
  public void run() {
    connection.add(ending);
    try {
      open();
      while (!over) {
        deliver();
        farewell();
        Runnable reported = over ? null : news.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        if (reported != null) {
          reported.run();
        } else if (!over) {
          elapsed();
        }
      }
    } catch (InterruptedException interrupted) {
      fail(Errors.of(Status.Code.CANCELLED, "the consumer was interrupted"));
    } catch (RuntimeException unexpected) {
      fail(ThreadkeepException.from(unexpected));
    } finally {
      connection.remove(ending);
      release("the member leaves");
      done.accept(Optional.ofNullable(error));
    }
  }

  private void fail(ThreadkeepException how) {
    error = error == null ? how : error;
    stopping = true;
    release("the consumer failed");
  }

  /** What happens when nothing else does: the stream is silent, a pause is over, or the server confirms nothing. */
  private void elapsed() {
    if (leaving) {
      over = true;
    } else if (call != null) {
      var quiet = "no heartbeat from %s for %d s".formatted(connection.address(), SILENCE.toSeconds());
      ended(call, Errors.of(Status.Code.UNAVAILABLE, quiet));
    } else if (!stopping) {
      open();
    } else {
      deadline = System.nanoTime() + SILENCE.toNanos(); // deliveries are at work
    }
  }

  private void deliver() {
    while (room > 0 && !stopping && !ready.isEmpty()) {
      var next = ready.remove();
      if (!member.counts(next)) {
        release(next.getPartition());
        continue;
      }
      room--;
      working++;
      sink.deliver(next, member, () -> news.add(() -> settled(next.getPartition())));
    }
  }

  private void settled(int partition) {
    working = Math.max(0, working - 1);
    room += refills ? 1 : 0;
    release(partition);
  }

  /** Lets the next delivery of a partition follow. */
  private void release(int partition) {
    var next = lanes.get(partition).poll();
    if (next == null) {
      lanes.remove(partition);
    } else {
      ready.add(next);
    }
  }

  /** Half-closes the stream once no delivery is at work. */
  private void farewell() {
    if (!stopping || leaving || working > 0) {
      return;
    }
    leaving = true;
    if (call == null) {
      over = true;
      return;
    }
    synchronized (member) {
      member.end();
      call.halfClose();
    }
    deadline = System.nanoTime() + FAREWELL.toNanos();
  }

  private void open() {
    ClientCall<ConsumeRequest, ConsumeResponse> opened =
        connection.channel().newCall(ConsumerServiceGrpc.getConsumeMethod(), CallOptions.DEFAULT.withExecutor(Runnable::run));
    opened.start(
        new ClientCall.Listener<>() {
          @Override
          public void onMessage(ConsumeResponse frame) {
            news.add(() -> received(opened, frame));
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            var end = Errors.of(Status.Code.UNAVAILABLE, "the server ended the stream");
            news.add(() -> ended(opened, status.isOk() ? end : connection.failure(status, trailers)));
          }
        },
        new Metadata());
    call = opened;
    member = new Member(opened::sendMessage);
    frames = 0;
    opened.request(AHEAD);
    opened.sendMessage(ConsumeRequest.newBuilder().setJoin(join).build());
    deadline = System.nanoTime() + SILENCE.toNanos();
  }

  private void received(ClientCall<?, ?> by, ConsumeResponse frame) {
    if (by != call || leaving) {
      by.request(1);
      return;
    }
    backoff.reset();
    deadline = System.nanoTime() + SILENCE.toNanos();
    if (frame.hasJoined()) {
      member.joined(frame.getJoined().getConsumer().getMaxAttempts());
    }
    for (var delivery : frame.getDeliveriesList()) {
      var waiting = lanes.get(delivery.getPartition());
      if (waiting == null) {
        lanes.put(delivery.getPartition(), new ArrayDeque<>());
        ready.add(delivery);
      } else {
        waiting.add(delivery);
      }
    }
    if (++frames % (AHEAD / 2) == 0) {
      by.request(AHEAD / 2);
    }
  }

  /** Pauses before the next member joins, or ends. Deliveries that have not started are void; those at work continue. */
  private void ended(ClientCall<?, ?> by, ThreadkeepException how) {
    if (by != call) {
      return;
    }
    release(how.description());
    if (leaving) {
      over = true;
      return;
    }
    ready.forEach(delivery -> lanes.remove(delivery.getPartition()));
    ready.clear();
    lanes.values().forEach(Queue::clear);
    if (stopping) {
      return;
    }
    Optional<Duration> pause = backoff.pause(how);
    if (pause.isEmpty()) {
      fail(how);
      return;
    }
    Connection.LOG.log(Level.INFO, "the consumer {0} is joined again in {1}: {2}", join.getName(), pause.get(), how.getMessage());
    deadline = System.nanoTime() + pause.get().toNanos();
  }

  private void release(String why) {
    if (call != null) {
      member.end();
      call.cancel(why, null);
      call = null;
    }
  }
}
