import { defineConfig } from "vite"

/** The console as files that a server gives out: relative to the page, with digests in their names, and nothing from elsewhere. */
export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  resolve: { conditions: ["@reins/source", "module", "browser", "import", "default"] },
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  worker: { format: "es" },
  build: {
    outDir: "../server/console",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false
  }
})
