/** Servers for tests, which keep everything in memory. */
package dev.threadkeep.spring.boot.test;
