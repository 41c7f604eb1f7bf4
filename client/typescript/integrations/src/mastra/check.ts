import { requireVersion } from "../versions.js";

requireVersion("@mastra/core", ">=1.71 <2", "mastra");
