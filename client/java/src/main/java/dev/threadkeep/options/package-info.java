/** Options of calls, given as functions: {@code session.append(events, o -> o.createIfMissing())}. */
package dev.threadkeep.options;
