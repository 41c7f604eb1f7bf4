import { requireVersion } from "../versions.js";

requireVersion("@langchain/langgraph-checkpoint", ">=1.2.1 <2", "langgraph");
