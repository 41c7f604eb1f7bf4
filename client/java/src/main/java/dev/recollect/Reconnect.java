package dev.recollect;

import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Looks for a server that went away after 0.1 seconds, then less and less often, down to every 5 seconds. By itself gRPC waits from
 * 1 second up to 2 minutes, and has no setting for it.
 */
final class Reconnect {
  private static final double FIRST_MS = 100;
  private static final double LONGEST_MS = 5_000;
  private static final double FACTOR = 1.6;

  private final ManagedChannel channel;
  private final ScheduledExecutorService timer;

  Reconnect(ManagedChannel channel, ScheduledExecutorService timer) {
    this.channel = channel;
    this.timer = timer;
  }

  void start() {
    ConnectivityState state = channel.getState(false);
    if (state == ConnectivityState.TRANSIENT_FAILURE) {
      again(FIRST_MS);
    }
    if (state != ConnectivityState.SHUTDOWN) {
      channel.notifyWhenStateChanged(state, this::start);
    }
  }

  /** The channel stays in this state while it tries, so it is asked rather than waited for. */
  private void again(double millis) {
    timer.schedule(
        () -> {
          if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
            channel.resetConnectBackoff();
            again(Math.min(LONGEST_MS, millis * FACTOR));
          }
        },
        Math.round(millis * 1e6),
        TimeUnit.NANOSECONDS);
  }
}
