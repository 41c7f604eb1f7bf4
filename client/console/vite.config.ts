import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The server that `npm run dev` shows. */
const SERVER = "http://127.0.0.1:7480";

export default defineConfig({
  base: "./", // a proxy may serve the console below a path of its own
  plugins: [react()],
  // The client is a link to ../typescript, whose libraries would be bundled a second time.
  resolve: { preserveSymlinks: true },
  build: {
    outDir: "../../server/threadkeep_server/console/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    license: { fileName: "licenses.md" },
  },
  server: { proxy: { "^/threadkeep\\.v1\\.": SERVER } },
});
