/** Points in the history of a session, and the options of calls that copy it. */
package dev.threadkeep.history;
