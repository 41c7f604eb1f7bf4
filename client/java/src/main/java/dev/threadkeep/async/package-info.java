/** The asynchronous client: methods of the same names as in the blocking one, which return futures and publishers. */
package dev.threadkeep.async;
