/** LangChain4j on Threadkeep: the store of chat memories, and retrievers that recall. */
package dev.threadkeep.langchain4j;
