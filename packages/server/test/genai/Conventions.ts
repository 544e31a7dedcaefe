import { readFileSync } from "node:fs"
import { join } from "node:path"

/** The part of the registry of OpenTelemetry's semantic conventions that Reins takes names from. */
interface Conventions {
  readonly source: string
  readonly version: string
  readonly commit: string
  readonly attributes: Readonly<Record<string, { readonly type: string; readonly values?: ReadonlyArray<string> }>>
  readonly metrics: Readonly<
    Record<string, { readonly instrument: string; readonly unit: string; readonly bounds?: ReadonlyArray<number> }>
  >
  /** The kinds of spans. */
  readonly spans: Readonly<Record<string, string>>
}

/** The recorded registry, with its source and its version. */
export const conventions: Conventions = JSON.parse(
  readFileSync(join(import.meta.dirname, "semantic-conventions.json"), "utf8")
)
