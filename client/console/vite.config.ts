import react from "@vitejs/plugin-react";
import { defineConfig, type HtmlTagDescriptor, type Plugin } from "vite";

/** The server that `npm run dev` shows. */
const SERVER = "http://127.0.0.1:7480";

/** What every page needs is in a few files, and not in one for every component. Libraries of some pages only stay with these. */
const GROUPS = [
  { name: "first", test: /\/src\/(place|theme)\.ts$|preload-helper/, priority: 3 },
  { name: "libraries", test: /\/node_modules\/(?!marked|@tanstack\/.*(virtual|table))/, priority: 2 },
  { name: "common", test: /\/src\/(api|components|text)\/(?!markdown)|\/pages\/session\/(opening|log-pages)/, priority: 1 },
];

/** Lets the browser load the libraries with the first script, which imports them, and not after it. */
const preloadApp: Plugin = {
  name: "preload-app",
  transformIndexHtml: {
    order: "post",
    handler(html, { bundle = {} }) {
      const chunks = Object.values(bundle).filter((each) => each.type === "chunk");
      const app = chunks.find(({ facadeModuleId }) => facadeModuleId?.endsWith("/src/app.tsx"));
      const preload = (file: string): HtmlTagDescriptor => ({
        tag: "link",
        attrs: { rel: "modulepreload", crossorigin: true, href: `./${file}` },
        injectTo: "head",
      });
      const files = app ? [app.fileName, ...app.imports] : [];
      return files.filter((file) => !html.includes(file)).map(preload);
    },
  },
};

export default defineConfig({
  base: "./", // a proxy may serve the console below a path of its own
  plugins: [react(), preloadApp],
  // The client is a link to ../typescript, whose libraries would be bundled a second time.
  resolve: { preserveSymlinks: true },
  build: {
    outDir: "../../server/threadkeep_server/console/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700, // kB of the libraries; a test limits what a page loads
    license: { fileName: "licenses.md" },
    rolldownOptions: { output: { codeSplitting: { groups: GROUPS } } },
  },
  server: { proxy: { "^/threadkeep\\.v1\\.": SERVER } },
});
