import { requireVersion } from "../versions.js";

requireVersion("@google/adk", ">=2.0 <2.1", "adk");
