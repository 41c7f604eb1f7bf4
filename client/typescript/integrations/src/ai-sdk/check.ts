import { requireVersion } from "../versions.js";

requireVersion("ai", ">=7 <8", "ai-sdk");
