import { requireVersion } from "../versions.js";

requireVersion("ai", ">=7.0.135 <8", "ai-sdk");
