import { requireVersion } from "../versions.js";

requireVersion("@openai/agents", ">=0.20 <0.21", "openai-agents");
