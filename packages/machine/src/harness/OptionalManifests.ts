import { once } from "@reins/base/base/Once"
import { Effect, Schema } from "effect"
import { Manifest } from "./Manifest.js"

/** Each is read when it is wanted, so that those that nobody enables cost no start anything. */
const files = {
  claude: () => import("../../../../manifests/optional/claude.json", { with: { type: "json" } }),
  cline: () => import("../../../../manifests/optional/cline.json", { with: { type: "json" } }),
  "codex-zed": () => import("../../../../manifests/optional/codex-zed.json", { with: { type: "json" } }),
  copilot: () => import("../../../../manifests/optional/copilot.json", { with: { type: "json" } }),
  gemini: () => import("../../../../manifests/optional/gemini.json", { with: { type: "json" } }),
  goose: () => import("../../../../manifests/optional/goose.json", { with: { type: "json" } }),
  opencode: () => import("../../../../manifests/optional/opencode.json", { with: { type: "json" } }),
  qwen: () => import("../../../../manifests/optional/qwen.json", { with: { type: "json" } })
} as const

/** A provider that is part of Reins and off until somebody enables it. */
export type OptionalProvider = keyof typeof files

export const isOptional = (name: string): name is OptionalProvider => Object.hasOwn(files, name)

/** The providers that are part of Reins and off until somebody enables them, by name. */
export const optionalProviders: ReadonlyArray<OptionalProvider> = Object.keys(files).filter(isOptional)

/** The manifest of an optional provider, as JSON has it. */
export const readOptional = (id: OptionalProvider): Effect.Effect<unknown> =>
  Effect.map(Effect.promise<{ readonly default: unknown }>(files[id]), (module) => module.default)

/** All optional providers. They are read once, when somebody asks. */
export const optionalManifests: Effect.Effect<ReadonlyArray<Manifest>> = Effect.runSync(
  once(
    Effect.forEach(optionalProviders, (id) =>
      Effect.orDie(Effect.flatMap(readOptional(id), Schema.decodeUnknown(Manifest)))
    )
  )
)
