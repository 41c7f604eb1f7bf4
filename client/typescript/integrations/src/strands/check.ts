import { requireVersion } from "../versions.js";

requireVersion("@strands-agents/sdk", ">=1.19 <2", "strands");
