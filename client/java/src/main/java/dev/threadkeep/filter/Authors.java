package dev.threadkeep.filter;

import dev.threadkeep.v1.AuthorFilter;
import dev.threadkeep.v1.AuthorSet;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * The agents whose events are read: {@code
 * Authors.include(Authors.roles("researcher")).then(Authors.exclude(Authors.ids("critic")))}. Steps apply in order,
 * each to the result of the one before it; steps of one kind are merged at the place of the first. Immutable.
 */
public final class Authors {
  private final List<AuthorFilter> steps;

  private Authors(List<AuthorFilter> steps) {
    this.steps = steps;
  }

  /**
   * Returns a set of agents by their role in the fleet.
   *
   * @param roles at least one role
   * @return the set
   */
  public static AuthorSet roles(String... roles) {
    return AuthorSet.newBuilder().addAllRoles(Arrays.asList(roles)).build();
  }

  /**
   * Returns a set of agents by their id.
   *
   * @param ids at least one id
   * @return the set
   */
  public static AuthorSet ids(String... ids) {
    return AuthorSet.newBuilder().addAllIds(Arrays.asList(ids)).build();
  }

  /**
   * Keeps only events of these agents.
   *
   * @param set the agents
   * @return the authors
   */
  public static Authors include(AuthorSet set) {
    return new Authors(List.of(AuthorFilter.newBuilder().setInclude(set).build()));
  }

  /**
   * Drops events of these agents.
   *
   * @param set the agents
   * @return the authors
   */
  public static Authors exclude(AuthorSet set) {
    return new Authors(List.of(AuthorFilter.newBuilder().setExclude(set).build()));
  }

  /**
   * Applies more steps to the result of these.
   *
   * @param next the next steps
   * @return all steps
   */
  public Authors then(Authors next) {
    return new Authors(Stream.concat(steps.stream(), next.steps.stream()).toList());
  }

  /**
   * Returns the steps as messages.
   *
   * @return the steps, in order
   */
  public List<AuthorFilter> steps() {
    return steps;
  }
}
