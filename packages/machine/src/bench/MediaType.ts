import { once } from "@reins/base/base/Once"
import { Effect } from "effect"

/** Endings of source code that the registered media types give to something else, as `.ts` to a video, and those that people mean. */
const changed = {
  "text/plain": ["ts", "mts", "cts", "rs", "go", "mod", "sum", "kt", "cs", "m", "pl", "ex", "exs", "lock"],
  "application/yaml": ["yaml", "yml"]
}

/** Loaded with the first file: the table is 50 kB that a server does not need to start. */
const types = Effect.runSync(
  once(
    Effect.promise(async () => {
      const [{ Mime }, { default: standard }, { default: other }] = await Promise.all([
        import("mime"),
        import("mime/types/standard.js"),
        import("mime/types/other.js")
      ])
      return new Mime(standard, other).define(changed, true)
    })
  )
)

/** The media type of a file by the extension of its name; null for an extension that is not known, and for a name without one. */
export const mediaTypeOf = (name: string): Effect.Effect<string | null> =>
  name.includes(".") ? Effect.map(types, (known) => known.getType(name)) : Effect.succeed(null)
