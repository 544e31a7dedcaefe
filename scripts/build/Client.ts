import type { Options } from "tsup"
import { copyDeclarations, declareForCommonJs } from "./Declarations.js"
import { declared, shared } from "./Shared.js"

export const client: Options = {
  ...shared,
  name: "client",
  entry: { index: "packages/client/src/index.ts", "effect/index": "packages/client/src/effect/index.ts" },
  outDir: "packages/client/dist",
  // Programs in CommonJS, such as tests in Jest, cannot load modules.
  format: ["esm", "cjs"],
  splitting: true,
  platform: "neutral",
  external: ["effect"],
  onSuccess: async () => {
    if (declared) copyDeclarations("client", ".cache/types/client", { to: "packages/client/dist" })
    if (declared) declareForCommonJs("packages/client/dist")
  }
}
